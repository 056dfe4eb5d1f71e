"""A Plan: what a result looks like, and how a kernel's arrays become that result.

Generated kernel shims ask a rule (`opwright.rules`) for a Plan, hand its operands to the kernel, and lay out, or store,
what comes back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opwright_core.arrays import dtypes, layouts
from opwright_core.arrays.devices import Array, Device, backend_of
from opwright_core.arrays.dtypes import CANONICAL, DType, as_dtype, dtype_name, wrapped_scalar
from opwright_core.arrays.layouts import Shape
from opwright_core.arrays.overlap import may_share, overlaps, overlaps_partially
from opwright_core.arrays.promotion import castable
from opwright_core.arrays.storage import new_array, resize, stride_over
from opwright_core.core import TensorBase, compiled
from opwright_core.plans.kernel_errors import cannot_cast, warn_of_resize, wrong_result, wrong_target
from opwright_core.plans.operands import category
from opwright_core.plans.returned import as_array
from opwright_core.plans.specs import TensorSpec

INTERNAL_OVERLAP = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
    "Please clone() the tensor before performing the operation."
)
_PARTIAL_OVERLAP = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
    "location. Please clone() the tensor before performing the operation."
)
_EXACT = frozenset((source, to) for source in CANONICAL for to in CANONICAL if np.can_cast(source, to))


class Plan:
    """The plan of an output, for one call."""

    __slots__ = ("_device", "_given", "_shared", "spec")

    def __init__(self, spec: TensorSpec, given: Sequence[Any] = (), device: Device | None = None) -> None:
        self.spec, self._given, self._device = spec, given, device
        self._shared = False

    def __repr__(self) -> str:
        spec = f"shape={self.shape}, strides={self.strides}, dtype={self.dtype}, compute={self.compute}"
        return f"Plan({spec}, device={self.device})"

    @property
    def given(self) -> Sequence[Any]:
        """Return the operands as the rule got them, before any cast."""
        return self._given

    @property
    def has_own_device(self) -> bool:
        """Whether its rule named the device, which else is that of the operands."""
        return self._device is not None

    @property
    def shape(self) -> Shape:
        """Return the result's sizes."""
        return self.spec.shape

    @property
    def strides(self) -> Shape:
        """Return the result's strides, in elements."""
        return self.spec.strides

    @property
    def dtype(self) -> DType:
        """Return the result's dtype."""
        return self.spec.dtype

    @property
    def compute(self) -> DType:
        """Return the dtype that the kernel computes in: float32 for half and bfloat16 operands, else the promoted."""
        return self.spec.compute

    @property
    def dims(self) -> Shape:
        """Return the normalised dimensions of a reduction, `()` elsewhere."""
        return self.spec.dims

    @property
    def device(self) -> Device:
        """Return the result's device: that of the first array that is not 0-dim, or of the first one."""
        if self._device is None:
            like = self._like()
            self._device = Device("cpu") if like is None else backend_of(like).device(like)
        return self._device

    def _like(self) -> Array | None:
        found = None
        for operand in self._given:
            if hasattr(operand, "strides"):
                if operand.ndim:
                    return operand
                found = operand if found is None else found
        return found

    @property
    def operands(self) -> Any:
        """Return operands for the kernel, as `cast_operands` does."""
        return cast_operands(self.spec, self._given) if self.spec.casts else self._given

    def lay_out(self, result: Any) -> Array:
        """Lay out the kernel's result as a new array of exactly this dtype and strides, copied only if it must be.

        Raises ContractError if its shape is another one, or its dtype of another kind (`Plan._converted`).
        """
        spec = self.spec
        if type(result) is not np.ndarray and (
            isinstance(result, (np.generic, memoryview)) or not hasattr(result, "strides")
        ):
            result = as_array(result, spec)
        if result.shape != spec.shape:
            raise self._wrong_shape(result)
        if result.dtype is not spec.dtype:
            result = self._converted(result)
        if result.strides != spec.steps:
            return self._restride(result)
        if self._is_fresh(result):
            return result
        return self._copied(result)

    def _converted(self, result: Array) -> Array:
        """Return the array of the kernel in the planned dtype, of which only the size may differ: float64 for float32.

        Raises ContractError for another kind: integers for floats, floats for integers, floats for complex numbers.
        """
        spec = self.spec
        if result.dtype is not spec.produces and not spec.converts:
            known = CANONICAL.get(result.dtype)
            if known is None or category(known) not in (category(spec.dtype), category(spec.produces)):
                raise wrong_result(f"returned dtype {result.dtype}, but {dtype_name(spec.dtype)} is declared")
        return cast_array(result, spec.dtype)

    def _wrong_shape(self, result: Array) -> RuntimeError:
        return wrong_result(f"returned shape {list(result.shape)}, but {list(self.spec.shape)} is declared")

    def _is_fresh(self, result: Array) -> bool:
        # A kernel may return an operand, or a view of one; a functional operator's result shares memory with
        # neither.
        if result.base is None:
            for given in self._given:  # noqa: SIM110 (a generator costs more than the loop)
                if result is given:
                    return False
            return True
        # (an empty array shares memory with nothing, and may be an operand for all that)
        return not any(result is given or may_share(result, given) for given in self._given)

    def _restride(self, result: Array) -> Array:
        spec = self.spec
        moved = any(
            size > 1 and have != want for size, have, want in zip(spec.shape, result.strides, spec.steps, strict=True)
        )
        if not moved and 0 not in spec.shape and self._is_fresh(result):
            return stride_over(result, spec.shape, spec.strides)  # only dimensions of size 1 differ: no element moves
        return self._copied(result)

    def _copied(self, result: Array) -> Array:
        spec = self.spec
        copy = np.empty(spec.shape, spec.dtype) if type(result) is np.ndarray else None
        if copy is None or copy.strides != spec.steps:
            copy = new_array(spec.shape, spec.strides, spec.dtype, result)
        copy[...] = result
        return copy

    def target(self, out: TensorBase) -> Array:
        """Return the array of an `out=` tensor, resized to this shape if need be (warning if it had elements).

        Raises RuntimeError if the dtype cannot be cast to its, the device differs, it overlaps itself or partially an
        operand, or its memory belongs to the caller and is of another shape.
        """
        spec = self.spec
        array = out.array
        if not castable(spec.dtype, as_dtype(array.dtype)) and array.dtype is not spec.produces:
            raise RuntimeError(cannot_cast(spec.dtype, array))
        is_in_numpy = self._device is None and type(array) is type(self._like()) is np.ndarray
        asks_device = not is_in_numpy and (self._given or self._device is not None)
        if asks_device and (found := backend_of(array).device(array)) != self.device:
            raise RuntimeError(f"Expected out tensor to have device {self.device}, but got {found} instead")
        if not layouts.same_shape(array.shape, spec.shape):
            self._check_unread(array)
            resize(out, spec.shape, spec.strides)
            if array.size:
                warn_of_resize(spec.shape, array.shape)
            array = out.array
        self._check_overlap(array)
        return array

    def inplace(self, self_: TensorBase) -> Array:
        """Return the array of a tensor that the operator overwrites.

        Raises RuntimeError if the result's shape or dtype does not fit it, or it overlaps itself or partially another
        operand.
        """
        spec = self.spec
        array = self_.array
        if array.shape != spec.shape:
            raise wrong_target(array, spec.shape)
        if array.dtype is not spec.dtype and not castable(spec.dtype, as_dtype(array.dtype)):
            raise RuntimeError(cannot_cast(spec.dtype, array))
        self._check_overlap(array)
        return array

    def _check_unread(self, target: Array) -> None:
        """Raise RuntimeError if an operator reads an `out=` that would have to be resized."""
        if self.spec.pointwise:
            self._check_own_overlap(target)
        for given in self._given:
            if given is target and self.spec.pointwise:
                raise wrong_target(target, self.spec.shape)
            if given is target or may_share(target, given):
                raise RuntimeError(_PARTIAL_OVERLAP)

    def _check_own_overlap(self, target: Array) -> None:
        is_plain = target.flags.c_contiguous or self.spec.may_overlap
        if not is_plain and layouts.may_overlap_itself(target.shape, backend_of(target).strides(target)):
            raise RuntimeError(INTERNAL_OVERLAP)

    def _check_overlap(self, target: Array) -> None:
        self._check_own_overlap(target)
        for given in self._given:
            if given is target:
                self._shared = self._shared or not self.spec.pointwise
            elif may_share(target, given):
                if overlaps_partially(target, given):
                    raise RuntimeError(_PARTIAL_OVERLAP)
                self._shared = True

    def may_write_straight(self, *, in_place: bool) -> bool:
        """Whether a kernel may write into a target that shares no memory with operands, but for the first, which it is
        where that is written in place; or what computes half in float32 may, block by block."""
        spec, is_wide = self.spec, self.spec.common is not self.spec.compute
        own = spec.common if is_wide else spec.produces
        return spec.dtype is own and (spec.pointwise or not (in_place or is_wide))

    def out(self, target: Array, *, mixed: bool = False) -> Array | None:
        """Return `target` if the kernel may write straight into it: its own dtype, no operand's memory; else None.

        `mixed`: the kernel may compute with integers that have a sign, which NumPy casts to no bytes: `store` does.
        """
        spec = self.spec
        if mixed and spec.dtype.kind == "u":
            return None
        if target.dtype is spec.dtype is spec.produces and not self._shared:
            # NumPy's `negative` gives wrong numbers instead of an operand with gaps of 16 or 64 bytes.
            is_own = len(self.operands) == 1 and self.operands[0] is target and not spec.may_overlap
            if is_own and not target.flags.c_contiguous and any(abs(step) in (16, 64) for step in target.strides):
                return None
            return target
        return None

    def store(self, result: Any, target: Array) -> None:
        """Put the kernel's result into `target`, by way of the result's dtype, unless it is there already."""
        if result is target:
            return
        spec = self.spec
        if not hasattr(result, "astype"):
            result = as_array(result, spec)
        if result.shape != spec.shape:
            raise self._wrong_shape(result)
        if result.dtype is not spec.dtype:
            result = self._converted(result)
        dtypes.quiet(target.__setitem__, ..., result)


