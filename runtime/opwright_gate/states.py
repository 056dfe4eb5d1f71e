"""Snapshots of what a process has besides arrays: seeds, settings, files, threads, and the functions that judge."""

from __future__ import annotations

import contextlib
import gc
import locale
import os
import random
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Final

import numpy as np

from opwright_core.arrays.devices import as_device
from opwright_core.random_state.generator import generator_of

__all__ = ["CAUSES", "Snapshot", "patched_at_import", "remember_judges", "unusual"]

_JUDGES: Final = (
    "time", "numpy", "numpy.testing", "builtins", "math", "operator", "hashlib", "torch", "torch.testing",
)  # fmt: skip
_OURS: Final = "opwright.testing", "opwright_gate"


class Snapshot:
    """The state of the process at one time. What is lazily loaded counts as no change."""

    def __init__(self, *, with_generators: bool = True, with_seeds: bool = True, with_judges: bool = True) -> None:
        self._facts: dict[str, Any] = {
            name: take() for name, take in _FACTS.items() if with_seeds or not ("random" in name or name == "warnings")
        }
        if with_generators:
            self._facts["the random state of Opwright"] = _hashed(generator_of(as_device("cpu")).get_state())
        self._judges = _judges() if with_judges else {}

    def changed(self) -> str | None:
        """Return what is another now, as a key of CAUSES, None if nothing is."""
        for name, before in self._facts.items():
            if name == "the random state of Opwright":
                now = _hashed(generator_of(as_device("cpu")).get_state())
            else:
                now = _FACTS[name]()
            is_loaded_now = before is None  # (a module that the call imported has settings; it had none to change)
            if now != before and not is_loaded_now and not (name in _GROWING and now <= before):
                return name
        now_judges = _judges() if self._judges else {}
        for key, value in self._judges.items():
            if now_judges.get(key, value) != value:
                return f"{key[0]}.{key[1]}"
        return None


@contextlib.contextmanager
def unusual(number: int) -> Iterator[None]:
    """Run with seeds and settings that nobody would set, so that setting them again is seen; then put them back."""
    errors, options = np.geterr(), np.get_printoptions()
    np.random.seed(7919 + number)
    random.seed(7919 + number)
    if _torch_state() is not None:
        sys.modules["torch"].manual_seed(7919 + number)
    np.seterr(divide="ignore", over="warn", under="warn", invalid="ignore")
    np.set_printoptions(precision=11, threshold=77, suppress=True)
    try:
        yield
    finally:
        np.seterr(**errors)
        np.set_printoptions(**options)


def _hashed(value: Any) -> int:
    return hash(np.asarray(value).tobytes())


def _files() -> int:
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:
        return 0


def _handlers() -> tuple[Any, ...]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGSEGV, signal.SIGALRM, signal.SIGUSR1, signal.SIGCHLD)
    return (*map(signal.getsignal, numbers), signal.getitimer(signal.ITIMER_REAL)[0] > 0)


def _torch_state() -> Any:
    torch: Any = sys.modules.get("torch")
    generator = getattr(torch, "default_generator", None)
    return None if generator is None else hash(generator.get_state().numpy().tobytes())


def _torch_settings() -> Any:
    torch: Any = sys.modules.get("torch")
    if not hasattr(torch, "get_default_dtype"):
        return None
    deterministic = torch.are_deterministic_algorithms_enabled()
    return torch.get_default_dtype(), torch.get_num_threads(), torch.is_grad_enabled(), deterministic


def _numpy_state() -> Any:
    state: Any = np.random.get_state(legacy=True)
    return _hashed(state[1]), state[2:]


_FACTS: Final[dict[str, Callable[[], Any]]] = {
    "NumPy's random state": _numpy_state,
    "PyTorch's random state": _torch_state,
    "PyTorch's settings": _torch_settings,
    "Python's random state": lambda: hash(random.getstate()),
    "NumPy's error state": lambda: (np.geterr(), np.geterrcall()),
    "NumPy's print options": lambda: repr(np.get_printoptions()),
    "the environment": lambda: hash(frozenset(os.environ.items())),
    "the working directory": os.getcwd,
    "signal handlers": _handlers,
    "threads": threading.active_count,
    "open files": _files,
    "sys.path": lambda: tuple(sys.path),
    "hooks of sys": lambda: (sys.gettrace(), sys.getprofile(), sys.excepthook, sys.displayhook),
    "warnings": lambda: (len(warnings.filters), warnings.showwarning),
    "the recursion limit": sys.getrecursionlimit,
    "the switch interval": sys.getswitchinterval,
    "garbage collection": lambda: (gc.isenabled(), gc.get_threshold()),
    "the locale": lambda: locale.setlocale(locale.LC_ALL),
    "standard streams": lambda: (id(sys.stdout), id(sys.stderr), id(sys.stdin)),
}
_GROWING: Final = ("threads", "open files")
CAUSES: Final = {
    "NumPy's random state": "global-seed", "Python's random state": "global-seed",
    "the random state of Opwright": "global-seed", "PyTorch's random state": "global-seed",
    "NumPy's error state": "error-state",
    "NumPy's print options": "print-options", "the environment": "environment",
    "the working directory": "working-directory", "signal handlers": "signal-handler", "threads": "thread-left",
    "open files": "file-left-open",
}  # fmt: skip


_before: list[dict[tuple[str, str], int]] = []


def remember_judges() -> None:
    """Remember the functions by which calls are judged, before modules of others are imported."""
    _before[:] = [_judges()]


def patched_at_import() -> list[str]:
    """Return which of them are others now."""
    now = _judges()
    return [f"{key[0]}.{key[1]}" for found in _before for key, value in found.items() if now.get(key, value) != value]


def _judges() -> dict[tuple[str, str], int]:
    """Return the functions by which calls are timed and judged, by identity."""
    found: dict[tuple[str, str], int] = {}
    names = [*_JUDGES, *(name for name in sys.modules if name.startswith(_OURS))]
    for name in names:
        module = sys.modules.get(name)
        if isinstance(module, ModuleType):
            found |= {(name, key): id(value) for key, value in list(vars(module).items()) if callable(value)}
    return found
