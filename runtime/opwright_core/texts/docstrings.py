"""Docstrings of operators, packets and generated functions, with the texts of generated packages."""

from __future__ import annotations

import textwrap
import weakref
from collections.abc import Iterable, Mapping
from typing import Any, Final

from opwright_core.dispatch.call.operator import Operator
from opwright_core.keys import BACKENDS, DispatchKey
from opwright_core.source_locations import shown
from opwright_core.texts.package_tables import table_of
from opwright_core.texts.result_texts import result_text

__all__ = ["described", "text_of"]

# Of each first operator: `vmap(op)` takes the docstring over, and is often made for one call.
_KEPT: Final[weakref.WeakKeyDictionary[Operator, tuple[Any, str]]] = weakref.WeakKeyDictionary()
_WIDTH = 76  # `help` indents by 4


def described(operators: Iterable[Operator], *, for_help: bool = True) -> str:
    """Return the docstring of a function that stands for operators: what each `doc:` says, once, what results look like
    and which errors there are, declarations, and what handles the first of them.

    Without `for_help` it is made before anybody looks: what results look like is left out, since that loads rules.
    """
    operators = tuple(operators)
    state = for_help, *((id(each), each.changes, each.declaration, each._doc) for each in operators)
    kept = _KEPT.get(operators[0]) if operators else None
    if kept is None or kept[0] != state:
        kept = state, _described(operators, for_help=for_help)
        if operators:
            _KEPT[operators[0]] = kept
    return kept[1]


def _described(operators: tuple[Operator, ...], *, for_help: bool) -> str:
    docs = dict.fromkeys(operator.doc for operator in operators if operator.doc)
    texts = ["\n".join(map(_filled, text.split("\n"))) for text in docs]
    declared = "\n".join([f"{operator.name}{operator.declaration}" for operator in operators])
    results = [_filled(result_text(operator)) for operator in operators[:1] if for_help]
    return "\n\n".join((*texts, *results, declared, *map(_served, operators[:1])))


def _served(operator: Operator) -> str:
    """Return what handles an operator, and where it is declared."""
    keys = [key for key in operator.registrations.copy() if isinstance(key, DispatchKey)]
    backends = sorted([key.name for key in keys if key.bit & BACKENDS])
    lines = [f"Kernels for {', '.join(backends)}"] if backends else []
    if any(key.name.startswith("Composite") for key in keys):
        lines.append("Written over other operators" if not lines else "written over other operators elsewhere")
    facts = ", ".join(lines) or "No kernel yet"
    return f"{facts}; declared at {shown(operator.where)}"


def _filled(line: str) -> str:
    """Return a line of a text as lines that a terminal shows."""
    return line if line.startswith((" ", "\t")) else textwrap.fill(line, _WIDTH, break_long_words=False)


def text_of(operator: Operator) -> str:
    """Return the text of a generated operator: its own, else that of all overloads of its name; '' where its package
    has none."""
    texts: Mapping[str, str] = table_of(operator, "docs", "DOCS")
    return texts.get(f"{operator.base}.{operator.overload or 'default'}") or texts.get(operator.base, "")
