"""Operators that C handles within JAX's compiled programs: `jax.ffi` calls of the library that `opwright build` made.

Note [Who computes within XLA]
Light expressions, and formulas of derivatives over them, XLA computes itself: on each platform, joined with what stands
beside them. A call of C is emitted for all else that C takes as it is. What neither takes Python is called back for.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from opwright_bindings.jax.runtime.batches import aligned, split
from opwright_bindings.jax.runtime.gradients import Gradients
from opwright_bindings.jax.runtime.programs import Batch, Call, Form, Program, Slot, Tangents, Transposed
from opwright_bindings.jax.runtime.recorded import recorded_call
from opwright_core.native_kernels.arguments import NativeArgument
from opwright_core.native_kernels.truncated_files import check_whole

__all__ = ["Kernel", "Library", "Loop", "is_native", "native_call", "offer"]


class Library:
    """The library that has the handlers of one package. Without it, `problem` says what is wrong."""

    def __init__(self, path: Path, digest: str) -> None:
        self._path = path
        self._digest = digest
        self._names: dict[str, str] = {}
        self._loaded: ctypes.CDLL | None = None
        self.problem = "its library for JAX has not been built: run `opwright build`"
        if not path.is_file():
            return
        name = path.name.partition(".")[0]
        try:
            check_whole(path)
            loaded = ctypes.CDLL(str(path))
            told = ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(loaded, f"{name}_digest")))
            version = tuple((ctypes.c_int * 2).in_dll(loaded, f"{name}_version"))
        except (ImportError, OSError, ValueError) as error:
            self.problem = f"its library for JAX cannot be loaded ({error}): run `opwright build`"
            return
        if told != digest.encode():
            self.problem = "its library for JAX was built from other schemas: run `opwright build`"
        elif version > (known := _interface()):
            here, there = [".".join(map(str, each)) for each in (known, version)]
            self.problem = f"its library is for XLA's interface {there}, and JAX has {here}: run `opwright build`"
        else:
            self._loaded, self.problem = loaded, ""

    def target(self, symbol: str) -> str:
        """Return the name that JAX knows a handler by."""
        name = self._names.get(symbol)
        if name is None:
            name = f"{self._path.parent.parent.name}.{symbol}.{self._digest}"
            jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(self._loaded, symbol)), platform="cpu")
            self._names[symbol] = name
        return name

    def targets(self) -> list[str]:
        """Return the names of all handlers, which JAX is told of: of those that `jax.export` is to let pass, and that a
        process needs which runs what was exported."""
        offered = [native for native, library in _offered.values() if library is self]
        symbols = {symbol for native in offered for symbol in native.symbols if hasattr(self._loaded, symbol)}
        return [self.target(symbol) for symbol in sorted(symbols)]


def _interface() -> tuple[int, int]:
    """Return the version of XLA's interface that JAX has, as its header says it."""
    text = Path(jax.ffi.include_dir(), "xla", "ffi", "api", "c_api.h").read_text(encoding="utf-8")
    major, minor = [re.search(rf"#define XLA_FFI_API_{part} (\d+)", text) for part in ("MAJOR", "MINOR")]
    return (int(major[1]), int(minor[1])) if major and minor else (0, 0)


