"""Target `versions.py`: former versions of operators, and what is deprecated. It is data, imported when a graph is read
or written, and where a deprecated operator is called."""

from __future__ import annotations

from collections.abc import Sequence

from opwright_codegen.declared.parts import OldForm
from opwright_codegen.formula.ast import Formula, Name, Tuple, rewrite
from opwright_codegen.formula.emit import emit, safe_name
from opwright_codegen.records import dataclass
from opwright_codegen.views.layout import bracketed, fill_comment, hugged, quoted
from opwright_codegen.views.names import Namer
from opwright_codegen.views.operators import NamespaceView, OperatorView

__all__ = ["FILE", "TEMPLATE", "context"]

FILE = "versions.py"
TEMPLATE = "versions.py.j2"
_RESERVED = ("Any", "DEPRECATED", "FORMER", "annotations", "math")


@dataclass(frozen=True, slots=True)
class Former:
    """The function that writes a call of a former version as one of the present: a comment, `def`, and its result."""

    comment: str
    signature: str
    result: str


def context(view: NamespaceView) -> dict[str, object] | None:
    """Return what the template shows; None where nothing has a former version or is deprecated."""
    namer = Namer(_RESERVED)
    functions, rows, deprecated = [], [], []
    for operator in view.operators.values():
        short = operator.name.partition("::")[2]
        if operator.operator.deprecated is not None:
            deprecated.append(f"{quoted(short)}: {quoted(str(operator.operator.deprecated))},")
        names = [namer.claim(f"{operator.stub}_{form.version}") for form in operator.operator.old_forms]
        forms = operator.operator.old_forms
        functions += [_function(form, name) for form, name in zip(forms, names, strict=True)]
        if forms:
            rows.append(_row(short, operator, names))
    return {"functions": functions, "rows": rows, "deprecated": deprecated} if rows or deprecated else None


def _function(form: OldForm, name: str) -> Former:
    parameters = [f"{safe_name(argument.name)}: Any" for argument in form.schema.arguments]
    result = "tuple[tuple[Any, ...], dict[str, Any]]"
    positional = emit(Tuple(tuple(map(_named, form.positional))))
    keywords = ", ".join(f"{quoted(key)}: {emit(_named(value))}" for key, value in form.keywords)
    return Former(
        fill_comment(_text(form)),
        hugged(f"def {name}(", parameters, f") -> {result}:", 0),
        hugged("return (", [positional, f"{{{keywords}}}"], ")", 4),
    )


def _named(value: Formula) -> Formula:
    """Return a formula over parameters: those with a word of Python as their name have an underscore more."""
    return rewrite(value, lambda part: Name(safe_name(part.name)) if isinstance(part, Name) else None)


def _row(short: str, operator: OperatorView, names: Sequence[str]) -> str:
    items = [
        f"({quoted(_declaration(form))}, {name})" for form, name in zip(operator.operator.old_forms, names, strict=True)
    ]
    return bracketed(f"{quoted(short)}: [", items, "],", 4)


def _declaration(form: OldForm) -> str:
    """Return the schema of a version without the operator's name, as the runtime reads it."""
    return "(" + _text(form).partition("(")[2]


def _text(form: OldForm) -> str:
    return str(form.schema).partition("::")[2] or str(form.schema)
