"""CUDA kernels of generated packages: their source compiled by CuPy, operands as a kernel takes them, launches.

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
int. CuPy is imported when a kernel is first called.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from opwright.arrays.dtypes import DType
from opwright.errors import DispatchError
from opwright.plans.device_operands import broadcast_strides, dense, dense_out, dtype_of, merged, placed
from opwright.plans.launches import MAX_DIMS, LaunchPlan, LaunchRule, Limits, packed_number, packed_sizes
from opwright.plans.native import NativeLibrary
from opwright.plans.plan import Plan

__all__ = ["CudaHostKernel", "CudaKernel", "CudaSource"]

_C_TYPES = {"float": "double", "int": "int64_t", "bool": "int"}


class CudaSource:
    """A file of CUDA source in a generated package; CuPy compiles it for a device when a kernel is first called there.

    `file` stands beside the file `beside`, as a rule `__file__`; lines `#line` in it say where errors are. `options`
    are NVRTC's; `head` is a file whose text stands before it. What was compiled is kept, here and in CuPy's cache on
    disk.
    """

    def __init__(self, beside: str, file: str, options: Sequence[str] = (), head: str = "") -> None:
        self._path = Path(beside).with_name(file)
        self._head = Path(beside).with_name(head) if head else None
        self._options = tuple(options)
        self._lock = threading.Lock()
        self._functions: dict[tuple[int, str], tuple[Any, Limits]] = {}
        self._module: Any = None

    def kernel(
        self,
        operator: str,
        convention: str,
        functions: Mapping[str, str],
        arguments: Sequence[tuple[str, str]],
        outputs: int = 1,
        launch: LaunchRule | None = None,
    ) -> CudaKernel:
        """Return a kernel of this file, for the operator's name, which errors say.

        `convention` is `elementwise`, `contiguous`, `strided` or `loop` (Note [Conventions of CUDA kernels]),
        `functions` has the name of the function for each dtype, `arguments` names with their sorts, `array`, `float`,
        `int` or `bool`.
        """
        return CudaKernel(self, operator, convention, functions, arguments, outputs, launch or LaunchRule())

    def function(self, name: str, launch: LaunchRule, operator: str) -> tuple[Any, Limits]:
        """Return a function on the current device, and what it can run there. Raises RuntimeError with the compiler's
        words."""
        import cupy

        device = int(cupy.cuda.runtime.getDevice())
        found = self._functions.get((device, name))
        if found is None:
            with self._lock:
                found = self._functions.get((device, name))
                if found is None:
                    found = self._functions[device, name] = self._loaded(cupy, name, launch, operator)
        return found

    def _loaded(self, cupy: Any, name: str, launch: LaunchRule, operator: str) -> tuple[Any, Limits]:
        try:
            if self._module is None:
                files = [self._path] if self._head is None else [self._head, self._path]
                text = "\n".join(path.read_text(encoding="utf-8") for path in files)
                self._module = cupy.RawModule(code=text, options=self._options)
            function = self._module.get_function(name)
            threads = int(function.max_threads_per_block)
        except cupy.cuda.compiler.CompileException as error:
            raise RuntimeError(f"{operator}: its CUDA kernel does not compile\n{_log_of(error)}") from None
        except cupy.cuda.driver.CUDADriverError as error:
            raise RuntimeError(f"{operator}: {self._path.name} has no kernel {name!r} ({error})") from None
        attributes = cupy.cuda.Device().attributes
        granted = int(attributes["MaxSharedMemoryPerBlock"])
        if launch.shared_limit > granted:
            granted = min(launch.shared_limit, int(attributes["MaxSharedMemoryPerBlockOptin"]))
            function.max_dynamic_shared_size_bytes = granted
        return function, Limits(threads, int(attributes["MaxGridDimX"]), granted)


def _log_of(error: Exception) -> str:
    """Return what the compiler said: CuPy adds the whole source to its message, and NVRTC a line on what it is."""
    said = str(getattr(error, "_msg", None) or error)
    return said.strip()


class _DeviceKernel:
    """A kernel on arrays of a CUDA device, called with a plan for each result and with operands.

    Errors: DispatchError for a dtype that it has no function for; OverflowError for numbers that C does not hold;
    RuntimeError where it does not compile, or cannot be launched.
    """

    __slots__ = ("_arguments", "_convention", "_functions", "_operator", "_outputs")

    def __init__(
        self,
        operator: str,
        convention: str,
        functions: Mapping[str, str],
        arguments: Sequence[tuple[str, str]],
        outputs: int,
    ) -> None:
        self._operator = operator
        self._convention = convention
        self._functions = {np.dtype(dtype): name for dtype, name in functions.items()}
        self._arguments = arguments
        self._outputs = outputs

    def __call__(self, plan: Plan | Sequence[Plan], *given: Any, out: Any = None) -> Any:
        """Return the result, or a tuple of several: `out`, where that is an array which the kernel may write to."""
        import cupy

        plans = [plan] if isinstance(plan, Plan) else plan
        dtype = dtype_of(given, self._arguments, self._functions, self._operator)
        with cupy.cuda.Device(plans[0].device.index):
            operands = [
                placed(cupy, value, dtype) if sort == "array" else value
                for value, (_, sort) in zip(given, self._arguments, strict=True)
            ]
            arrays = [value for value, (_, sort) in zip(operands, self._arguments, strict=True) if sort == "array"]
            results = dense_out(cupy, out, [each.shape for each in plans], dtype, arrays)
            self._serve(operands, results, dtype)
        return results[0] if self._outputs == 1 else tuple(results)

    def _serve(self, operands: Sequence[Any], results: Sequence[Any], dtype: DType) -> None:
        raise NotImplementedError

    def _formed(self, array: Any, shape: tuple[int, ...]) -> Any:
        """Return an operand in the form of the convention: itself where that is possible, else a copy."""
        if self._convention in ("strided", "loop"):
            return array if all(step % array.itemsize == 0 for step in array.strides) else array.copy()
        return dense(array, shape if self._convention == "elementwise" else array.shape)

    def _number(self, name: str, sort: str, value: Any) -> tuple[str, Any]:
        return _C_TYPES[sort], packed_number(value, sort, f"{self._operator}: {name!r}")


class CudaHostKernel(_DeviceKernel):
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
        arguments: Sequence[tuple[str, str]],
        outputs: int = 1,
    ) -> None:
        super().__init__(operator, convention, functions, arguments, outputs)
        self._library = library

    def _serve(self, operands: Sequence[Any], results: Sequence[Any], dtype: DType) -> None:
        import cupy

        if self._library.problem:
            raise DispatchError(f"{self._operator} has a CUDA kernel, and {self._library.problem}")
        count = sum(math.prod(array.shape) for array in results)
        if not count:
            return
        formed = [
            self._formed(value, results[0].shape) if sort == "array" else value
            for value, (_, sort) in zip(operands, self._arguments, strict=True)
        ]  # (held until the function is called, so that copies live)
        passed = [math.prod(results[0].shape)] if self._convention == "elementwise" else []
        for value, (name, sort) in zip(formed, self._arguments, strict=True):
            passed += self._told(value) if sort == "array" else [self._number(name, sort, value)[1].item()]
        for array in results:
            passed += self._told(array)
        self._library.function(self._functions[dtype])(*passed, cupy.cuda.get_current_stream().ptr)

    def _told(self, array: Any) -> list[Any]:
        """Return what tells of an array: its address, and as much of its shape as the convention has."""
        told = [int(array.data.ptr)]
        if self._convention == "elementwise":
            return told
        strides = [tuple(step // array.itemsize for step in array.strides)] if self._convention == "strided" else []
        return [*told, array.ndim, tuple(array.shape), *strides]


class CudaKernel(_DeviceKernel):
    """A kernel of a `CudaSource`: launched as its `LaunchRule` says. DispatchError for more than 16 dimensions."""

    __slots__ = ("_launch", "_places", "_source")

    def __init__(
        self,
        source: CudaSource,
        operator: str,
        convention: str,
        functions: Mapping[str, str],
        arguments: Sequence[tuple[str, str]],
        outputs: int,
        launch: LaunchRule,
    ) -> None:
        super().__init__(operator, convention, functions, arguments, outputs)
        self._source = source
        self._places = {dtype: place for place, dtype in enumerate(self._functions)}
        self._launch = launch

    def _serve(self, operands: Sequence[Any], results: Sequence[Any], dtype: DType) -> None:
        launch = self.launch_plan(operands, results, dtype)
        if not launch.is_empty:
            self._run(launch)

    def launch_plan(self, operands: Sequence[Any], results: Sequence[Any], dtype: DType) -> LaunchPlan:
        """Return the launch for operands on one device and dense results; nothing is launched yet.

        Raises DispatchError for other dimensions than the kernel takes, OverflowError.
        """
        name = self._functions[dtype]
        first = next(value for value, (_, sort) in zip(operands, self._arguments, strict=True) if sort == "array")
        if self._launch.ndim not in (None, first.ndim):
            message = (
                f"its CUDA kernel takes an array of {self._launch.ndim} dimensions first, and this has {first.ndim}"
            )
            raise DispatchError(f"{self._operator}: {message}")
        count = math.prod(results[0].shape)
        if self._convention == "loop":
            name, packed = self._loop(name, count, operands, results)
        else:
            packed = list(self._packed(count, operands, results))
        blocks = self._launch.blocks(count, first.shape)
        types, values = zip(*packed, strict=True)
        shared = self._launch.shared_of(self._places[dtype])
        return LaunchPlan(name, (blocks, 1, 1), (self._launch.threads, 1, 1), shared, types, values)

    def _packed(self, count: int, operands: Sequence[Any], results: Sequence[Any]) -> Iterator[tuple[str, Any]]:
        """Yield the types and values of a launch, but for the convention `loop`."""
        shape = results[0].shape
        if self._convention == "elementwise":
            yield "int64_t", np.int64(count)
        for value, (name, sort) in zip(operands, self._arguments, strict=True):
            if sort == "array":
                yield from self._array(name, self._formed(value, shape))
            else:
                yield self._number(name, sort, value)
        for array in results:
            yield from self._array("a result", array)

    def _array(self, name: str, array: Any) -> Iterator[tuple[str, Any]]:
        yield "pointer", array
        if self._convention == "elementwise":
            return
        self._check_dims(name, array.ndim)
        yield "int", np.int32(array.ndim)
        yield "opwright_sizes", packed_sizes(array.shape)
        if self._convention == "strided":
            yield "opwright_sizes", packed_sizes([step // array.itemsize for step in array.strides])

    def _loop(
        self, name: str, count: int, operands: Sequence[Any], results: Sequence[Any]
    ) -> tuple[str, list[tuple[str, Any]]]:
        """Return the function of the convention `loop`, and what it gets."""
        shape = results[0].shape
        operands = [
            self._formed(value, shape) if sort == "array" else value
            for value, (_, sort) in zip(operands, self._arguments, strict=True)
        ]
        arrays = [value for value, (_, sort) in zip(operands, self._arguments, strict=True) if sort == "array"]
        is_dense = all(array.shape == shape and array.flags.c_contiguous for array in arrays)
        packed: list[tuple[str, Any]] = [("int64_t", np.int64(count))]
        steps: Iterator[Any] = iter(())
        if not is_dense:
            shape, strides = merged(shape, [broadcast_strides(array, shape) for array in arrays])
            self._check_dims("the result", len(shape))
            packed += [("int", np.int32(len(shape))), ("opwright_sizes", packed_sizes(shape))]
            steps = iter(strides)
        for value, (argument, sort) in zip(operands, self._arguments, strict=True):
            if sort != "array":
                packed.append(self._number(argument, sort, value))
                continue
            packed.append(("pointer", value))
            packed += [("opwright_sizes", packed_sizes(found)) for found in ([] if is_dense else [next(steps)])]
        packed += [("pointer", array) for array in results]
        return name if is_dense else f"{name}_strided", packed

    def _check_dims(self, name: str, dims: int) -> None:
        if dims > MAX_DIMS:
            shown = name if name.startswith(("a ", "the ")) else repr(name)
            message = f"{shown} has {dims} dimensions, and a CUDA kernel takes at most {MAX_DIMS}"
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
