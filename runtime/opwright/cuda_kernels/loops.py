"""CUDA kernels of expressions: tried where arrays come as these kernels take them; the expression handles the rest."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opwright.cuda_kernels.kernels import CudaKernel
from opwright.cuda_kernels.operands import dense_out
from opwright.cuda_kernels.sources import CudaSource
from opwright_core.arrays import layouts
from opwright_core.arrays.dtypes import DType
from opwright_core.errors import DispatchError
from opwright_core.native_kernels.arguments import NativeArgument
from opwright_core.plans.plan import Plan

__all__ = ["CudaLoop"]


class CudaLoop(CudaKernel):
    """The kernels of an expression, one for each dtype, called with a plan, with operands and numbers.

    The result is NotImplemented for what they do not take: other dtypes or several, arrays that are not of one device,
    numbers that the dtype does not hold, more than 16 dimensions. A source that does not compile is warned of once, and
    handles nothing.
    """

    __slots__ = ("_count", "_is_broken", "_known", "_truth")

    def __init__(
        self,
        source: CudaSource,
        operator: str,
        functions: Mapping[str, str],
        arguments: Sequence[str],
        is_truth: bool = False,
    ) -> None:
        super().__init__(source, operator, "loop", functions, arguments, ("",))
        self._known = {dtype: dtype for dtype in self._functions}
        self._truth = np.dtype(np.bool_) if is_truth else None
        self._count = sum(argument.is_array for argument in self._arguments)
        self._is_broken = False

    def __call__(self, plan: Plan | Sequence[Plan], *given: Any, out: Any = None) -> Any:
        """Return the result, laid out as the plan says where the operands are, or `out`, where that is an array which
        the kernel may write to."""
        spec = (plan[0] if isinstance(plan, Sequence) else plan).spec
        arrays, numbers = given[: self._count], given[self._count :]
        order = sorted(range(len(spec.shape)), key=lambda dim: -spec.strides[dim])
        is_in_order = all(dim == position for position, dim in enumerate(order))
        if out is not None or is_in_order or any(getattr(array, "shape", None) != spec.shape for array in arrays):
            return self.fast(*given, out)
        result = self.fast(*(array.transpose(order) for array in arrays), *numbers, None)
        if result is NotImplemented:
            return result
        return result.transpose(sorted(range(len(order)), key=order.__getitem__))

    def fast(self, *given: Any) -> Any:
        """Return the result for arrays, numbers, and an array for the result or None. Raises RuntimeError for shapes
        that do not go together."""
        import cupy

        *operands, out = given
        arrays, first = operands[: self._count], operands[0]
        if self._is_broken or any(not isinstance(array, cupy.ndarray) for array in arrays):
            return NotImplemented
        dtype, device = self._known.get(first.dtype), first.device.id
        if dtype is None or any(array.dtype != dtype or array.device.id != device for array in arrays):
            return NotImplemented
        numbers = [_packed(value, dtype) for value in operands[self._count :]]
        if any(number is None for number in numbers):
            return NotImplemented
        shape = first.shape
        if any(array.shape != shape for array in arrays):
            shape = layouts.broadcast_shapes([array.shape for array in arrays])
        if out is not None and out.device.id != device:
            out = None
        with cupy.cuda.Device(device):
            apart = [array for array in arrays if out is None or not _is_in_place(array, out)]
            results = dense_out(cupy, out, [shape], [self._truth or dtype], apart)
            return results[0] if self._has_computed([*arrays, *numbers], results, dtype) else NotImplemented

    def _has_computed(self, operands: Sequence[Any], results: Sequence[Any], dtype: DType) -> bool:
        try:
            launch = self.launch_plan(operands, results, dtype)
        except DispatchError:  # (more dimensions than travel by value)
            return False
        if launch.is_empty:
            return True
        try:
            self._source.function(launch.function, self._launch, self._operator)
        except (OSError, RuntimeError) as error:
            self._is_broken = True
            message = f"{self._operator} is computed by CuPy, step by step: {error}"
            warnings.warn(message, RuntimeWarning, stacklevel=2)
            return False
        self._run(launch)
        return True

    def _scalar(self, argument: NativeArgument, value: Any, dtype: DType) -> tuple[str, Any]:
        return ("double" if value.dtype.kind == "f" else "int64_t"), value


def _is_in_place(array: Any, out: Any) -> bool:
    """Whether each element of the result lies where the operand's does: it is read before it is written."""
    same = array.data.ptr == out.data.ptr and array.shape == out.shape and array.dtype == out.dtype
    return bool(same and array.flags.c_contiguous)


def _packed(value: Any, dtype: DType) -> Any:
    """Return a number of Python as the kernel takes it, or None where the dtype does not hold it: integers and bools an
    int64_t (of unsigned ones the bits), floats a double."""
    kind = type(value)
    if dtype.kind not in "biu":
        try:
            return np.float64(value) if kind in (int, float, bool) else None
        except OverflowError:
            return None
    if kind is bool:
        return np.int64(value)
    if kind is not int or dtype.kind == "b":
        return None
    info = np.iinfo(dtype)
    if not info.min <= value <= info.max:
        return None
    return np.int64(value if value < 2**63 else value - 2**64)
