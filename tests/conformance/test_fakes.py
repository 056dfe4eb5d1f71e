"""Every operator on fake tensors: shapes, strides, dtypes, devices, offsets and shared memory are those of the real
call; where one raises, so does the other."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from declared import functional_of, of_kind
from samples import NO_SAMPLES, SAMPLES
from sampling import Sample
from symbolic_results import at, bound_by, layout

import opwright
from opwright.errors import DispatchError
from opwright.fake import DataDependentOutputError, DynamicOutputShapeError, FakeTensorMode
from opwright.symbolic import ShapeEnv
from opwright_codegen.schema import SchemaKind

pytestmark = pytest.mark.filterwarnings("ignore")

# What only data can show, by what the error says: the operators whose real call may raise where the fake one passes.
DATA_CHECKS = {
    "an integer was divided by zero": "div divide floor_divide remainder fmod",
    "is out of bounds for dimension": (
        "index index_put index_select gather take take_along_dim put scatter scatter_add scatter_reduce "
        "index_add index_reduce index_copy index_fill"
    ),
    "expected the source to have at least as many elements as the mask has ones": "masked_scatter",
    "index out of range": "embedding embedding_renorm",
    "sorter index out of range": "searchsorted",
    "Class values must be": "one_hot",
    "is out of bounds.": "nll_loss nll_loss_forward nll_loss2d nll_loss2d_forward nll_loss_nd cross_entropy_loss",
    "target out of range": "multi_margin_loss",
    "target is out of range": "multilabel_margin_loss multilabel_margin_loss_forward",
    "all elements of input should be between 0 and 1": "binary_cross_entropy",
    "expects p to be in [0, 1]": "bernoulli",
    "invalid Poisson rate": "poisson",
    "invalid multinomial distribution": "multinomial",
    "probability tensor contains": "multinomial",
    "is not finite": "histc histogram",
    "repeats must not be negative": "repeat_interleave",
    "repeats do not add up": "repeat_interleave",
    "1-d non-negative integral inputs": "bincount",
}


def operator(name: str) -> Any:
    base, _, overload = name.partition(".")
    return getattr(getattr(opwright.ops.aten, base), overload or "default")


def samples_of(name: str, most: int | None = None) -> list[Sample]:
    found = SAMPLES.get(name) or SAMPLES.get(functional_of(name))
    if found is None:
        pytest.skip(NO_SAMPLES.get(name) or NO_SAMPLES[functional_of(name)])
    every = list(found())
    return every if most is None else every[:: max(1, len(every) // most)]


def tensors_in(value: Any) -> Iterator[opwright.Tensor]:
    if isinstance(value, opwright.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_in(item)


def converted(value: Any, convert: Any) -> Any:
    if isinstance(value, np.ndarray):
        return convert(value)
    if isinstance(value, list | tuple):
        return type(value)(converted(item, convert) for item in value)
    return value


def called(function: Any, args: Any, kwargs: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*args, **kwargs)
        except Exception as error:
            return error


def facts(result: Any, given: list[opwright.Tensor], values: dict[str, Any]) -> Any:
    """What is known without data, at the values of symbols: layout, dtype, device, which argument it is and whose
    memory it shares."""
    if isinstance(result, opwright.Tensor):
        shares = [i for i, each in enumerate(given) if each.untyped_storage() is result.untyped_storage()]
        same = [i for i, each in enumerate(given) if each is result]
        return (*layout(result, values), result.dtype, result.device, same, shares)
    if isinstance(result, list | tuple):
        return [facts(item, given, values) for item in result]
    return at(result, values)


def without_writing(value: np.ndarray) -> np.ndarray:
    """The array with memory of its own under the same strides."""
    low = sum((size - 1) * step for size, step in zip(value.shape, value.strides, strict=True) if step < 0)
    high = sum((size - 1) * step for size, step in zip(value.shape, value.strides, strict=True) if step > 0)
    memory = np.zeros((high - low) // value.itemsize + 1 if value.size else 1, value.dtype)
    start = memory[-low // value.itemsize :]
    view = np.lib.stride_tricks.as_strided(start, value.shape, value.strides)
    if value.size:
        view[...] = value
    return view


def difference(name: str, one: Sample, mode: FakeTensorMode, outs: dict[str, Any] | None = None) -> str | None:
    real_args, real_kwargs = (
        converted(each, lambda a: opwright.from_numpy(without_writing(a)))
        for each in (list(one.args), list({**one.kwargs, **(outs or {})}.items()))
    )
    names = [key for key, _ in real_kwargs]
    fakes = {id(t): mode.from_tensor(t) for t in tensors_in([real_args, real_kwargs])}

    def fake(value: Any) -> Any:
        if isinstance(value, opwright.Tensor):
            return fakes[id(value)]
        return type(value)(fake(item) for item in value) if isinstance(value, list | tuple) else value

    fake_args, fake_kwargs = fake(real_args), dict(zip(names, [fake(v) for _, v in real_kwargs], strict=True))
    given_fake = list(tensors_in([fake_args, list(fake_kwargs.values())]))
    given_real = list(tensors_in([real_args, [v for _, v in real_kwargs]]))
    with mode:
        found = called(operator(name), fake_args, fake_kwargs)
    real = called(operator(name), real_args, dict(real_kwargs))
    if isinstance(found, (DataDependentOutputError, DynamicOutputShapeError)):
        return None
    if isinstance(real, Exception) and isinstance(found, Exception):
        if not given_real and isinstance(real, DispatchError):
            return None  # no key without a tensor, where the mode has one
        return None if type(real) is type(found) else f"fake raises {found!r:.200}, real {real!r:.200}"
    if isinstance(found, Exception):
        return f"fake raises {type(found).__name__}: {str(found)[:300]}"
    if isinstance(real, Exception):
        return None if depends_on_data(name, real) else f"real raises {type(real).__name__}: {str(real)[:200]}"
    # Sizes that only data tells are those of the real result: what follows from them is compared.
    values = {} if mode.shape_env is None else bound_by(mode.shape_env, found, real)
    mine, wanted = facts(found, given_fake, values), facts(real, given_real, values)
    return None if mine == wanted else f"fake {mine}, real {wanted}"


def depends_on_data(name: str, error: Exception) -> bool:
    base = name.partition(".")[0].removesuffix("_")
    return isinstance(error, opwright.linalg.LinAlgError) or any(
        said in str(error) and base in operators.split() for said, operators in DATA_CHECKS.items()
    )


def check(name: str, problems: Iterator[str | None], every: int) -> None:
    found = [problem for problem in problems if problem is not None]
    if found:
        pytest.fail(f"{len(found)} differences of {every}\n" + "\n".join(found[:8]), pytrace=False)


@pytest.mark.parametrize("name", of_kind(SchemaKind.FUNCTIONAL, SchemaKind.INPLACE, SchemaKind.MUTABLE))
def test_fake_is_real(name: str) -> None:
    if name in NO_SAMPLES:
        pytest.skip(NO_SAMPLES[name])
    every = samples_of(name)
    problems = (difference(name, one, FakeTensorMode()) for one in every)
    check(name, (p and f"{name}{one}: {p}" for p, one in zip(problems, every, strict=True)), len(every))


@pytest.mark.parametrize("name", of_kind(SchemaKind.FUNCTIONAL, SchemaKind.INPLACE, SchemaKind.MUTABLE))
def test_symbolic_is_concrete(name: str) -> None:
    """With symbolic sizes: the answer, at the sizes of the sample, is that of the real call."""
    if name in NO_SAMPLES:
        pytest.skip(NO_SAMPLES[name])
    every = samples_of(name, most=25)
    problems = (difference(name, one, FakeTensorMode(shape_env=ShapeEnv())) for one in every)
    check(name, (p and f"{name}{one}: {p}" for p, one in zip(problems, every, strict=True)), len(every))
