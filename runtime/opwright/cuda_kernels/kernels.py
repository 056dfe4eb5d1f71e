"""CUDA kernels of generated packages that make results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opwright.cuda_kernels.calls import DeviceKernel, OnDevice, OnHost
from opwright.cuda_kernels.operands import dense_out
from opwright_core.errors import DispatchError
from opwright_core.plans.plan import Plan

__all__ = ["CudaHostKernel", "CudaKernel", "Maker"]

Shape = tuple[int, ...]


class Maker(DeviceKernel):
    """A kernel that makes results, called with a plan for each and with operands.

    Errors: DispatchError for a dtype that it has no function for, and for other shapes than it takes; OverflowError for
    numbers that C does not hold; RuntimeError where it does not compile, or cannot be launched.
    """

    __slots__ = ()
    _hint = ", to which `meta` casts what it takes as operands"

    def __call__(self, plan: Plan | Sequence[Plan], *given: Any, out: Any = None) -> Any:
        """Return the result, or a tuple of several: `out`, where that is an array which the kernel may write to."""
        import cupy

        plans = plan if isinstance(plan, Sequence) else [plan]
        dtype = self._dtype_of(given)
        with cupy.cuda.Device(plans[0].device.index):
            shapes = [each.shape for each in plans]
            self._check_shapes(given, shapes)
            values = self._taken(given, dtype, shapes[0] if self._convention == "elementwise" else None)
            arrays = [value for _, value in self._arrays(values)]
            dtypes = [each.dtype or dtype for each in self._results]
            results = dense_out(cupy, out, shapes, dtypes, arrays)
            self._compute(values, results, dtype)
        return results[0] if len(results) == 1 else tuple(results)

    def _check_shapes(self, given: Sequence[Any], shapes: Sequence[Shape]) -> None:
        """Raise DispatchError for a result of another shape than `meta` has been read to give it."""
        known = {argument.name: value for argument, value in self._arrays(given)}
        for result, shape in zip(self._results, shapes, strict=True):
            if result.like and shape != (wanted := result.shape_of(known[result.like])):
                message = f"a result of shape {list(shape)} is asked for, and {result.like!r} makes it {list(wanted)}"
                raise DispatchError(f"{self._operator}: {message}")


class CudaKernel(Maker, OnDevice):
    """A kernel of a `CudaSource` that makes results."""

    __slots__ = ()


class CudaHostKernel(Maker, OnHost):
    """A kernel that a function of the host launches, and that makes results."""

    __slots__ = ()
