"""Guard of imports against interrupts: no lock of a module stays held, and no module of ours is half executed.

Note [Interrupted imports]: the handler of a signal may raise between any two bytecodes, also in importlib, which is
written in Python. Between the call that takes a module's lock and the `with` block that releases it, nothing releases
it: the lock stays held, and the next import of that module in another thread never returns. Opwright imports its parts
when they are first used, so every first call would be such a moment. Imports of Opwright's modules, and imports by
them, therefore hold signals in the main thread (Note [Interrupts]):

- A signal that comes while importlib's own code runs waits until the import ends.
- A signal that comes while a module of Opwright or of a generated package is executed waits, too: it registers what it
  registers once.
- A signal that comes while another module is executed is handled at once, and importlib undoes that import: a program
  that hangs in a module of its own can be interrupted.

`import` statements call a function of importlib, which can be replaced only there. Other imports go on to the function
that was there before. The replacement has the file name of importlib, by which Python removes frames from tracebacks.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

from opwright_core.locks.interrupts import HeldSignals, is_main_thread

__all__ = ["guard_imports", "keep_whole"]

_importlib: Final[Any] = importlib._bootstrap
_FILE: Final[str] = _importlib._find_spec.__code__.co_filename
_MACHINERY: Final = (
    _FILE, _FILE.replace("_bootstrap", "_bootstrap_external"), HeldSignals.deliver.__code__.co_filename,
    sys._getframe().f_code.co_filename,
)  # fmt: skip
_whole: tuple[str, ...] = (
    "opwright.",
    "opwright_aten.",
    "opwright_bindings.",
    "opwright_codegen.",
    "opwright_core.",
    "opwright_gate.",
    "opwright_kernels.",
)


def keep_whole(package: str) -> None:
    """Hold signals while modules of a generated package are imported, too."""
    global _whole
    _whole = tuple({*_whole, f"{package}."})


def guard_imports() -> None:
    """Hold signals during imports of Opwright's modules and by them, from now on."""
    for name in ("_find_and_load", "_lock_unlock_module"):
        if hasattr(_importlib, name):  # private names: a Python without them imports as before
            setattr(_importlib, name, _guarded(getattr(_importlib, name)))


def _guarded(imports: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(name: str, *rest: Any) -> Any:
        if not (_is_whole(name) or _is_whole(_module_of(_importer(sys._getframe())))) or not is_main_thread():
            return imports(name, *rest)
        signals = _ImportSignals()
        try:
            return imports(name, *rest)
        finally:
            signals.deliver()

    guarded.__code__ = guarded.__code__.replace(co_filename=_FILE)
    return guarded


class _ImportSignals(HeldSignals):
    """The signals that came during an import and wait for its end."""

    __slots__ = ()

    def _note(self, number: int, frame: FrameType | None) -> None:
        importer = _importer(frame)
        if self._is_on and importer is frame and not _executes_whole_module(frame):
            self._before[number](number, frame)
        else:
            super()._note(number, importer)


def _importer(frame: FrameType | None) -> FrameType | None:
    """Return the frame that imports: the innermost one outside the import machinery."""
    while frame is not None and frame.f_code.co_filename in _MACHINERY:
        frame = frame.f_back
    return frame


def _executes_whole_module(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name == "<module>" and _is_whole(_module_of(frame)):
            return True
        frame = frame.f_back
    return False


def _module_of(frame: FrameType | None) -> str:
    return "" if frame is None else str(frame.f_globals.get("__name__"))


def _is_whole(module: str) -> bool:
    return f"{module}.".startswith(_whole)
