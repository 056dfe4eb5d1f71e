"""Kernels of Triton, launched on arrays of a CUDA device; by its interpreter where TRITON_INTERPRET is set."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from opwright.cuda_kernels.calls import DeviceKernel
from opwright.cuda_kernels.kernels import Maker
from opwright.cuda_kernels.launches import LaunchRule
from opwright.cuda_kernels.writers import Writer
from opwright.foreign_kernels.sources import imported
from opwright.foreign_kernels.triton_memory import TritonMemory
from opwright_core.arrays.dtypes import DType, dtype_name
from opwright_core.errors import DispatchError

__all__ = ["TritonKernel", "TritonWriter"]

_SIZE: Final = re.compile(r"(\w+)_(shape|stride)(\d+)")


class _Launched(DeviceKernel):
    """A function under `triton.jit`: it gets what its parameters are called.

    These are `n` (elements, where all are in one order), the names of arguments and results, `NAME_shape0` and
    `NAME_stride0`, and constants: numbers, `elements` of a program, or `row`, the power of two in which a row of the
    array has room, whose rows the grid has.
    """

    __slots__ = ("_constants", "_launch", "_names", "_path", "_triton", "_wanted", "_warps")
    _language = "Triton"

    def __init__(
        self,
        module: str,
        name: str,
        wanted: Sequence[str],
        operator: str,
        convention: str,
        dtypes: Sequence[str],
        arguments: Sequence[str],
        results: Sequence[str] = (),
        *,
        launch: LaunchRule,
        warps: int,
        constants: Mapping[str, int | str] | None = None,
    ) -> None:
        named = [text.partition(" ")[::2] for text in results]
        super().__init__(operator, convention, dict.fromkeys(dtypes, ""), arguments, [dtype for _, dtype in named])
        self._names = [*(argument.name for argument in self._arguments), *(name for name, _ in named)]
        self._path = module, name
        self._wanted = tuple(wanted)
        self._launch = launch
        self._warps = warps
        self._constants = constants or {}
        self._triton: Any = None

    def _compute(self, values: Sequence[Any], results: Sequence[Any], dtype: DType) -> None:
        given = dict(zip(self._names, (*values, *results), strict=True))
        first = next(given[a.name] for a in self._arguments if a.is_array and not a.is_optional)
        self._check_ndim(self._launch, first, values)
        written = self._written(values, results)
        rows = given.get(self._launch.rows_of, first).shape
        blocks = self._launch.blocks(written[0].size, rows, sum(array.size for array in written[1:]))
        if not blocks:
            return
        if self._convention == "elementwise":
            given["n"] = written[0].size
        passed = dict(self._passed(given, rows))
        function = self._function()
        interpreted = {} if type(function).__name__ == "InterpretedFunction" else {"num_warps": self._warps}
        # By position, as far as all are there: one may be called as what launches calls its own (`self`, `grid`).
        first_left_out = next((i for i, name in enumerate(self._wanted) if name not in passed), len(self._wanted))
        named = {name: value for name, value in passed.items() if name not in self._wanted[:first_left_out]}
        function[(blocks,)](*(passed[name] for name in self._wanted[:first_left_out]), **named, **interpreted)

    def _passed(self, given: Mapping[str, Any], rows: Sequence[int]) -> Iterator[tuple[str, Any]]:
        """Yield what the function gets, by name. Raises DispatchError for the size of a dimension that is not there."""
        words = {"elements": self._launch.elements, "row": 1 << max(0, (rows[-1] if rows else 1) - 1).bit_length()}
        for name in self._wanted:
            if name in self._constants:
                constant = self._constants[name]
                yield name, words[constant] if isinstance(constant, str) else constant
            elif name in given:
                value = given[name]
                yield name, _memory(value) if hasattr(value, "dtype") and hasattr(value, "strides") else value
            elif (found := _SIZE.fullmatch(name)) is not None:
                yield name, self._size(given[found[1]], name, found[2], int(found[3]))

    def _size(self, array: Any, name: str, word: str, dim: int) -> int:
        if array is None:
            return 0
        if dim >= array.ndim:
            message = f"its Triton kernel takes {name!r}, and the array has {array.ndim} dimensions"
            raise DispatchError(f"{self._operator}: {message}")
        return int(array.shape[dim] if word == "shape" else array.strides[dim] // array.itemsize)

    def _function(self) -> Any:
        """Return the function. Raises DispatchError where it is not there."""
        if self._triton is None:
            module, problem = imported(self._path[0], "triton", "triton")
            if problem:
                raise DispatchError(f"{self._operator} has a kernel for Triton: {problem}")
            self._triton = getattr(module, self._path[1])
            if not hasattr(type(self._triton), "__getitem__"):
                name = ".".join(self._path)
                raise DispatchError(f"{self._operator}: {name} is no kernel of Triton: write @triton.jit above it")
        return self._triton


def _memory(array: Any) -> TritonMemory:
    """Return an array of a device as Triton takes it."""
    strides = [step // array.itemsize for step in array.strides]
    return TritonMemory(array, dtype_name(array.dtype), int(array.data.ptr), array.shape, strides)


class TritonKernel(Maker, _Launched):
    """A kernel of Triton that makes results."""

    __slots__ = ()


class TritonWriter(Writer, _Launched):
    """A kernel of Triton that writes arguments."""

    __slots__ = ()
