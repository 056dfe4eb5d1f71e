"""Names that `torch.utils.data` finds beside its own files: errors of other processes, names of `multiprocessing`."""

from __future__ import annotations

import multiprocessing
import os
import sys
import traceback
from typing import Any, NoReturn

from opwright.torch_names.absent import Nothing, ignored

__all__ = ["DATAPIPES", "MULTIPROCESSING", "SETTINGS", "SIGNALS", "ExceptionWrapper", "cpu_count"]


class ExceptionWrapper:
    """An exception of another process or thread with its traceback as text, to be raised here."""

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        kind, error, trace = sys.exc_info() if exc_info is None else exc_info
        self.exc_type: Any = kind
        self.exc_msg = "".join(traceback.format_exception(kind, error, trace))
        self.where = where

    def reraise(self) -> NoReturn:
        """Raise the exception again; a RuntimeError with its text, where it is made of more than a text."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        try:
            error = self.exc_type(message)
        except Exception:
            raise RuntimeError(message) from None
        raise error


def cpu_count() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# Signals that end a process that loads data end the program as they do any; nothing waits for them here.
SIGNALS = dict.fromkeys(
    ("_error_if_any_worker_fails", "_remove_worker_pids", "_set_worker_pids", "_set_worker_signal_handlers"), ignored
)
MULTIPROCESSING = {
    **{name: getattr(multiprocessing, name) for name in multiprocessing.__all__},
    "_set_thread_name": ignored,
    "set_sharing_strategy": ignored,
}
SETTINGS = dict.fromkeys(("apply_random_seed", "apply_sharding", "apply_shuffle_settings"), ignored)
# Datapipes are gone from PyTorch's documentation; a data set is none.
DATAPIPES = dict.fromkeys(
    ("IterDataPipe", "MapDataPipe", "_IterDataPipeSerializationWrapper", "_MapDataPipeSerializationWrapper"), Nothing
)
