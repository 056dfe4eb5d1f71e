"""The command `rules`: what the rules of `meta:` formulas take and give, from their annotations and docstrings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from opwright_codegen.declared.parts import KernelFunction, KernelModules
from opwright_codegen.errors import SchemaError, nearest

__all__ = ["show_rules"]

_HEAD = """# The rules of `meta:`

Every rule that a `meta:` formula may call.
`opwright rules NAME` shows one of them, those of a project's own modules too.
This page is printed by `opwright rules --markdown`. The page of schema files describes how formulas call rules.
`register_meta` gives a rule to an operator that is defined at run time.
"""


def show_rules(rules: KernelModules, name: str | None, markdown: bool, out: TextIO) -> int:
    """Print one rule, or all of them. Raises SchemaError for a name that no rule has."""
    known = sorted(rules.public)
    if name is None:
        found = [_found(rules, each) for each in known]
    elif name in known:
        found = [_found(rules, name)]
    else:
        near = nearest(name, known)
        hint = f"did you mean {near!r}?" if near else "opwright rules lists them all"
        raise SchemaError("unknown-rule", f"no rule is called {name!r}", hint=hint)
    if markdown:
        print(_HEAD, file=out, end="")
    for function in found:
        out.writelines(f"{line}\n" for line in (_section(function) if markdown else _entry(function)))
    return 0


def _found(rules: KernelModules, name: str) -> KernelFunction:
    function = rules.find(name)
    assert function is not None  # these are names of functions
    return function


def _entry(function: KernelFunction) -> Sequence[str]:
    doc = [f"    {line}".rstrip() for line in function.doc.split("\n")] if function.doc else []
    return [_signature(function), *doc, f"    ({function.module})", ""]


def _section(function: KernelFunction) -> Sequence[str]:
    return [
        "",
        f"## {function.name}",
        "",
        "```python",
        _signature(function),
        "```",
        *(["", function.doc] if function.doc else []),
    ]


def _signature(function: KernelFunction) -> str:
    parts = [_parameter(p.name, p.annotation, p.is_required) for p in function.positional]
    keywords = [_parameter(p.name, p.annotation, p.is_required) for p in function.signature if p.is_keyword]
    if function.vararg is not None:
        parts.append(f"*{function.vararg}")
    elif keywords:
        parts.append("*")
    text = f"{function.name}({', '.join([*parts, *keywords])})"
    return f"{text} -> {function.returns}" if function.returns else text


def _parameter(name: str, annotation: str, is_required: bool) -> str:
    text = f"{name}: {annotation}" if annotation and annotation != "Any" else name
    return text if is_required else f"{text} = …"
