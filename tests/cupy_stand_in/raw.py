"""`cupy.RawModule` of the stand-in: kernels compiled as C++ for the CPU, so that their values are really computed.

Blocks and threads are loops (threads where a kernel waits for others). Arguments are passed as CuPy packs them, and
refused where a kernel declares another type: on a GPU they would be read as something else.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import cupy
import numpy as np

HEADER = Path(__file__).with_name("cuda_on_cpu.h")
COMPILER = shutil.which("c++") or shutil.which("g++")
# What a block and a device have; those of no device in particular.
ATTRIBUTES = {"MaxThreadsPerBlock": 1024, "MaxGridDimX": 2**31 - 1, "MaxSharedMemoryPerBlock": 48 << 10,
              "MaxSharedMemoryPerBlockOptin": 99 << 10}  # fmt: skip
_KERNEL = re.compile(r"__global__\s+void\s+(\w+)\s*\(")
_DYNAMIC = re.compile(r"extern\s+__shared__\s+([\w ]+?)\s*(\w+)\s*\[\s*\]\s*;")
_WORDS = {"c": "s", "u": "i", "b": "i"}  # by kind of dtype, what C++ has for it


class DriverError(cupy.cuda.driver.CUDADriverError):  # type: ignore[misc]
    """What the driver says, where there is none."""

    def __init__(self, message: str) -> None:
        RuntimeError.__init__(self, message)


class _Argument(ctypes.Structure):
    _fields_ = (("at", ctypes.c_void_p), ("size", ctypes.c_int64), ("kind", ctypes.c_char))


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="cuda_on_cpu"))


@cache
def compiled(code: str, options: tuple[str, ...]) -> tuple[ctypes.CDLL, frozenset[str]]:
    """The library of a source, and the names of its kernels. Raises CompileException with the compiler's words."""
    if COMPILER is None:
        raise RuntimeError("there is no C++ compiler")
    names = frozenset(_declared(code))
    waits = "true" if "__syncthreads" in code else "false"
    body = _DYNAMIC.sub(r"\1 *const \2 = (\1 *)on_cpu_shared.data();", code)
    runs = "".join(
        f'extern "C" const char *run_{name}(const on_cpu_argument *given, int count, unsigned grid, unsigned block,'
        f" int64_t shared) {{ return on_cpu_launch({name}, given, count, grid, block, shared, {waits}); }}\n"
        for name in sorted(names)
    )
    stem = hashlib.sha256(repr((code, options)).encode()).hexdigest()[:16]
    source, target = _folder() / f"{stem}.cpp", _folder() / f"{stem}.so"
    source.write_text(f'#include "{HEADER}"\n#line 1 "{stem}.cu"\n{body}\n{runs}', encoding="utf-8")
    defines = [option for option in options if option.startswith("-D")]
    if "--fmad=false" in options:
        defines.append("-ffp-contract=off")
    command = [COMPILER, "-std=c++20", "-O1", "-shared", "-fPIC", "-pthread", *defines, str(source), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise cupy.cuda.compiler.CompileException(done.stderr, code, f"{stem}.cu", options, "nvrtc")
    return ctypes.CDLL(str(target)), names


def _declared(code: str) -> list[str]:
    """The kernels that a source defines, macros aside which make them: their names are those of prototypes."""
    plain = re.sub(r"//[^\n]*|/\*.*?\*/", " ", code, flags=re.DOTALL)
    macros = re.findall(r"#define\s+(\w+)\((\w+)[^)]*\)((?:[^\n]*\\\n)*[^\n]*)", plain)
    calls = [(macro, parameter) for macro, parameter, body in macros if "__global__" in body]
    made = [name for macro, _ in calls for name in re.findall(rf"^{macro}\((\w+)", plain, re.MULTILINE)]
    parameters = {parameter for _, parameter in calls}
    return [name for name in (*_KERNEL.findall(plain), *made) if name not in parameters]


class RawModule:
    """`cupy.RawModule`, of source text."""

    def __init__(self, *, code: str, options: tuple[str, ...] = ()) -> None:
        if not isinstance(options, tuple):
            raise TypeError(f"Argument 'options' has incorrect type (expected tuple, got {type(options).__name__})")
        self.code, self.options = code, options

    def get_function(self, name: str) -> Function:
        """A kernel. CUDADriverError for a name that the source does not have."""
        library, names = compiled(self.code, self.options)
        if name not in names:
            raise DriverError("CUDA_ERROR_NOT_FOUND: named symbol not found")
        return Function(getattr(library, f"run_{name}"))


class Function:
    """A kernel, called as CuPy's are."""

    def __init__(self, run: Any) -> None:
        self._run = run
        run.restype = ctypes.c_char_p
        run.argtypes = (ctypes.POINTER(_Argument), ctypes.c_int, ctypes.c_uint, ctypes.c_uint, ctypes.c_int64)
        self.max_threads_per_block = ATTRIBUTES["MaxThreadsPerBlock"]
        self.max_dynamic_shared_size_bytes = ATTRIBUTES["MaxSharedMemoryPerBlock"]

    def __call__(self, grid: tuple[int, ...], block: tuple[int, ...], args: Any, *, shared_mem: int = 0) -> None:
        if shared_mem > self.max_dynamic_shared_size_bytes or block[0] > self.max_threads_per_block or not grid[0]:
            raise DriverError("CUDA_ERROR_INVALID_VALUE: invalid argument")
        packed = [_packed(value) for value in args]
        given = (_Argument * len(packed))(*(_Argument(p.ctypes.data, p.nbytes, kind) for p, kind in packed))
        if problem := self._run(given, len(packed), grid[0], block[0], shared_mem):
            raise AssertionError(problem.decode())


def _packed(value: Any) -> tuple[Any, bytes]:
    """The bytes of an argument, as CuPy packs it, and what they are. TypeError for what it does not take."""
    if isinstance(value, cupy.ndarray):
        return np.array(value.data.ptr, np.int64), b"p"
    if isinstance(value, np.ndarray):
        if value.size != 1:
            raise TypeError(f"You are trying to pass a numpy.ndarray of shape {value.shape} as a kernel parameter")
        if value.dtype.names == ("pointer",):
            return value, b"p"
        return value, b"s" if value.dtype.names else _WORDS.get(value.dtype.kind, value.dtype.kind).encode()
    if isinstance(value, np.generic):
        return np.array(value), _WORDS.get(value.dtype.kind, value.dtype.kind).encode()
    raise TypeError(f"Unsupported type {type(value)}")
