"""Arrays with more positions at the borders of their last dimensions, or with fewer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opwright_core.arrays import layouts
from opwright_core.arrays.annotations import Images, Spatial
from opwright_core.arrays.devices import element_strides
from opwright_core.arrays.dtypes import as_dtype
from opwright_core.arrays.layouts import Shape
from opwright_core.arrays.sizes import holds
from opwright_core.plans.operands import check_accepted, check_number, kept_strides_of
from opwright_core.plans.plan import Plan
from opwright_core.plans.specs import TensorSpec
from opwright_kernels.rules.memory_formats import suggested_strides


def padded(self: Any, pad: Sequence[int], *, value: complex = 0) -> Plan:
    """Plan `self` with the positions that `pad` says around each dimension, the last one first; negative ones go.

    Raises RuntimeError for more pairs than dimensions, for half a pair, where less than nothing would be left, and
    for a value of new positions that the dtype cannot hold.
    """
    check_pairs(self, pad)
    shape = padded_shape(self.shape, pad)
    if all(each <= 0 for each in pad):
        # PyTorch clones a view of what is left, which keeps the order of the strides.
        strides = kept_strides_of(shape, element_strides(self))
    else:
        check_number(value, as_dtype(self.dtype))
        strides = suggested_strides(shape, self)
    return Plan(TensorSpec(shape, strides, as_dtype(self.dtype)), (self,))


def check_pairs(self: Any, pad: Sequence[int]) -> None:
    """Raise RuntimeError unless `pad` has a pair for each of some last dimensions."""
    if len(pad) % 2:
        raise RuntimeError(f"pad: expected pairs of sizes, but got {len(pad)} of them")
    if len(pad) > 2 * len(self.shape):
        raise RuntimeError(f"pad: {len(pad) // 2} pairs are more than the tensor's {len(self.shape)} dimensions")


def padded_shape(shape: Shape, pad: Sequence[int]) -> Shape:
    """Return the shape with the pairs of `pad` added, the last dimension first. Raises RuntimeError where more is taken
    away than there is."""
    kept = len(shape) - len(pad) // 2
    sizes = list(shape[:kept])
    for dim in range(kept, len(shape)):
        at = 2 * (len(shape) - 1 - dim)
        before, after = pad[at], pad[at + 1]
        if not holds(shape[dim] + (before if before < 0 else 0) + (after if after < 0 else 0) >= 0):
            raise RuntimeError(
                f"pad: dimension {dim} of size {shape[dim]} has fewer places than {before} and {after} take away"
            )
        sizes.append(shape[dim] + before + after)
    return tuple(sizes)


def reflected(self: Images, padding: Sequence[int], *, spatial: Spatial) -> Plan:
    """Plan `self` padded with its mirror image; the border itself is not repeated, so that padding must be less than
    the size."""
    plan = _bordered(self, padding, spatial)
    for pair, size in enumerate(reversed(self.shape[-spatial:])):
        for each in padding[2 * pair : 2 * pair + 2]:
            if not holds(each < size):
                raise RuntimeError(f"reflection padding {each} must be less than the size of its dimension, {size}")
    return plan


def replicated(self: Images, padding: Sequence[int], *, spatial: Spatial) -> Plan:
    """Plan `self` padded with its border."""
    return _bordered(self, padding, spatial)


def _bordered(self: Any, padding: Sequence[int], spatial: int) -> Plan:
    if len(padding) != 2 * spatial:
        raise RuntimeError(f"expected {2 * spatial} sizes of padding, but got {len(padding)}")
    batched = self.ndim == spatial + 2
    if self.ndim not in (spatial + 1, spatial + 2) or layouts.is_empty(self.shape[1:] if batched else self.shape):
        raise RuntimeError(
            f"expected {spatial + 1} dimensions, or {spatial + 2} with a batch, none but the batch empty, "
            f"but got shape {list(self.shape)}"
        )
    check_accepted("integer floating complex", as_dtype(self.dtype))
    shape = padded_shape(self.shape, padding)
    if not all(holds(size >= 1) for size in shape[-spatial:]):
        raise RuntimeError(f"padding {list(padding)} leaves nothing of shape {list(self.shape)}")
    return Plan(TensorSpec(shape, suggested_strides(shape, self), as_dtype(self.dtype)), (self,))
