"""Kernels of rows as text, for errors: `np.sum(x)`, `kernels.clip(np, x, limit)`, or a schema file's expression."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Sequence
from types import FunctionType, MethodDescriptorType

from opwright_core.dispatch.package.kernel_rows import Row

__all__ = ["is_expression", "returned_text", "row_text"]

_EXPRESSION = "_of_arrays"  # what the generated function of an expression is called, behind the row


def is_expression(row: Row) -> bool:
    """Whether the kernel is an expression of a schema file, not a function that somebody wrote for the operator."""
    function = row.function
    of_numpy = (getattr(function, "__module__", None) or "").partition(".")[0] in ("numpy", "cupy")
    return not isinstance(function, FunctionType) or of_numpy or function.__name__.endswith(_EXPRESSION)


def row_text(row: Row, names: Sequence[str], index: int | None = None) -> str:
    """Return the call of the kernel with arguments of these names, or the expression, that of one result if it has
    several."""
    function = row.function
    xp = "np" if row.key == "CPU" else "cp"
    given = ", ".join(xp if position < 0 else names[position] for position in row.positions)
    if not is_expression(row):
        return f"{function.__module__.rpartition('.')[2]}.{function.__name__}({given})"
    if isinstance(function, FunctionType) and function.__name__.endswith(_EXPRESSION):
        return returned_text(function, index)
    if isinstance(function, MethodDescriptorType):
        return f"{given}.{function.__name__}()"
    return f"{xp}.{function.__name__}({given})"


def returned_text(function: FunctionType, index: int | None = None) -> str:
    """Return what a function of one statement returns."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError, TypeError):
        return ""
    found = next((node.value for node in ast.walk(tree) if isinstance(node, ast.Return)), None)
    if isinstance(found, ast.Tuple) and index is not None and index < len(found.elts):
        found = found.elts[index]
    return "" if found is None else ast.unparse(found)
