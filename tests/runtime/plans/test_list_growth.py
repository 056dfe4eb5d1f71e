"""Rules and kernels that take a list, called first with n items and with 2n: the steps of bytecode grow like n."""

from __future__ import annotations

import inspect
import itertools
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

import opwright
from opwright_core import rules
from opwright_kernels.moving import shapes

Call = Callable[[], object]
# Lists with an item for each dimension, of which an array has at most 64.
OF_DIMENSIONS = {
    "bins", "bounds", "dilation", "indices", "kernel_size", "normalized_shape", "output_padding", "output_size", "pad",
    "padding", "range", "repeats", "size", "stride",
}  # fmt: skip


_sizes = itertools.count(3)  # no key of a call is one of before


class Number(int):
    """An int whose sums are steps, too."""

    def __add__(self, other: int) -> Number:
        return Number(int(self) + int(other))

    __radd__ = __add__


def _arrays(count: int, *, as_rows: bool = False) -> list[Any]:
    return [np.ones((1 + each % 3, 2) if as_rows else 1 + each % 3) for each in range(count)]


def _like(count: int) -> list[Any]:
    size = next(_sizes)
    return [np.ones(size) for _ in range(count)]


def _losses(count: int) -> tuple[Any, Any, list[int], list[int], int]:
    return np.ones((4, count, 3)), np.ones((count, 2), np.int64), [4] * count, [2] * count, 0


def _split(count: int) -> Call:
    sizes, array = [Number(2)] * count, np.ones(2 * count)
    return lambda: shapes.split_sizes(np, array, sizes, 0)


CALLS: dict[str, Callable[[int], Call]] = {
    "alignment_gradients": lambda count: lambda: rules.alignment_gradients(*_losses(count)),
    "alignments": lambda count: lambda: rules.alignments(*_losses(count)),
    "block_diagonal": lambda count: lambda: rules.block_diagonal(_arrays(count, as_rows=True)),
    "cat": lambda count: lambda: rules.cat(_arrays(count)),
    "cat of rows": lambda count: lambda: rules.cat(_arrays(count, as_rows=True)),
    "gufunc": lambda count: lambda: rules.gufunc(",".join(["(n)"] * count) + "->(n)", *_like(count)),
    "pointwise": lambda count: lambda: rules.pointwise(*_like(count)),
    "pointwise_of_result": lambda count: (
        lambda: rules.pointwise_of_result(*_like(count), numbers=[2] * count, slope=1, is_result=True, accepts=None)
    ),
    "pointwise_with": lambda count: lambda: rules.pointwise_with(*_like(count), numbers=[2] * count, accepts=None),
    "same_dtypes": lambda count: lambda: rules.same_dtypes(*_like(count), numbers=[2] * count),
    "sized": lambda count: lambda: rules.sized([next(_sizes)], *_like(count)),
    "split_sizes": _split,
    "stack": lambda count: lambda: rules.stack(_like(count)),
}


def _steps(call: Call) -> int:
    taken = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal taken
        frame.f_trace_opcodes = True
        taken += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return taken


@pytest.mark.parametrize("name", CALLS)
def test_steps_grow_like_the_list(name: str) -> None:
    CALLS[name](90)()  # imports
    few, some, many = (_steps(CALLS[name](count)) for count in (80, 120, 200))
    assert some - few > 50, "the call does not read the list"
    assert many - some < 2.5 * (some - few)


def test_each_rule_that_takes_a_list_is_called() -> None:
    opwright.ones(1)
    for name in dir(rules):
        function = getattr(rules, name)
        if inspect.isfunction(function) and not name.startswith("_"):
            for parameter in inspect.signature(function).parameters.values():
                is_list = "Sequence" in str(parameter.annotation) or parameter.kind is parameter.VAR_POSITIONAL
                assert not is_list or parameter.name in OF_DIMENSIONS or name in CALLS or name == "expand_masks", name


def test_no_key_of_a_long_list_is_kept() -> None:
    """Its memory is that of hundreds of others."""
    from opwright_core.plans.specs import SpecCache

    cache = SpecCache()
    cache.keep((0, tuple(range(1000))), "long")
    cache.keep((0, tuple(range(10))), "short")
    assert list(cache.values()) == ["short"]


@pytest.mark.parametrize("count", [63, 64, 65, 300])
def test_lists_of_any_length_are_joined(count: int) -> None:
    """In C up to a length, then in memory that is taken for the call."""
    arrays = [np.full((2, each % 4), each) for each in range(count)]
    joined = opwright.cat([opwright.from_numpy(each) for each in arrays], 1)
    assert np.array_equal(joined.numpy(), np.concatenate(arrays, 1))
    equal = [np.full(3, each) for each in range(count)]
    for dim in (0, 1, -1):
        stacked = opwright.stack([opwright.from_numpy(each) for each in equal], dim)
        assert np.array_equal(stacked.numpy(), np.stack(equal, dim))
    mixed = opwright.cat([opwright.from_numpy(each) for each in [*equal, np.ones(2, np.float32)]])
    assert mixed.dtype is opwright.float32 and mixed.shape == (3 * count + 2,)
    with pytest.raises(RuntimeError, match="tensor number 1 in the list"):
        opwright.cat([opwright.ones(2, 2), *[opwright.ones(2, 3)] * count])
