"""The JSON form of a declared set: plain data, the same on every machine. `declared.schema.json` describes it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from opwright_codegen.declared.kernel_records import kernel_record
from opwright_codegen.declared.model import DeclaredSet
from opwright_codegen.derivatives.derivative import Derivative, Differentiability, ForwardDerivative, Saved
from opwright_codegen.formula.emit import emit
from opwright_codegen.kernel_choices.bind import Binding
from opwright_codegen.kernel_choices.family_calls import At, Family, Value
from opwright_codegen.read.model import Operator, PythonFunction
from opwright_codegen.schema.model import Argument, Return
from opwright_codegen.schema.types import Annotation
from opwright_codegen.source import Span, Text

__all__ = ["FORMAT", "document", "document_text"]

FORMAT: Final = 1  # grows if a reader of the number before would misread the document

_Record = dict[str, Any]


def document(declared: DeclaredSet) -> _Record:
    """Return the declared set as plain data: dictionaries, lists, texts, numbers, booleans and None."""
    from opwright_codegen import VERSION

    making = _Making(declared)
    return {
        "format": FORMAT,
        "generator": f"opwright {VERSION}",
        "namespace": declared.namespace,
        "package": declared.package,
        "sources": list(declared.sources.values()),
        "uses": [used.name for used in declared.view.used.values()],
        "operators": [making.operator(view.operator) for view in declared.view.operators.values()],
    }


def document_text(declared: DeclaredSet, indent: int | None = None) -> str:
    """Return the JSON text of a declared set: UTF-8, keys in a fixed order."""
    separators = (",", ":") if indent is None else (",", ": ")
    return json.dumps(document(declared), indent=indent, separators=separators, allow_nan=False) + "\n"


class _Making:
    """The records of one declared set."""

    def __init__(self, declared: DeclaredSet) -> None:
        self._declared = declared
        self._groups = {member.name: group for group in declared.operators.groups for member in group.members}
        self._bindings: dict[str, list[Binding]] = {}
        for binding in declared.bindings:
            self._bindings.setdefault(binding.view.name, []).append(binding)

    def operator(self, operator: Operator) -> _Record:
        """Return everything that is declared about one operator."""
        name, schema = operator.schema.name, operator.schema
        short = operator.name.removeprefix(f"{operator.namespace}::")
        group = self._groups.get(operator.name)
        return {
            "name": operator.name,
            "base": name.base,
            "overload": name.overload,
            "schema": str(schema),
            "kind": operator.kind.value,
            "is_view": schema.is_view,
            "arguments": [_argument(each) for each in schema.arguments],
            "takes_more": schema.is_vararg,
            "returns": [_return(each) for each in schema.returns],
            "returns_more": schema.is_varret,
            "variants": list(operator.variants),
            "group": [each.name for each in group.members if each is not operator] if group is not None else [],
            "is_made": operator.generated,
            "served_by": operator.base_name,
            "location": self._place(operator.location),
            "doc": operator.doc,
            "tags": sorted(operator.tags),
            "python_module": operator.python_module,
            "functions": [_function(each) for each in operator.functions],
            "autocast": dict(operator.autocast),
            "structured": operator.structured,
            "delegates_to": operator.structured_delegate,
            **self._history(operator),
            "meta": self._text(operator.meta),
            "expression": None if operator.expression is None else self._text(operator.expression.text),
            "convention": operator.convention,
            "dtypes": None if operator.dtypes is None else list(operator.dtypes),
            "kernels": [kernel_record(each, self._place) for each in self._bindings.get(operator.name, ())],
            "derivatives": self._derivatives(operator),
            "dimensions": {
                "dims": None if operator.dims is None else self._text(operator.dims.text),
                "rule": _family(self._declared.cuts.rows.get(operator.name)),
            },
            "cost": self._declared.costs.get(short),
            "reference": self._declared.references.get(short),
        }

    def _history(self, operator: Operator) -> _Record:
        """Return what is declared about releases and versions."""
        gone = operator.deprecated
        return {
            "since": operator.since or None,
            "deprecated": None if gone is None else {"since": gone.since, "use": gone.use, "message": gone.message},
            "version": operator.version,
            "old_schemas": [{"version": each.version, "schema": str(each.schema)} for each in operator.old_forms],
        }

    def _derivatives(self, operator: Operator) -> list[_Record]:
        """Return the derivatives of an operator, by autograd key."""
        derivatives = self._declared.derivatives
        found = derivatives.entries.get(operator.name, {}) if derivatives is not None else {}
        return [self._differentiability(key, each) for key, each in found.items()]

    def _differentiability(self, key: str, entry: Differentiability) -> _Record:
        return {
            "key": key,
            "location": self._place(entry.location),
            "gradients": [self._gradient(each) for each in entry.derivatives],
            "tangents": [self._tangent(each) for each in entry.forward],
            "non_differentiable": list(entry.non_differentiable),
            "differentiable_outputs": list(entry.differentiable_outputs),
        }

    def _gradient(self, each: Derivative) -> _Record:
        return {
            "inputs": list(each.inputs),
            "formula": each.text.text,
            "saved_inputs": [_saved(saved) for saved in each.saved_inputs],
            "saved_outputs": [_saved(saved) for saved in each.saved_outputs],
            "not_implemented": each.reason,
            "location": self._place(each.text.span),
        }

    def _tangent(self, each: ForwardDerivative) -> _Record:
        return {
            "outputs": list(each.outputs),
            "formula": each.text.text,
            "kind": each.kind.value,
            "location": self._place(each.text.span),
        }

    def _text(self, text: Text | None) -> _Record | None:
        """Return a text and its location."""
        return None if text is None else {"text": text.text, "location": self._place(text.span)}

    def _place(self, span: Span) -> _Record:
        """Return file, line and column of a span."""
        path = span.source.path
        line, column = span.source.place(span.start)
        return {"file": self._declared.sources.get(path, path), "line": line, "column": column}


def _saved(saved: Saved) -> _Record:
    """Return a value that a formula needs again: an argument or result whole, or one fact about it."""
    fact = saved.fact
    return {"of": saved.of, "fact": fact if fact is None or isinstance(fact, str) else emit(fact)}


def _argument(argument: Argument) -> _Record:
    return {
        "name": argument.name,
        "type": str(argument.type),
        "base_type": str(argument.type.base()),
        "is_optional": argument.type.is_optional,
        "is_list": argument.type.is_list_like,
        "default": None if argument.default is None else argument.default.text,
        "is_keyword": argument.kwarg_only,
        "is_written": argument.is_write,
        "aliases": _aliases(argument.annotations),
    }


def _function(function: PythonFunction) -> _Record:
    parameters = [
        {"name": name, "default": None if default is None else emit(default)}
        for name, default in function.parameters or ()
    ]
    own = None if function.parameters is None else parameters
    return {"module": function.module, "name": function.name, "parameters": own, "doc": function.doc}


def _return(result: Return) -> _Record:
    return {
        "name": result.name,
        "type": str(result.type),
        "base_type": str(result.type.base()),
        "is_optional": result.type.is_optional,
        "is_list": result.type.is_list_like,
        "is_written": result.is_write,
        "aliases": _aliases(result.annotations),
    }


def _aliases(annotations: Sequence[Annotation]) -> list[str]:
    """Return the alias sets that a value may share memory with."""
    return _distinct(name for each in annotations for name in each.before)


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _family(family: Family | None) -> _Record | None:
    """Return a dimension rule: its family, what it is called with, and positions of arguments as numbers."""
    if family is None:
        return None
    return {
        "family": family.name,
        "arguments": [_value(each) for each in family.arguments],
        "keywords": {key: _value(each) for key, each in family.keywords},
    }


def _value(value: Value) -> object:
    match value:
        case Family():
            return _family(value)
        case At():
            return {"argument": value.place}
        case tuple():
            return [_value(each) for each in value]
        case _:
            return value
