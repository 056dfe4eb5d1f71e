"""Calls of real and of fake tensors, and what is known of their results without data."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import opwright
from opwright.errors import DispatchError, GuardOnDataDependentError
from opwright.fake import DataDependentOutputError, DynamicOutputShapeError, FakeTensorMode
from opwright.testing.symbolic_results import at, bound_by, layout

Call = tuple[list[Any], dict[str, Any]]

# What only data can show, by what the error says: the operators whose real call may raise where the fake one passes.
DATA_CHECKS = {
    "an integer was divided by zero": "div divide floor_divide remainder fmod",
    "is out of bounds for dimension": (
        "index index_put index_select gather take take_along_dim put scatter scatter_add scatter_reduce "
        "index_add index_reduce index_copy index_fill"
    ),
    "expected the source to have at least as many elements as the mask has ones": "masked_scatter",
    "index out of range": (
        "embedding embedding_renorm max_unpool2d max_unpool3d embedding_bag embedding_bag.padding_idx _embedding_bag "
        "_embedding_bag_forward_only _ctc_loss ctc_loss.IntList"
    ),
    "start out of range": "narrow",
    "sorter index out of range": "searchsorted",
    "Class values must be": "one_hot",
    "is out of bounds.": "nll_loss nll_loss_forward nll_loss2d nll_loss2d_forward nll_loss_nd cross_entropy_loss",
    "target out of range": "multi_margin_loss",
    "target is out of range": "multilabel_margin_loss multilabel_margin_loss_forward",
    "should be between 0 and 1": "binary_cross_entropy",
    "expects p to be in [0, 1]": "bernoulli",
    "invalid Poisson rate": "poisson",
    "invalid multinomial distribution": "multinomial",
    "probability tensor contains": "multinomial",
    "is not finite": (
        "histc histogram histogramdd histogramdd.int_bins _histogramdd_bin_edges _histogramdd_from_bin_cts"
    ),
    "pivots must be between": "lu_unpack",
    "does not have full rank": "linalg_lstsq",
    "weights cannot be negative": "cov",
    "weights sum to zero": "cov",
    "repeats must not be negative": "repeat_interleave",
    "repeats do not add up": "repeat_interleave",
    "1-d non-negative integral inputs": "bincount",
    "expects all elements of std >= 0.0": "normal",
    "to - 1 is out of bounds for": "randint_like",
    "single nonzero value": "_assert_async",
    "it is zero": "_assert_async",
    "q values must be in the range": "quantile nanquantile",
    "Boolean value of Tensor with": "_assert_async",
}

# Operators that branch on numbers that only data tells.
DECIDED_BY_DATA = ["tensor_split"]

# What fake calls refuse and real ones serve.
FAKES_REFUSE = ("Boolean alpha only supported",)  # 1 == True, and the fast shims of real tensors test alpha with ==


def operator(name: str) -> Any:
    """Ours, by its name without the namespace."""
    base, _, overload = name.partition(".")
    return getattr(getattr(opwright.ops.aten, base), overload or "default")


def tensors_in(value: Any) -> Iterator[opwright.Tensor]:
    """The tensors of a value, and of lists in it."""
    if isinstance(value, opwright.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_in(item)


def converted(value: Any, convert: Callable[[Any], Any], kind: type = np.ndarray) -> Any:
    """The value with something else for each array, or each instance of another class."""
    if isinstance(value, kind):
        return convert(value)
    if isinstance(value, list | tuple):
        return type(value)(converted(item, convert, kind) for item in value)
    return value


def converted_call(call: Call, convert: Callable[[Any], Any], kind: type = np.ndarray) -> Call:
    """Arguments with something else for each array."""
    args, kwargs = call
    return (
        [converted(each, convert, kind) for each in args],
        {name: converted(each, convert, kind) for name, each in kwargs.items()},
    )


def called(function: Any, call: Call) -> Any:
    """The function's result, or the exception it raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*call[0], **call[1])
        except Exception as error:
            return error


def facts(result: Any, given: list[opwright.Tensor], values: dict[str, Any]) -> Any:
    """What is known without data, at the values of symbols: layout, dtype, device, which argument it is and whose
    memory it shares."""
    if isinstance(result, opwright.Tensor):
        shares = [i for i, each in enumerate(given) if each.untyped_storage() is result.untyped_storage()]
        same = [i for i, each in enumerate(given) if each is result]
        shape, strides, offset = layout(result, values)
        # (a real array has no offset where it has no elements)
        return (shape, strides, 0 if 0 in shape else offset, result.dtype, result.device, same, shares)
    if isinstance(result, list | tuple):
        return [facts(item, given, values) for item in result]
    return at(result, values)


def with_own_memory(value: np.ndarray) -> np.ndarray:
    """The array with memory of its own under the same strides."""
    low = sum((size - 1) * step for size, step in zip(value.shape, value.strides, strict=True) if step < 0)
    high = sum((size - 1) * step for size, step in zip(value.shape, value.strides, strict=True) if step > 0)
    memory = np.zeros((high - low) // value.itemsize + 1 if value.size else 1, value.dtype)
    start = memory[-low // value.itemsize :]
    view = np.lib.stride_tricks.as_strided(start, value.shape, value.strides)
    if value.size:
        view[...] = value
    return view


def called_fake(function: Any, call: Call, mode: FakeTensorMode) -> tuple[Any, list[opwright.Tensor]]:
    """The result of a call with the fakes of its tensors, or the exception; and those fakes."""
    fakes = converted_call(call, mode.from_tensor, opwright.Tensor)
    with mode:
        result = called(function, fakes)
    return result, list(tensors_in([fakes[0], list(fakes[1].values())]))


def fake_difference(name: str, call: Call, mode: FakeTensorMode) -> str | None:
    """What makes the fake result of a call with tensors other than the real one, or the error; None where they agree,
    or only data could tell."""
    found, fakes = called_fake(operator(name), call, mode)
    real = called(operator(name), call)
    if isinstance(found, (DataDependentOutputError, DynamicOutputShapeError)):
        return None
    if isinstance(found, GuardOnDataDependentError) and base_name(name) in DECIDED_BY_DATA:
        return None
    given = list(tensors_in([call[0], list(call[1].values())]))
    if isinstance(real, DispatchError) and isinstance(found, Exception) and not given:
        return None  # no key without a tensor, where the mode has one
    if isinstance(real, Exception):
        return None if type(real) is type(found) or depends_on_data(name, real) else _other_error(found, real)
    if isinstance(found, Exception):
        return None if any(said in str(found) for said in FAKES_REFUSE) else f"fake raises {found!r:.300}"
    # Sizes that only data tells are those of the real result: what follows from them is compared.
    values = {} if mode.shape_env is None else bound_by(mode.shape_env, found, real)
    try:
        mine = facts(found, fakes, values)
    except KeyError:  # sizes that follow from numbers which stand nowhere in the result
        return None
    wanted = facts(real, given, values)
    return None if mine == wanted else f"fake {mine}, real {wanted}"


def _other_error(found: Any, real: Exception) -> str:
    return f"fake {'raises ' if isinstance(found, Exception) else ''}{found!r:.200}, real raises {real!r:.200}"


def base_name(name: str) -> str:
    """That of the functional operator, without the overload."""
    return name.partition(".")[0].removesuffix("_")


def depends_on_data(name: str, error: Exception) -> bool:
    """Whether an error of the real call is one that only data can show."""
    base = base_name(name)
    return isinstance(error, opwright.linalg.LinAlgError) or any(
        said in str(error) and base in operators.split() for said, operators in DATA_CHECKS.items()
    )
