"""Shapes and dtypes of results, and errors, in the words of the rule that `meta:` calls: what `help` shows."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from types import FunctionType
from typing import Any, Final

from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.registry.kernel_kinds import LazyFake
from opwright_core.keys import DispatchKey
from opwright_core.texts.row_texts import returned_text

__all__ = ["result_text"]

_ALWAYS: Final = "Arguments that do not fit the declaration raise ArgumentError."
_OF_PARTS: Final = "Shapes, dtypes and further errors are those of the operators that it calls."
_SENTENCE: Final = re.compile(r".*?\.(?=\s|$)", re.DOTALL)
_RAISES: Final = re.compile(r"\bRaises\b.*?\.(?=\s|$)", re.DOTALL)


def result_text(operator: Operator) -> str:
    """Return the rule that says what results look like, in its own words, and which errors are raised."""
    found = operator.registrations.get(DispatchKey.Meta)
    kernel = found[-1].kernel if found else None
    if isinstance(kernel, LazyFake):
        return f"{_by_rule(getattr(importlib.import_module(kernel.module), kernel.general))} {_ALWAYS}".strip()
    is_composite = any(str(key).partition(".")[2].startswith("Composite") for key in operator.registrations)
    return f"{_OF_PARTS} {_ALWAYS}" if is_composite and kernel is None else _ALWAYS


def _by_rule(function: Any) -> str:
    """Return the call of the rule that a function of `metas` makes, and what the rule's docstring says."""
    text = returned_text(function) if isinstance(function, FunctionType) else ""
    try:
        called = ast.parse(text, mode="eval").body
    except SyntaxError:
        return ""
    said = _said(function, called) if isinstance(called, ast.Call) else ""
    return f"Results by `{_plain(called)}`: {said}" if said else ""


def _said(function: FunctionType, call: ast.Call) -> str:
    """Return what the docstring of a called rule says first, and which errors it raises."""
    rule: Any = None
    match call.func:
        case ast.Attribute(ast.Name(module), name):
            rule = getattr(function.__globals__.get(module), name, None)
        case ast.Name(name):
            rule = function.__globals__.get(name)
    said = " ".join((inspect.getdoc(rule) or "").split()) if rule is not None else ""
    first, raises = _SENTENCE.match(said), _RAISES.search(said)
    words = [first[0].removeprefix("Plan ") if first else "", raises[0] if raises else ""]
    return " ".join(dict.fromkeys(filter(None, words)))


def _plain(called: ast.expr) -> str:
    """Return the call of a rule without the module that has it."""
    return re.sub(r"\b\w*rules\.", "", ast.unparse(called))
