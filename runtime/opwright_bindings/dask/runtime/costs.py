"""Costs as annotations of a graph, which Dask sends to its scheduler: what a task costs, and how early it is to run.

Dask does not fuse layers whose annotations differ, so they are written where they are asked for alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import asdict
from math import isnan, prod
from typing import Any

import dask
import dask.array as da

from opwright.cost.parts import cost, gradient_cost
from opwright.fake.arrays import META_PLACE, meta_array, wrap_meta
from opwright_core.arrays.dtypes import as_dtype
from opwright_core.arrays.layouts import contiguous_strides
from opwright_core.dispatch.call.operator import Operator

__all__ = ["annotate_costs", "annotated"]

_is_asked: ContextVar[bool] = ContextVar("annotate_costs", default=False)


@contextlib.contextmanager
def annotate_costs() -> Iterator[None]:
    """Mark the graphs of operators that are called in the block: `cost` has the flops, transcendentals, and bytes
    read and written of a task; `priority`, where the block has none yet, is higher for tasks that take longer, so that
    no worker begins a long one last."""
    token = _is_asked.set(True)
    try:
        yield
    finally:
        _is_asked.reset(token)


@contextlib.contextmanager
def annotated(
    operator: Operator, arrays: Mapping[int, da.Array], values: Sequence[Any], *, backward: bool = False
) -> Iterator[None]:
    """Mark the layers of a call that are built in the block, if that is asked for, and sizes are known."""
    if not _is_asked.get() or any(isnan(size) for array in arrays.values() for size in array.shape):
        yield
        return
    given = list(values)
    for position, array in arrays.items():
        shape = tuple(map(int, array.shape))
        given[position] = wrap_meta(meta_array(shape, contiguous_strides(shape), as_dtype(array.dtype), META_PLACE))
    whole = cost(operator.call, *given)
    if backward:
        whole += gradient_cost(operator.call, *given)
    blocks = max([prod(array.numblocks) for array in arrays.values()], default=1)
    told = {name: value // blocks for name, value in asdict(whole).items() if isinstance(value, int)}
    said: dict[str, Any] = {"cost": told}
    if "priority" not in dask.get_annotations():
        said["priority"] = sum(told.values()).bit_length()
    with dask.annotate(**said):
        yield
