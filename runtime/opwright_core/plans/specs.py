"""The findings of a rule about a result, cached between calls of the same shapes and dtypes."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

from opwright_core.arrays import layouts
from opwright_core.arrays.dense import nondense_bit_of
from opwright_core.arrays.dtypes import DType, depends_on_default
from opwright_core.arrays.layouts import Shape
from opwright_core.arrays.sizes import is_symbolic

__all__ = ["SpecCache", "TensorSpec"]

F = TypeVar("F")
_LONGEST = 256  # items of a list in a key


class TensorSpec:
    """The findings of a rule about a result: shape, strides (`steps`: in bytes), dtypes, which operands to cast.

    `dtype` is the result's, `common` what operands are promoted to, `compute` what the kernel computes in, `produces`
    the dtype its result then has by itself. `casts` is empty if no operand needs a cast. `dims` are the normalised
    dimensions of a reduction, `()` elsewhere. `pointwise`: each element depends on the operands' at its own index, so
    that a kernel may write over an operand. `exact_scalars`: 0-dim operands and numbers are not rounded to `common`.
    `converts`: the result is converted to `dtype` whatever it is; else it must be of a dtype that promotes to it.
    `may_overlap`: PyTorch lets the operator write to a tensor whose elements share memory (`zero_` to an expanded one).
    `nondense`: the bit NONDENSE where a tensor of this layout has it among its keys. Sizes may be symbolic, for tensors
    without data. `numbers`: the operands behind the first, cast, where they are numbers in the cache's key.
    """

    __slots__ = (
        "casts", "common", "compute", "converts", "dims", "dtype", "exact_scalars", "may_overlap", "nondense",
        "numbers", "pointwise", "produces", "shape", "steps", "strides",
    )  # fmt: skip

    def __init__(
        self,
        shape: Shape,
        strides: Shape,
        dtype: DType,
        common: DType | None = None,
        compute: DType | None = None,
        produces: DType | None = None,
        casts: tuple[bool, ...] = (),
        *,
        dims: Shape = (),
        pointwise: bool = False,
        exact_scalars: bool = False,
        may_overlap: bool = False,
    ) -> None:
        if all(type(each) is int for each in (*shape, *strides)):
            layouts.check_countable(shape, dtype.itemsize)
        self.shape, self.strides = tuple(shape), tuple(strides)  # of a Size, what the core takes
        self.steps = tuple([stride * dtype.itemsize for stride in strides])
        self.nondense = nondense_bit_of(shape, strides, dtype)
        self.dtype = dtype
        self.common = common or dtype
        self.compute = compute or self.common
        self.produces = produces or self.compute
        self.casts = casts if True in casts else ()
        self.converts = False
        self.dims = dims
        self.pointwise = pointwise
        self.exact_scalars = exact_scalars
        self.may_overlap = may_overlap
        self.numbers: Sequence[Any] | None = None

    def converted(self, dtype: DType) -> TensorSpec:
        """Return the spec of a result of another dtype, to which the kernel's result is converted."""
        made = TensorSpec(
            self.shape,
            self.strides,
            dtype,
            self.common,
            self.compute,
            self.produces,
            self.casts,
            dims=self.dims,
            pointwise=self.pointwise,
            exact_scalars=self.exact_scalars,
            may_overlap=self.may_overlap,
        )
        made.converts = True
        return made

    def with_numbers(self, numbers: Sequence[Any]) -> TensorSpec:
        """Return the spec of calls whose kernel gets these instead of the operands behind the first."""
        made = copy.copy(self)
        made.numbers = tuple(numbers)
        return made


class SpecCache(dict[Any, Any]):
    """A cache of specs, by all that the rule read of its arguments.

    Bounded by `most`, and emptied when the default dtype changes.
    """

    __slots__ = ()
    most: ClassVar[int] = 4096

    def __init__(self) -> None:
        depends_on_default(self)

    def keep(self, key: Any, spec: F) -> F:
        """Add a spec (or a tuple of them) to the cache, and return it.

        Not cached are symbolic sizes, whose ShapeEnv has an end, and long lists, whose keys take much memory.
        """
        if not _is_kept(key):
            return spec
        if len(self) >= self.most:
            self.clear()
        self[key] = spec
        return spec


def _is_kept(key: Any) -> bool:
    if isinstance(key, (tuple, list)):
        return len(key) <= _LONGEST and all(map(_is_kept, key))
    return not is_symbolic(key)
