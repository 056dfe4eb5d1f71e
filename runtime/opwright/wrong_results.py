"""The error for a kernel's result that is not what `meta` declares: which operator, which kernel, in which file."""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Iterator
from types import FrameType

from opwright.registrations import Lazy, kernels

__all__ = ["wrong_result"]

# What generated shims give a kernel's answer to, and which argument it is.
_TAKERS = {"new_result": 1, "store": 0}


def wrong_result(found: str, declared: str) -> RuntimeError:
    """The error for what a kernel gave: `found`, where `declared` is what its plan says. Looks at the frames of the
    call for the kernel that is served: there is no time for it before there is an error."""
    problem = f"the kernel's result has {found}, but {declared} is declared"
    for frame in _frames():
        names = _operator_of(frame)
        if names is not None:
            operator, where = names
            return RuntimeError(f"{operator}: {problem} by its 'meta'{_at(where)}\nThe kernel: {_expression(frame)}")
    return RuntimeError(problem)


def _frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _operator_of(frame: FrameType) -> tuple[str, str] | None:
    """The operator whose generated kernel runs in a frame, and where it is declared."""
    module, function = frame.f_globals.get("__name__", ""), frame.f_code.co_name
    if module.startswith("opwright."):
        return None
    for name, by_key in kernels.items():
        for registration in (each for found in by_key.values() for each in found):
            kernel = registration.kernel
            if isinstance(kernel, Lazy) and kernel.module == module and kernel.general == function:
                return name, registration.where
    return None


def _expression(frame: FrameType) -> str:
    """What computes the answer that the frame is about to give away, and where that is written."""
    code = frame.f_code
    first, last, *_ = list(code.co_positions())[frame.f_lasti // 2]
    place = f"{code.co_filename}:{first or frame.f_lineno}"
    lines = linecache.getlines(code.co_filename)[(first or 1) - 1 : last]
    try:
        statement = ast.parse("".join(lines).strip())
    except SyntaxError:
        return f"in {place}"
    for node in ast.walk(statement):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if name in _TAKERS and len(node.args) == 2:
                return f"{ast.unparse(node.args[_TAKERS[name]])}, in {place}"
    return f"in {place}"


def _at(where: str) -> str:
    return f" ({where})" if where else ""
