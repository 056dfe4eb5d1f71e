"""Targets `ops.pyi` and `methods.pyi`: what type checkers and editors know of the operators.

Note [Typed operators]
Functions take tensors or plain arrays, and return that kind: Note [Tensors and arrays in one call]. The class
`Namespace` is that of `opwright.ops.NAMESPACE`: its attributes are packets, and a packet's attributes are operators, of
classes that Note [Typed calls] describes.
`TensorMethods` is what Tensor inherits for type checkers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from opwright_codegen.records import dataclass
from opwright_codegen.schema.model import SchemaKind
from opwright_codegen.targets.ops.calls import CallTypes, PartCalls, words_of
from opwright_codegen.targets.ops.methods import PythonOperator, methods_of, python_operators
from opwright_codegen.targets.ops.typed import Declared, Typed
from opwright_codegen.views.annotations import result_fields
from opwright_codegen.views.imports import import_lines, words_in
from opwright_codegen.views.layout import LINE, bracketed, docstring, filled, quoted
from opwright_codegen.views.names import BuiltinNames, is_word, returns_list
from opwright_codegen.views.operators import NamespaceView, OperatorView, is_public

__all__ = ["INDEX", "METHODS", "OPS", "index_context", "methods_context", "ops_context"]

INDEX = "ops_index.pyi.j2"
OPS = "ops.pyi.j2"
METHODS = "methods.pyi.j2"


@dataclass(frozen=True, slots=True)
class TypedGroup:
    """The operators of one name: classes of calls that only this schema module has, and what is declared."""

    calls: Sequence[tuple[str, Declared]]
    lines: Sequence[str]


def ops_context(view: NamespaceView, call_types: Callable[[], CallTypes]) -> dict[str, object]:
    """Return what the template of a schema module's `.pyi` shows. `call_types`: the classes of calls of the whole
    package."""
    calls = PartCalls(call_types(), view.names.taken)
    groups = [_group(base, group, view, calls) for base, group in view.packets.items()]
    results = [_result(o, view.builtins) for o in view.operators.values() if o.result is not None]
    packets, attributes, called = _packets(view, calls)
    words = words_of(calls.own)
    words |= words_in(field for result in results for field in result[1])
    words |= {"Protocol"} if calls.own else set()
    words |= {"Packet"} if packets else set()
    words |= {"NamedTuple", "Generic"} if results else set()
    shared = ", ".join(name for name in ("A", "TensorLike") if name in words)
    # A schema module whose only operator is named by a keyword (`from`) says nothing that has such a class.
    modules = [("..", "calls", "_calls")] if any(group.lines for group in groups) else []
    modules += [("..calls", shared, shared)] if shared else []
    return {
        "results": results,
        "groups": groups,
        "packets": packets,
        "attributes": attributes,
        "called": called,
        "imports": import_lines(words, ["builtins"] if "builtins" in words else [], modules),
    }


def _group(base: str, group: Sequence[OperatorView], view: NamespaceView, calls: PartCalls) -> TypedGroup:
    known = len(calls.own)
    lines = [f"{view.names.packets[base].function}: {calls.function(base)}"]
    docs = dict.fromkeys(operator.operator.doc for operator in group if operator.operator.doc)
    lines += [docstring("\n\n".join(docs), 0)] if docs else []
    lines += [f"{o.stub}: {calls.stub(o)}" for o in group if not o.is_merged and o.schema.kind is not SchemaKind.OUT]
    calls.packet(base, group)  # which names classes, too
    return TypedGroup([(name, declared) for declared, name in [*calls.own.items()][known:]], lines)


def _packets(view: NamespaceView, calls: PartCalls) -> tuple[list[tuple[str, list[str]]], list[str], list[str]]:
    """Return the classes of packets with overloads that no generic class has, and the packets: as attributes of the
    namespace, and those that generated kernels call, for the lists that functions make tuples."""
    classes: dict[tuple[str, ...], str] = {}
    attributes, called = [], []
    for base, group in view.packets.items():
        generic, lines = calls.packet(base, group)
        if not generic and tuple(lines) not in classes:
            classes[tuple(lines)] = calls.unique(f"_Packet_{base}")
        head, items, tail = (f"{generic}[", lines, "]") if generic else (classes[tuple(lines)], [""], "")
        if is_word(base):
            attributes.append(filled(f"{base}: {head}", items, tail, 4))
        if any(returns_list(o.schema) for o in group):
            called.append(filled(f"{view.names.packets[base].packet}: {head}", items, tail))
    return [(name, list(lines)) for lines, name in classes.items()], attributes, called


def _natural(name: str) -> tuple[int, list[tuple[int, int | str]]]:
    """Return the order in which ruff sorts a name."""
    rank = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    parts: list[tuple[int, int | str]] = []
    digits = ""
    for char in name:
        if char.isdigit():
            digits += char
            continue
        if digits:
            parts.append((0, int(digits)))
            digits = ""
        parts.append((1, char))
    if digits:
        parts.append((0, int(digits)))
    return rank, parts


def index_context(view: NamespaceView) -> dict[str, object]:
    """Return what the template of `ops/__init__.pyi` shows: the functions that users call, and the schema modules, each
    with those of its functions that an import of all names leaves out."""
    homes = {}
    for base, group in view.packets.items():
        function = view.names.packets[base].function
        if is_public(function, group):
            homes[function] = view.homes[group[0].name]
    public = sorted(homes, key=_natural)
    private = {
        module: [name for name in public if name.startswith("_") and homes[name] == module]
        for module in view.schema_modules
    }
    imports = [(module, [_imported(module, name) for name in names]) for module, names in sorted(private.items())]
    is_long = any(len(line) > LINE for _, lines in imports for text in lines for line in text.splitlines())
    rules = ("E501", "F403", "F405") if is_long else ("F403", "F405")
    return {
        "listed": list(_listed(public)),
        "modules": imports,
        "kinds": list(view.schema_modules),
        "noqa": ", ".join(rules),
    }


def _listed(names: Sequence[str]) -> Iterator[str]:
    """Yield lines of names, those that begin alike on lines of their own: a name that is added moves few others."""
    for _, alike in groupby(names, lambda name: name[:2]):
        yield filled("", [quoted(name) for name in alike], ",", 4)


def _imported(module: str, name: str) -> str:
    """Return the import of a name that `*` leaves out, on as many lines as a formatter gives it."""
    line = f"from .{module} import {name} as {name}"
    return line if len(line) <= LINE else f"from .{module} import (\n    {name} as {name},\n)"


def methods_context(view: NamespaceView) -> dict[str, object] | None:
    """Return what the template of `methods.pyi` shows; None where no operator is a method."""
    operators = python_operators(view)
    groups = methods_of(view, operators)
    if not groups:
        return None
    builtins = BuiltinNames(groups)
    typed = Typed(builtins, lambda operator: f"_ops.{view.homes[operator.name]}.")
    methods = [typed.method(base, group) for base, group in groups.items()]
    words = typed.words() | {"Any", "NDArray", "Tensor", "TypeAlias"}
    if operators:
        words.add("Scalar")
    if any(len(signatures) > 1 for signatures in methods):
        words.add("overload")
    if any(text.startswith("@deprecated(") for signatures in methods for text in signatures):
        words.add("deprecated")
    return {
        "operators": [_operator_line(operator) for operator in operators],
        "methods": _overloaded(methods, 4),
        "imports": import_lines(
            words, ["builtins"] if "builtins" in words else [], [(".", "ops", "_ops")] if typed.has_results else []
        ),
    }


def _overloaded(declared: Sequence[Sequence[str]], indent: int) -> list[str]:
    """Return declarations below each other: overloads where a name has several."""
    mark = f"@overload\n{' ' * indent}"
    return _spaced([f"{mark * (len(found) > 1)}{text}" for found in declared for text in found])


def _result(view: OperatorView, builtins: BuiltinNames) -> tuple[str, tuple[str, ...]]:
    """Return the first line of the class of several results with names, and its fields."""
    has_tensors = any(r.type.is_tensor_like for r in view.schema.returns)
    bases = ["NamedTuple", "Generic[A]"] if has_tensors else ["NamedTuple"]
    return bracketed(f"class {view.result}(", bases, "):"), result_fields(view.schema.returns, builtins, tensor="A")


def _operator_line(operator: PythonOperator) -> str:
    if operator.is_unary:
        return f"def {operator.name}(self) -> Tensor: ..."
    ignored = "  # type: ignore[override]" if operator.name in ("__eq__", "__ne__") else ""
    return f"def {operator.name}(self, other: TensorLike | Scalar) -> Tensor: ...{ignored}"


def _spaced(declarations: Sequence[str]) -> list[str]:
    """Return declarations below each other, with an empty line behind each that has a docstring, the last aside."""
    last = len(declarations) - 1
    return [f"{text}\n" if text.endswith('"""') and at < last else text for at, text in enumerate(declarations)]