class Loop:
    """The loops of an expression. `tensors` are the positions of its operands, which broadcast; `numbers` gives what it
    computes of other arguments; `result` is the dtype of results, '' for that of operands.

    A light one has a `formula`, over `xp` and all arguments: of float32 and float64 XLA computes it itself, together
    with what stands beside it, so that results need not go through memory. So it is on each platform.
    """

    def __init__(
        self,
        symbol: str,
        tensors: Sequence[int],
        dtypes: Sequence[str],
        result: str,
        numbers: Callable[[Sequence[Any]], tuple[Any, ...]] = lambda given: (),
        gradients: Gradients | None = None,
        formula: Callable[[Any, Sequence[Any]], Any] | None = None,
    ) -> None:
        self.symbol = symbol
        self.broadcasts = True
        self._tensors = tensors
        self._dtypes = [_dtype(each) for each in dtypes]
        self._result = result
        self._numbers = numbers
        self._gradients = gradients
        self._formula = formula

    @property
    def symbols(self) -> list[str]:
        """Return the names that its handlers may have."""
        return [self.symbol, *(self._gradients.symbols if self._gradients is not None else ())]

    def emitted(self, library: Library, call: Call, operands: Sequence[Any], results: Sequence[Form]) -> Any:
        """Return JAX's arrays of the results; None where no loop takes the operands."""
        given = [operands[slot.place] for slot in (call.values[position] for position in self._tensors)]
        dtype = np.dtype(given[0].dtype)
        ((shape, wanted),) = results
        if dtype not in self._dtypes or any(each.dtype != dtype for each in given):
            return None
        if wanted != (_dtype(self._result) if self._result else dtype):
            return None
        if shape != np.broadcast_shapes(*[each.shape for each in given]) or len(shape) > 64:
            return None
        if self.is_light(dtype):
            assert self._formula is not None
            values = [operands[each.place] if isinstance(each, Slot) else each for each in call.values]
            made = self._formula(jax.numpy, values)
            if (made.shape, made.dtype) == results[0]:  # (a complex number makes another)
                return [made]
        return self._called(library, self.symbol, given, self._numbers(call.values), (shape, wanted), 1)

    def is_light(self, dtype: Any) -> bool:
        """Whether XLA computes the expression itself, of this dtype."""
        return self._formula is not None and str(dtype) in ("float32", "float64")

    def derived(
        self, library: Library, program: Any, outer: Sequence[Batch], operands: Sequence[Any], results: Sequence[Form]
    ) -> list[Any] | None:
        """Return JAX's arrays of what a derivative gives, in the batches `outer`; None where no loop takes them."""
        dtype = np.dtype(operands[0].dtype)
        is_taken = dtype in self._dtypes and all(each.dtype == dtype for each in operands)
        if self._gradients is None or not is_taken or any(wanted != dtype for _, wanted in results):
            return None
        numbers = self._gradients.numbers(split(program.base)[1].values)

        def run(symbol: str, given: Sequence[Any], shape: tuple[int, ...], count: int) -> list[Any] | None:
            if len(shape) > 64 or shape != np.broadcast_shapes(shape, *[each.shape for each in given]):
                return None
            return self._called(library, symbol, given, numbers, (shape, dtype), count)

        return self._gradients.emitted(run, program, outer, self._tensors, operands, results)

    def _called(
        self, library: Library, symbol: str, given: Sequence[Any], numbers: Sequence[Any], form: Form, count: int
    ) -> list[Any] | None:
        """Return the results of a handler, all of one form; None where a number is none of the dtype."""
        words = [_words(number, np.dtype(given[0].dtype)) for number in numbers]
        if None in words or library.problem:
            return None
        told = {"numbers": np.array(words, np.int64).reshape(-1)} if words else {}
        described = [jax.ShapeDtypeStruct(*form)] * count
        return list(jax.ffi.ffi_call(library.target(symbol), described)(*given, **told))


class Kernel:
    """A C kernel: `positions` are the positions of its `arguments` in the operator's."""

    def __init__(
        self,
        symbol: str,
        convention: str,
        positions: Sequence[int],
        arguments: Sequence[str],
        dtypes: Sequence[str],
        results: Sequence[str],
    ) -> None:
        self.symbol = symbol
        self.symbols = [symbol]
        self.broadcasts = convention == "elementwise"
        self._arguments = list(zip(positions, map(NativeArgument, arguments), strict=True))
        self._dtypes = [np.dtype(each) for each in dtypes]
        self._results = [np.dtype(each) if each else None for each in results]

    def emitted(self, library: Library, call: Call, operands: Sequence[Any], results: Sequence[Form]) -> Any:
        """Return JAX's arrays of the results; None where no function takes the operands."""
        arrays = {
            number: operands[call.values[position].place]
            for number, (position, argument) in enumerate(self._arguments)
            if argument.is_array and isinstance(call.values[position], Slot)
        }
        dtype = self._dtype_of(arrays)
        if dtype is None or [own or dtype for own in self._results] != [wanted for _, wanted in results]:
            return None
        given = list(arrays.values())
        if self.broadcasts:
            given = [jax.numpy.broadcast_to(each, results[0][0]) for each in given]
        told = {"there": np.array([sum(1 << number for number in arrays)], np.int64)}
        for number, (position, argument) in enumerate(self._arguments):
            if not argument.is_array:
                attribute = _attribute(argument.value(call.values[position], dtype), argument, dtype)
                if attribute is not None:
                    told[f"a{number}"] = attribute
        described = [jax.ShapeDtypeStruct(*form) for form in results]
        return list(jax.ffi.ffi_call(library.target(self.symbol), described)(*given, **told))

    def _dtype_of(self, arrays: dict[int, Any]) -> Any:
        """Return the dtype of the function that takes the arrays as they are; None where none does."""
        found = {np.dtype(each.dtype) for n, each in arrays.items() if self._arguments[n][1].dtype is None}
        fixed = all(
            each.dtype == self._arguments[number][1].dtype
            for number, each in arrays.items()
            if self._arguments[number][1].dtype is not None
        )
        return found.pop() if fixed and len(found) == 1 and found <= set(self._dtypes) else None


