"""Refusals: whether what a call raises tells its caller what is demanded."""

from __future__ import annotations

import dis
import re
from types import TracebackType
from typing import Final

import numpy as np

__all__ = ["cause_of", "says_what_is_demanded"]

_DEMANDS: Final = re.compile(
    r"\b(must|should|expect\w*|require\w*|needs?|only|unsupported|not support\w*|cannot|can't|could not convert"
    r"|at least|at most|invalid|not allowed|non-?empty|has to|have to|not implemented|not defined|not writable"
    r"|read-only|dtype|out of range|out of bounds|is not|do(es)? not|got|no kernel|no gradient|mismatch|want\w*"
    r"|takes|matching|same)\b",
    re.IGNORECASE,
)
# What PyTorch's checks of arguments never say.
_TORCHS_SLIPS: Final = (
    "INTERNAL ASSERT", "view size is not compatible", "must be contiguous", "of a 0-d tensor", "over a 0-d tensor",
)  # fmt: skip
# What its convolutions and pools say of sizes, whoever called them.
_TORCHS_SIZES: Final = re.compile(r"^Given groups=|^Calculated padded input size")
# Errors of Python itself that say what went wrong in a kernel, and not what it demands.
_SLIPS: Final = (
    AttributeError, AssertionError, KeyError, NameError, ZeroDivisionError, RecursionError, StopIteration,
)  # fmt: skip


def says_what_is_demanded(error: Exception, names: tuple[str, ...] = ()) -> bool:
    """Whether an error is a refusal: somebody raised it on purpose, and its message says what would be right, or names
    an argument. An axis that is none is named by NumPy."""
    if isinstance(error, np.exceptions.AxisError | NotImplementedError | MemoryError):
        return True
    text = str(error)
    if "Opwright has no tensors" in text:  # of PyTorch's, which the adapter cannot give
        return True
    if _TORCHS_SIZES.search(text):
        return True
    if _is_torchs(error.__traceback__):
        return not any(each in text for each in _TORCHS_SLIPS)
    if isinstance(error, _SLIPS) and not (isinstance(error, AssertionError) and _DEMANDS.search(text)):
        return False
    if not _is_raised(error.__traceback__):
        return False
    return bool(_DEMANDS.search(text)) or any(re.search(rf"\b{name}\b", text) for name in names if len(name) > 1)


def _is_torchs(trace: TracebackType | None) -> bool:
    """Whether an error comes out of PyTorch's own code, which checks arguments."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and "/torch/" in trace.tb_frame.f_code.co_filename.replace(
        "/opwright_bindings/torch/", "/"
    )


def _is_raised(trace: TracebackType | None) -> bool:
    """Whether the innermost frame of Python raised the error itself: what it called did not. Compiled code of ours has
    no frame: the frame that called it is the caller."""
    last = trace
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return True
    code = last.tb_frame.f_code
    name = dis.opname[code.co_code[last.tb_lasti]]
    return name in ("RAISE_VARARGS", "RERAISE") or "/opwright" in code.co_filename


_CHECKERS: Final = re.compile(r"/opwright\w*/|/torch/_library/|/torch/_ops")
# What our own checks of a call say, by the cause that it is.
_OURS: Final = (
    (r"result \d+ shares memory with result|results? .*share memory", "outputs-share-memory"),
    (
        r"may not alias|returned .*(an argument|input|shares memory|alias)|shares? memory with|is argument",
        "undeclared-alias",
    ),
    (r"must return|returned None|returns? \d+ values", "wrong-result"),
)


def cause_of(error: Exception) -> str | None:
    """Return the cause that an error of the runtime's own checks of a call names, None for any other."""
    text = str(error)
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or not _CHECKERS.search(trace.tb_frame.f_code.co_filename):
        return None
    return next((cause for pattern, cause in _OURS if re.search(pattern, text)), None)
