"""Generated modules of operators, read again: what they declare, and the text about one operator. Never imported."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Declared", "declared_in", "namespace_of", "places_in", "text_about", "with_out"]

_NAMESPACE = re.compile(r'^declare = Declarations\("(\w+)"(?:, tags="[^"]*")?(?:, module=__name__)?\)$', re.MULTILINE)
_ENTRIES = re.compile(r"^_ENTRIES: .*? = (\[.*?^\])$", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\w+ = declare\.(?:function|stub)\([^\n]*\)$", re.MULTILINE)
_STATEMENT = re.compile(r"^(?:_\w+, )?(_\w+) = declare(?:\.alone)?\((?:[^\n]+\)|\n.*?\n\))$", re.MULTILINE | re.DOTALL)


class Declared(NamedTuple):
    """One declaration: the name of the Operator in the module, its schema without the namespace, and the statement."""

    operator: str
    schema: str
    statement: str


def namespace_of(text: str) -> str:
    """Return the namespace of a module's operators, '' where it declares none."""
    found = _NAMESPACE.search(text)
    return "" if found is None else found[1]


def declared_in(text: str) -> Iterator[Declared]:
    """Yield what a module declares, in its order."""
    for found in _STATEMENT.finditer(text):
        (statement,) = ast.parse(found[0]).body
        assert isinstance(statement, ast.Assign)
        assert isinstance(statement.value, ast.Call)
        schema = ast.literal_eval(statement.value.args[0])
        yield Declared(found[1], schema, found[0])
        for keyword in statement.value.keywords:
            if keyword.arg == "out":
                yield Declared("", with_out(schema, ast.literal_eval(keyword.value)), found[0])


def places_in(text: str) -> dict[str, str]:
    """Return where operators are declared, by their names without the namespace, as the rows of `where.py` say it."""
    entries = _ENTRIES.search(text)
    found = {}
    file, line = "", 1
    for first, *rest in [] if entries is None else ast.literal_eval(entries[1]):
        if isinstance(first, str):
            file, line = first, 1 + rest[0]
        else:
            found.update(dict.fromkeys(rest, f"{file}:{line}"))
            line += first
    return found


def with_out(schema: str, overload: str) -> str:
    """Return the schema of the out variant that `declare(schema, out=overload)` declares besides."""
    name, _, rest = schema.partition("(")
    arguments = rest.rpartition(") -> ")[0]
    mark = "" if ", *, " in f", {arguments}" else "*, "
    between = ", " if arguments else ""
    return f"{name.partition('.')[0]}.{overload}({arguments}{between}{mark}Tensor(a!) out) -> Tensor(a!)"


def text_about(text: str, schema: str) -> Iterator[list[str]]:
    """Yield the lines that declare an operator, and those of its stub, where it has one."""
    for declared in declared_in(text):
        if declared.schema == schema:
            yield declared.statement.splitlines()
            yield from ([row] for row in _ROW.findall(text) if declared.operator in re.findall(r"\w+", row))
            for block in text.split("\n\n\n"):
                decorator = block.partition("\ndef ")[0] if block.startswith("@") else ""
                if declared.operator in re.findall(r"\w+", decorator):
                    yield block.rstrip().splitlines()