_offered: dict[str, tuple[Loop | Kernel, Library]] = {}


def offer(operator: str, native: Loop | Kernel, library: Library) -> None:
    """Have the library handle an operator; XLA itself what is light, without the library, too."""
    if not library.problem or (isinstance(native, Loop) and native.is_light("float32")):
        _offered[operator] = native, library


def is_native(program: Program) -> bool:
    """Whether C may handle a program: a call, a derivative of one of any order, and batches of these."""
    _, sample = split(program)
    if not isinstance(sample, (Tangents, Transposed)):
        return isinstance(sample, Call) and sample.operator in _offered
    call = _innermost(sample)
    return call.operator in _offered and (sample is program or isinstance(_offered[call.operator][0], Loop))


def _innermost(program: Any) -> Call:
    """Return the call that a program is about."""
    while not isinstance(program, Call):
        program = program.base
    return program


def native_call(
    program: Program, operands: Sequence[Any], results: Sequence[Form], *, has_c: bool = True
) -> list[Any] | None:
    """Return what C computes, or XLA itself, as JAX's arrays; None where neither takes the operands as they are.
    Without C (`has_c`) XLA alone is asked."""
    levels, sample = split(program)
    if isinstance(sample, (Tangents, Transposed)):
        return _derivative(sample, levels, operands, results, has_c)
    if not is_native(program):
        return None
    native, _ = _offered[sample.operator]
    if levels and not native.broadcasts:
        return None
    rank = len(results[0][0]) - len(levels)
    given = [aligned(each, [level.dims[n] for level in levels], rank) for n, each in enumerate(operands)]
    return _emitted(sample, given, results, has_c=has_c)


def _derivative(
    program: Tangents | Transposed,
    levels: Sequence[Batch],
    operands: Sequence[Any],
    results: Sequence[Form],
    has_c: bool,
) -> list[Any] | None:
    """Return a derivative in batches: by the loops of an expression, or by what a formula calls."""
    call = split(program.base)[1]
    loop, library = _offered.get(call.operator, (None, None)) if isinstance(call, Call) else (None, None)

    def by_loop() -> list[Any] | None:
        if not has_c or not isinstance(loop, Loop) or library is None:
            return None
        return loop.derived(library, program, levels, operands, results)

    def by_formula() -> list[Any] | None:
        return None if levels else recorded_call(program, operands, partial(_emitted, has_c=has_c))

    is_light = isinstance(loop, Loop) and loop.is_light(operands[0].dtype)
    return by_formula() or by_loop() if is_light else by_loop() or by_formula()


def _emitted(call: Call, operands: Sequence[Any], results: Sequence[Form], *, has_c: bool) -> list[Any] | None:
    if call.operator not in _offered:
        return None
    native, library = _offered[call.operator]
    if not has_c and not (isinstance(native, Loop) and native.is_light(operands[0].dtype)):
        return None
    made: list[Any] | None = native.emitted(library, call, operands, results)
    return made


def _dtype(name: str) -> np.dtype[Any]:
    return np.dtype(jax.numpy.bfloat16) if name == "bfloat16" else np.dtype(name)


def _words(number: Any, dtype: np.dtype[Any]) -> tuple[int, int] | None:
    """Return a number of a loop as the 16 bytes that C reads; None where the dtype does not hold it."""
    memory = np.zeros(2, np.int64)
    if dtype.kind in "biu":
        if not isinstance(number, int) or (dtype.kind == "b" and not isinstance(number, bool)):
            return None
        least, most = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        if not least <= number <= most:
            return None
        memory[0] = number - (1 << 64) * (number >= 1 << 63)
    elif isinstance(number, complex):
        if dtype.kind != "c":
            return None
        memory.view(np.float64)[:] = number.real, number.imag
    else:
        memory.view(np.float64)[0] = number
    return int(memory[0]), int(memory[1])


def _attribute(value: Any, argument: NativeArgument, dtype: np.dtype[Any]) -> Any:
    """Return an argument that is no array as an array; None for what is missing, and for an empty list."""
    if value is None or (argument.is_list and not len(value)):
        return None
    if argument.is_list:
        return value.view(np.uint8) if value.dtype == np.bool_ else value
    if argument.sort == "scalar":
        held = np.zeros(16, np.uint8)
        held[: dtype.itemsize] = np.array([value], dtype).view(np.uint8)
        return held.view(np.int64)
    if argument.sort == "text":
        return np.frombuffer(value.encode() + b"\0", np.uint8)
    return np.array([value], {"float": np.float64, "int": np.int64, "bool": np.uint8}[argument.sort])
