"""Our fake tensors against PyTorch's: layouts, dtypes, devices and errors of every operator, functional and in place.

PyTorch computes its fake results by other code than its real ones, and the two differ here and there. Ours follow the
real ones: a result that PyTorch's CPU kernel would give passes too.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sweeps
from declared import functional_of
from faking import Call, called, called_fake, converted_call, facts, operator, with_own_memory
from samples import sampled, samples_of, takes_an_array
from sampling import Sample

import opwright
from opwright.errors import DispatchError
from opwright.fake import DataDependentOutputError, DynamicOutputShapeError, FakeTensorMode
from opwright_codegen.schema.model import SchemaKind

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
theirs_fake = pytest.importorskip("torch._subclasses.fake_tensor")
from excuses import Known, Table  # noqa: E402
from known_differences import is_known  # noqa: E402
from oracle import difference as value_difference  # noqa: E402
from oracle import different_fact, dtype_of, to_torch  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

# Where our fake result is neither PyTorch's fake one nor its real one, beside what `known_differences` has.
KNOWN_FAKES = Table(
    "test_fakes_oracle.KNOWN_FAKES",
    Known(
        "(conj_physical|nan_to_num)_",
        "more than one element of the written-to tensor",
        "we refuse writes to repeated elements",
    ),
    Known("kron", "no error, but", "PyTorch views a product that is not contiguous; ours copies it"),
    Known("one_hot", r"int64\[3, 2\]/\[1, 3\]", "PyTorch's real one makes the positions contiguous first, as ours"),
    Known("randint_like.Tensor_generator", "no error, but", "a bound that is not known cannot be too large"),
    Known("_?ctc_loss.Tensor", "DataDependentOutputError", "lengths are read; a shape follows from them"),
    Known("cov", "no error, but", "weights that are not known cannot be negative"),
)

# PyTorch's errors for what is not known without data, and ours.
_NO_DATA = {
    theirs_fake.DataDependentOutputException: DataDependentOutputError,
    theirs_fake.DynamicOutputShapeException: DynamicOutputShapeError,
}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """PyTorch logs each error of a fake kernel with its traceback."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


FUNCTIONAL_AND_IN_PLACE = [
    name
    for name in sampled(SchemaKind.FUNCTIONAL, SchemaKind.INPLACE)
    if functional_of(name) == name or takes_an_array(name)
]


def theirs(name: str) -> Any:
    base, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, base), overload or "default")


def their_call(one: Sample) -> Call:
    call = list(one.args), one.kwargs
    arrays = converted_call(call, lambda array: to_torch(with_own_memory(array)))
    return converted_call(arrays, to_torch, np.dtype)


def their_layout(tensor: Any) -> dict[str, Any]:
    offset = tensor.storage_offset() if tensor.numel() else 0
    layout = {"shape": tuple(tensor.shape), "dtype": dtype_of(tensor), "strides": tuple(tensor.stride())}
    return layout | {"offset": offset, "device": str(tensor.device)}


def our_layout(tensor: opwright.Tensor) -> dict[str, Any]:
    shape, strides, offset, dtype, device, *_ = facts(tensor, [], {})
    return {"shape": shape, "dtype": dtype, "strides": strides, "offset": offset, "device": str(device)}


def difference(ours: Any, theirs: Any) -> str | None:
    """What makes the layouts of our results other than PyTorch's, or our error another."""
    if type(theirs) in _NO_DATA and isinstance(ours, (_NO_DATA[type(theirs)], DispatchError)):
        return None if "fake" in str(ours) or not isinstance(ours, DispatchError) else f"raises {ours!r:.200}"
    if isinstance(ours, Exception) or isinstance(theirs, Exception):
        return value_difference(ours, theirs)
    if isinstance(theirs, list | tuple):
        if not isinstance(ours, list | tuple) or len(ours) != len(theirs):
            return f"{ours!r} for {len(theirs)} results"
        found = (difference(a, b) for a, b in zip(ours, theirs, strict=True))
        return next((each for each in found if each is not None), None)
    if not isinstance(theirs, torch.Tensor):
        return None if type(ours) is type(theirs) else f"{ours!r}, not {theirs!r}"
    if dtype_of(theirs) is None:
        return None  # complex32, which NumPy does not have
    if not isinstance(ours, opwright.Tensor):
        return f"{ours!r} where a tensor is expected"
    return different_fact(our_layout(ours), their_layout(theirs))


def compare(name: str, one: Sample) -> str | None:
    ours = converted_call((list(one.args), one.kwargs), lambda array: opwright.from_numpy(with_own_memory(array)))
    mine, _ = called_fake(operator(name), ours, FakeTensorMode())
    mode = theirs_fake.FakeTensorMode()
    fakes = converted_call(their_call(one), mode.from_tensor, torch.Tensor)
    with mode:
        other = called(theirs(name), fakes)
    problem = difference(mine, other)
    if problem is None or difference(mine, called(theirs(name), their_call(one))) is None:
        return None
    text = f"{one}: {problem}"
    known = is_known(name, one, problem) or KNOWN_FAKES.covers(name, text)
    return None if known else f"{name}{text}"


@pytest.mark.parametrize("name", FUNCTIONAL_AND_IN_PLACE)
def test_fakes_are_those_of_pytorch(name: str) -> None:
    every = sweeps.spread(samples_of(name), sweeps.count(12, 40))
    found = [problem for problem in (compare(name, one) for one in every) if problem is not None]
    if found:
        pytest.fail(f"{len(found)} differences of {len(every)}\n" + "\n".join(found[:6]), pytrace=False)
