"""Work of the generated variants of composites: results written to arguments, or refused; written arguments copied."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from opwright.names.late_bound import late_bound
from opwright.namespaces import aten
from opwright.variants.out_dtypes import check_of
from opwright_core.arrays.layouts import Shape, contiguous_strides
from opwright_core.arrays.sizes import guard_or_false
from opwright_core.keys import WATCHED
from opwright_core.plans.plan import Plan
from opwright_core.plans.specs import TensorSpec
from opwright_core.state import with_modes
from opwright_core.tensors.tensor import Tensor

__all__ = ["copy_written", "write_out", "write_outs", "write_self"]


_Tensors = TypeVar("_Tensors", Tensor, Tensor | None, list[Tensor])


def copy_written(value: _Tensors) -> _Tensors:
    """Return a copy of a tensor or plain array, copies of those in a list; None stays None."""
    if value is None:
        return value
    copies: Any = [copy_written(item) for item in value] if isinstance(value, list) else aten["clone.default"](value)
    return copies  # type: ignore[no-any-return]  # as many as were given


def write_out(
    name: str, out: Tensor, result: Tensor | None, *operands: Tensor | Sequence[Tensor | None] | None
) -> Tensor:
    """Write the elements of `result` to `out`, resized to its shape if need be (with a warning if it had elements).
    Without a result, which a mask may leave out, nothing is written.

    Raises RuntimeError if the result's dtype cannot be cast to its, the device differs, it overlaps itself, it would be
    resized and shares memory with one of the `operands`, or one of them requires grad; the error says that of the
    operator `name`, `aten::square.out` (in packages of before: `square`).
    """
    if result is None:
        return out
    if out.dtype is not result.dtype and (check := check_of(name)) is not None:
        check(result.dtype, out.dtype)
    if out.edge is not None or result.edge is not None:
        late_bound.gradients().check_out(name.partition("::")[2].partition(".")[0] or name, out, result)
    if with_modes(out.keys) & WATCHED and not _surely_equal(out.shape, result.shape):
        aten["resize_.default"](out, list(result.shape))  # seen by who looks at every call
    _plan(result, *(() if _surely_equal(out.shape, result.shape) else _arrays(operands))).target(out)
    copied: Tensor = aten["copy_.default"](out, result)
    return copied


def _surely_equal(shape: Shape, other: Shape) -> bool:
    return len(shape) == len(other) and all(guard_or_false(a == b) for a, b in zip(shape, other, strict=True))


def write_outs(name: str, outs: Sequence[Tensor], results: Sequence[Tensor]) -> None:
    """Write a list of results to as many tensors. Raises RuntimeError as `write_out`, and for other numbers."""
    if len(outs) != len(results):
        raise RuntimeError(f"{len(results)} results do not fit into {len(outs)} out tensors")
    for out, result in zip(outs, results, strict=True):
        write_out(name, out, result)


def write_self(self: Tensor, result: Tensor) -> Tensor:
    """Write the elements of `result` to `self`. Raises RuntimeError if shape or dtype of the result do not fit it."""
    _plan(result).inplace(self)
    copied: Tensor = aten["copy_.default"](self, result)
    return copied


def _arrays(operands: Iterable[Any]) -> list[Any]:
    """Return the arrays of tensors, those in lists, too."""
    found: list[Any] = []
    for each in operands:
        found += _arrays(each) if isinstance(each, list | tuple) else [] if each is None else [each.array]
    return found


def _plan(result: Tensor, *operands: Any) -> Plan:
    shape = result.shape  # as torchgen's variants, an `out` that is resized becomes row-major
    return Plan(TensorSpec(shape, contiguous_strides(shape), result.dtype), (result.array, *operands))