def cast_operands(spec: TensorSpec, given: Sequence[Any]) -> Any:
    """Return operands for the kernel: arrays of dtype `compute`, Python numbers as scalars of it, None as it is.

    Casts go through the promoted dtype (a float32 operand of a bfloat16 result is rounded first), as in PyTorch.
    """
    if spec.numbers is not None:
        return given[0], *spec.numbers
    return [_cast(spec, each) if cast else each for each, cast in zip(given, spec.casts, strict=True)]


def _cast(spec: TensorSpec, operand: Any) -> Any:
    if type(operand) is np.ndarray and operand.dtype is spec.common and spec.common in dtypes.REDUCED:
        return operand.astype(spec.compute)
    if isinstance(operand, (int, float, complex)) and not isinstance(operand, np.generic):
        if spec.exact_scalars:
            return wrapped_scalar(operand, spec.compute)
        rounded = wrapped_scalar(operand, spec.common)
        return rounded if spec.common is spec.compute else rounded.astype(spec.compute)
    if operand.dtype is not spec.common is not spec.compute and not (spec.exact_scalars and operand.ndim == 0):
        operand = cast_array(operand, spec.common)
    return cast_array(operand, spec.compute)


class PlanApart(Plan):
    """A Plan of an operator that reads in another order than it writes: the output may share no memory with `apart`,
    dense arrays that need be no operands. `beside`: those it may share all memory with, but not a part. None of these,
    of the operands and of what it `reads` beside them is resized."""

    __slots__ = ("_apart", "_beside", "_reads")

    def __init__(
        self,
        spec: TensorSpec,
        given: Sequence[Any],
        *,
        apart: Sequence[Any] = (),
        beside: Sequence[Any] = (),
        reads: Sequence[Any] = (),
    ) -> None:
        super().__init__(spec, given)
        self._apart, self._beside, self._reads = apart, beside, reads

    def may_write_straight(self, *, in_place: bool) -> bool:
        """Whether a kernel may write into a target as `Plan` says."""
        is_read = in_place and any(each is self._given[0] for each in self._apart)
        return not is_read and super().may_write_straight(in_place=in_place)

    def _check_unread(self, target: Array) -> None:
        self._check_overlap(target)
        if any(may_share(target, each) for each in (*self._beside, *self._given, *self._reads)):
            raise RuntimeError(_PARTIAL_OVERLAP)

    def _check_overlap(self, target: Array) -> None:
        self._check_own_overlap(target)
        for each in self._apart:
            if each is target or (may_share(target, each) and overlaps(target, each)):
                raise RuntimeError(_PARTIAL_OVERLAP)
        for each in self._beside:
            if each is not target and may_share(target, each) and overlaps_partially(target, each):
                raise RuntimeError(_PARTIAL_OVERLAP)
        self._shared = any(
            (each is not target or not self.spec.pointwise) and may_share(target, each)
            for each in (*self._apart, *self._beside)
        )


@compiled
def cast_array(array: Array, dtype: DType) -> Array:
    """Cast the array as C++ does, without NumPy's warnings; return itself if it has that dtype."""
    if array.dtype is dtype or array.dtype == dtype:
        return array
    if array.dtype.kind == "c" and dtype.kind != "c" and dtype.kind != "b":
        array = array.real
    return array.astype(dtype) if (array.dtype, dtype) in _EXACT else dtypes.quiet(array.astype, dtype)
