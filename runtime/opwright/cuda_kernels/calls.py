"""Calls of CUDA kernels: operands as a kernel takes them, launches, functions of a library.

Note [Conventions of CUDA kernels]
A kernel has a function for each dtype. Its arguments are those of C kernels (`native/NS_kernels.h`), in the same order:

    elementwise   (int64_t n, const T *x, …, double alpha, …, T *out, …): all operands broadcast and dense
    contiguous    (const T *x, int x_ndim, opwright_sizes x_shape, …, T *out, int out_ndim, opwright_sizes out_shape)
    strided       (…, opwright_sizes x_shape, opwright_sizes x_strides, …): operands as they are
    loop          two functions. `NAME` is as elementwise, and is called where all operands are dense and of one shape.
                  `NAME_strided` gets (int64_t n, int ndim, opwright_sizes shape, const T *x, opwright_sizes x_strides,
                  …, double alpha, …, T *out, …): the result is dense, of `shape`, in which dimensions that can be
                  walked as one are one; strides of operands, in elements, are 0 where they are broadcast.

Shapes travel by value, in a struct of 16 numbers, `opwright_sizes`. `float` is a double, `int` an int64_t, `bool` an
int, a `scalar` of the kernel's dtype; of these, one that may be left out is an `opwright_optional`, and a list an
`opwright_list` of 32 numbers and its length. Functions of the host get pointers to the host's memory instead, NULL for
None. An array that is left out is a null pointer, of 0 dimensions. CuPy is imported when a kernel is first called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from opwright.cuda_kernels.launches import (
    MAX_DIMS,
    MAX_LISTED,
    NULL,
    LaunchPlan,
    LaunchRule,
    packed_list,
    packed_number,
    packed_optional,
    packed_sizes,
)
from opwright.cuda_kernels.operands import DeviceResult, broadcast_strides, dense, merged, placed
from opwright.cuda_kernels.sources import CudaSource
from opwright_core.arrays.dtypes import DType
from opwright_core.errors import DispatchError
from opwright_core.native_kernels.arguments import NativeArgument
from opwright_core.native_kernels.function_kernels import FunctionKernel
from opwright_core.native_kernels.libraries import NativeLibrary

__all__ = ["DeviceKernel", "OnDevice", "OnHost"]

Shape = tuple[int, ...]


class DeviceKernel(FunctionKernel):
    """A kernel on arrays of a CUDA device."""

    __slots__ = ("_functions", "_results")
    _language = "CUDA"

    def __init__(
        self,
        operator: str,
        convention: str,
        functions: Mapping[str, str],
        arguments: Sequence[str],
        results: Sequence[str] = (),
    ) -> None:
        super().__init__(operator, convention, tuple(functions), arguments)
        self._functions = dict(zip(self._dtypes, functions.values(), strict=True))
        self._results = tuple(map(DeviceResult, results))

    def _array(self, value: Any, dtype: DType, shape: Shape | None) -> Any:
        """Return an operand on the current device in the form of the convention; itself where it is that."""
        import cupy

        array = placed(cupy, value, dtype)
        if self._convention == "loop":
            return array
        return _whole(array) if self._convention == "strided" else dense(array, array.shape if shape is None else shape)

    def _compute(self, values: Sequence[Any], results: Sequence[Any], dtype: DType) -> None:
        """Call the function for the dtype: values for all arguments, as it takes them, and arrays for results."""
        raise NotImplementedError

    def _check_ndim(self, launch: LaunchRule, first: Any, values: Sequence[Any]) -> None:
        """Raise DispatchError for arrays of other dimensions than a launch takes."""
        if launch.ndim not in (None, first.ndim):
            taken = f"its {self._language} kernel takes an array of {launch.ndim} dimensions first"
            raise DispatchError(f"{self._operator}: {taken}, and this has {first.ndim}")
        if launch.dims:
            wanted = dict(launch.dims)
            for argument, value in self._arrays(values):
                ndim = wanted.get(argument.name, value.ndim)
                if ndim != value.ndim:
                    taken = f"its {self._language} kernel takes {argument.name!r} of {ndim} dimensions"
                    raise DispatchError(f"{self._operator}: {taken}, and this has {value.ndim}")

    def _paired(self, values: Sequence[Any], results: Sequence[Any]) -> list[tuple[NativeArgument, Any]]:
        """Return all that a function gets, each with its argument."""
        outs = [_OUT] * len(results)
        return list(zip((*self._arguments, *outs), (*values, *results), strict=True))

    def _written(self, values: Sequence[Any], results: Sequence[Any]) -> list[Any]:
        """Return the arrays that are written; how many elements the first has is what a launch goes by."""
        return [value for argument, value in self._paired(values, results) if argument.is_written and value is not None]


_OUT = NativeArgument("result: array!")


def _whole(array: Any) -> Any:
    """Return the array, or a copy where its strides are no whole elements."""
    return array if all(step % array.itemsize == 0 for step in array.strides) else array.copy()


class OnHost(DeviceKernel):
    """A kernel that a function of the host launches: `opwright build` made the library of it with nvcc.

    The function gets addresses on the device, and CuPy's current stream.
    """

    __slots__ = ("_library",)

    def __init__(
        self,
        library: NativeLibrary,
        operator: str,
        convention: str,
        functions: Mapping[str, str],
        arguments: Sequence[str],
        results: Sequence[str] = (),
    ) -> None:
        super().__init__(operator, convention, functions, arguments, results)
        self._library = library

    def _compute(self, values: Sequence[Any], results: Sequence[Any], dtype: DType) -> None:
        import cupy

        if self._library.problem:
            raise DispatchError(f"{self._operator} has a CUDA kernel, and {self._library.problem}")
        written = self._written(values, results)
        if not any(array.size for array in written):
            return
        held: list[Any] = []  # numbers on the host, which live until the function has returned
        passed = [written[0].size] if self._convention == "elementwise" else []
        for argument, value in self._paired(values, results):
            passed += self._told(value) if argument.is_array else self._number(argument, value, dtype, held)
        self._library.function(self._functions[dtype])(*passed, cupy.cuda.get_current_stream().ptr)

    def _told(self, array: Any) -> list[Any]:
        """Return what tells of an array: its address, and as much of its shape as the convention has."""
        told: list[Any] = [0 if array is None else int(array.data.ptr)]
        if self._convention == "elementwise":
            return told
        if array is None:
            return [0, 0, (), *([()] if self._convention == "strided" else [])]
        strides = [tuple(step // array.itemsize for step in array.strides)] if self._convention == "strided" else []
        return [*told, array.ndim, tuple(array.shape), *strides]

    def _number(self, argument: NativeArgument, value: Any, dtype: DType, held: list[Any]) -> list[Any]:
        """Return what an argument that is no array is passed as: itself, or where it is on the host."""
        if argument.sort == "text":
            return [value]
        if value is None:
            return [0, 0] if argument.is_list else [0]
        if not (argument.is_list or argument.is_optional or argument.sort == "scalar"):
            return [packed_number(value, argument.sort, dtype)[1].item()]
        held.append(value if argument.is_list else np.asarray(packed_number(value, argument.sort, dtype)[1]))
        return [held[-1].ctypes.data, *([len(value)] if argument.is_list else [])]


class OnDevice(DeviceKernel):
    """A kernel of a `CudaSource`: launched as its `LaunchRule` says. DispatchError for more than 16 dimensions."""

    __slots__ = ("_launch", "_positions", "_source")

    def __init__(
        self,
        source: CudaSource,
        operator: str,
        convention: str,
        functions: Mapping[str, str],
        arguments: Sequence[str],
        results: Sequence[str] = (),
        launch: LaunchRule | None = None,
    ) -> None:
        super().__init__(operator, convention, functions, arguments, results)
        self._source = source
        self._positions = {dtype: position for position, dtype in enumerate(self._functions)}
        self._launch = launch or LaunchRule()

    def _compute(self, values: Sequence[Any], results: Sequence[Any], dtype: DType) -> None:
        launch = self.launch_plan(values, results, dtype)
        if not launch.is_empty:
            self._run(launch)

    def launch_plan(self, values: Sequence[Any], results: Sequence[Any], dtype: DType) -> LaunchPlan:
        """Return the launch for arguments as the kernel takes them, on one device, and results; nothing is launched.

        Raises DispatchError for other dimensions than the kernel takes, and for lists that are too long.
        """
        name = self._functions[dtype]
        known = {a.name: value for a, value in zip(self._arguments, values, strict=True) if a.is_array}
        first = next(known[a.name] for a in self._arguments if a.is_array and not a.is_optional)
        self._check_ndim(self._launch, first, values)
        count, *others = (array.size for array in self._written(values, results))
        if self._convention == "loop":
            name, packed = self._loop(name, count, values, results)
        else:
            packed = [("int64_t", np.int64(count))] if self._convention == "elementwise" else []
            for argument, value in self._paired(values, results):
                packed += self._packed(argument, value, dtype)
        blocks = self._launch.blocks(count, known.get(self._launch.rows_of, first).shape, sum(others))
        types, numbers = zip(*packed, strict=True)
        shared = self._launch.shared_of(self._positions[dtype])
        return LaunchPlan(name, (blocks, 1, 1), (self._launch.threads, 1, 1), shared, types, numbers)

    def _packed(self, argument: NativeArgument, value: Any, dtype: DType) -> Iterator[tuple[str, Any]]:
        """Yield the types and values of an argument, as a kernel gets it."""
        if argument.is_array:
            yield from self._pointed(argument.name, value)
        elif argument.is_list:
            if value is not None and len(value) > MAX_LISTED:
                message = f"{argument.name!r} has {len(value)} numbers, and a CUDA kernel takes at most {MAX_LISTED}"
                raise DispatchError(f"{self._operator}: {message}")
            yield from packed_list(value, argument.sort)
        elif argument.is_optional:
            yield packed_optional(value, argument.sort, dtype)
        else:
            yield self._scalar(argument, value, dtype)

    def _scalar(self, argument: NativeArgument, value: Any, dtype: DType) -> tuple[str, Any]:
        return packed_number(value, argument.sort, dtype)

    def _pointed(self, name: str, array: Any) -> Iterator[tuple[str, Any]]:
        yield "pointer", NULL if array is None else array
        if self._convention == "elementwise":
            return
        shape = () if array is None else array.shape
        self._check_dims(name, len(shape))
        yield "int", np.int32(len(shape))
        yield "opwright_sizes", packed_sizes(shape)
        if self._convention == "strided":
            steps = [] if array is None else [step // array.itemsize for step in array.strides]
            yield "opwright_sizes", packed_sizes(steps)

    def _loop(
        self, name: str, count: int, operands: Sequence[Any], results: Sequence[Any]
    ) -> tuple[str, list[tuple[str, Any]]]:
        """Return the function of the convention `loop`, and what it gets."""
        shape = results[0].shape
        pairs = list(zip(self._arguments, operands, strict=True))
        arrays = [_whole(value) for argument, value in pairs if argument.is_array]
        is_dense = all(array.shape == shape and array.flags.c_contiguous for array in arrays)
        packed: list[tuple[str, Any]] = [("int64_t", np.int64(count))]
        steps: Iterator[Any] = iter(())
        taken = iter(arrays)
        if not is_dense:
            shape, strides = merged(shape, [broadcast_strides(array, shape) for array in arrays])
            self._check_dims("result", len(shape))
            packed += [("int", np.int32(len(shape))), ("opwright_sizes", packed_sizes(shape))]
            steps = iter(strides)
        for argument, value in pairs:
            if not argument.is_array:
                packed.append(self._scalar(argument, value, results[0].dtype))
                continue
            packed.append(("pointer", next(taken)))
            packed += [("opwright_sizes", packed_sizes(found)) for found in ([] if is_dense else [next(steps)])]
        packed += [("pointer", array) for array in results]
        return name if is_dense else f"{name}_strided", packed

    def _check_dims(self, name: str, dims: int) -> None:
        if dims > MAX_DIMS:
            message = f"{name!r} has {dims} dimensions, and a CUDA kernel takes at most {MAX_DIMS}"
            raise DispatchError(f"{self._operator}: {message}")

    def _run(self, launch: LaunchPlan) -> None:
        """Run a launch on the current device and stream. Raises RuntimeError where the device does not do that."""
        import cupy

        function, limits = self._source.function(launch.function, self._launch, self._operator)
        for problem in launch.problems(limits):
            raise RuntimeError(f"{self._operator}: the CUDA kernel {launch.function!r} cannot be launched: {problem}")
        try:
            function(launch.grid, launch.block, launch.values, shared_mem=launch.shared)
        except cupy.cuda.driver.CUDADriverError as error:
            raise RuntimeError(
                f"{self._operator}: the CUDA kernel {launch.function!r} cannot be launched: {error}"
            ) from None
