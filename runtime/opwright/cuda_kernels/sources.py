"""CUDA source in generated packages, which CuPy compiles when a kernel of it is first called."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opwright.cuda_kernels.launches import LaunchRule, Limits

__all__ = ["CudaSource"]


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
