"""Errors about a function's parameters that show where they stand."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from itertools import accumulate
from typing import Any

from opwright.errors import SchemaInferenceError
from opwright.inspection import schema as _schema

__all__ = ["inference_error"]

_Place = tuple[str, str, int, int]  # a path, the text of it, and where in it


def inference_error(
    function: Callable[..., Any], name: str, code: str, message: str, hint: str
) -> SchemaInferenceError:
    """Return the error for a parameter, for `return`, or for the function as a whole (no name)."""
    function = inspect.unwrap(function)
    signature = f"{function.__name__}{inspect.signature(function)}"
    place = _in_source(function, name) or _in_signature(signature, name)
    message = f"cannot infer the schema of {function.__name__}: {message}"
    return SchemaInferenceError(
        _schema.located(code, message, *place, hint=hint) + f"\nthe function's signature: {signature}"
    )


def _in_source(function: Callable[..., Any], name: str) -> _Place | None:
    """Return where the parameter stands in the file; None where no file can be read, or it has changed since."""
    try:
        path = inspect.getsourcefile(function) or "<unknown>"
        lines, _ = inspect.findsource(function)
        text = "".join(lines)
        tree = ast.parse(text)
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    definition = _definition_at(tree, function.__code__.co_firstlineno)
    if definition is None:
        return None
    begins = [0, *accumulate(map(len, lines))]

    def offset(line: int, column: int) -> int:  # columns of `ast` count bytes
        return begins[line - 1] + len(lines[line - 1].encode()[:column].decode())

    node = _part(definition, name)
    start = offset(node.lineno, node.col_offset)
    if node is definition or node.end_lineno is None or node.end_col_offset is None:
        return path, text, start, start + len(text[start:].partition("(")[0].partition(":")[0])
    return path, text, start, offset(node.end_lineno, node.end_col_offset)


_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def _definition_at(tree: ast.AST, line: int) -> _Definition | None:
    """Return the function whose code begins at a line: with its first decorator, if it has any."""
    for node in ast.walk(tree):
        if isinstance(node, _Definition):
            decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
            if min((decorator.lineno for decorator in decorators), default=node.lineno) == line:
                return node
    return None


def _part(definition: _Definition, name: str) -> ast.expr | ast.arg | _Definition:
    """Return the parameter of that name, or the annotation of what is returned; the definition where there is none."""
    if name == "return":
        return getattr(definition, "returns", None) or definition
    listed = definition.args
    every = (*listed.posonlyargs, *listed.args, *listed.kwonlyargs, listed.vararg, listed.kwarg)
    return next((found for found in every if found is not None and found.arg == name), definition)


def _in_signature(signature: str, name: str) -> _Place:
    """Return where the parameter stands in the signature as Python shows it, for functions of no file."""
    if name == "return" and "->" in signature:
        start = signature.rindex("->") + len("-> ")
        return "<function>", signature, start, len(signature)
    found = re.search(rf"(?<=[(, *]){re.escape(name)}\b", signature) if name else None
    start, end = found.span() if found else (0, signature.index("("))
    return "<function>", signature, start, end
