"""Targets `ops.pyi` and `methods.pyi`: what type checkers and editors know of the operators.

Note [Typed operators]
Functions take tensors or plain arrays, and return that kind: Note [Tensors and arrays in one call]. The class
`Namespace` is that of `opwright.ops.NAMESPACE`: its attributes are packets, each of a class of its own, and a packet's
attributes are operators. Packets inherit their `__call__`, since an overload called `int` would hide the type there.
`TensorMethods` is what Tensor inherits for type checkers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from opwright_codegen.schema.model import Return, SchemaKind
from opwright_codegen.targets.methods import PythonOperator, methods_of, python_operators
from opwright_codegen.targets.tensor_kinds import ANY_KIND, TensorKinds, kinds_of
from opwright_codegen.views.annotations import annotation, result_fields, return_annotation
from opwright_codegen.views.imports import import_lines, words_in
from opwright_codegen.views.layout import bracketed, docstring, hugged
from opwright_codegen.views.names import RESERVED, BuiltinNames, Namer, is_word, returns_list
from opwright_codegen.views.operators import NamespaceView, OperatorView, Parameter, is_public

__all__ = ["INDEX", "METHODS", "OPS", "index_context", "methods_context", "ops_context"]

INDEX = "ops_index.pyi.j2"
OPS = "ops.pyi.j2"
METHODS = "methods.pyi.j2"
_LONGEST = 36
# Note [Other names of arguments]: those of the schema, PyTorch's, and NumPy's. Mixed ones are not declared.
_NAMINGS: Sequence[Mapping[str, str]] = (
    {},
    {"self": "input"},
    {"self": "a", "input": "a", "dim": "axis", "keepdim": "keepdims"},
    {"self": "x1", "input": "x1", "other": "x2"},
)


@dataclass(frozen=True, slots=True)
class TypedOperator:
    """The class of an operator. `call_kind` is the class that has the declarations of its `__call__`, if that is
    another: the type of the `stub` that calls the operator."""

    kind: str
    call_kind: str
    calls: tuple[str, ...]
    stub: str

    @property
    def definition(self) -> str:
        """Return the statement that defines the class beside that of its calls."""
        return hugged(f"class {self.kind}(", [self.call_kind, "Operator"], "): ...")


@dataclass(frozen=True, slots=True)
class TypedPacket:
    """The function for all overloads of a name, and the classes of its packet: `call_kind` has its `__call__`, `kind`
    its overloads as attributes. Without declarations the call is that of its only operator."""

    name: str
    call_kind: str
    kind: str
    calls: tuple[str, ...]
    functions: tuple[str, ...]
    attributes: tuple[tuple[str, str], ...]


def ops_context(view: NamespaceView) -> dict[str, object]:
    """Return what the template of a part's `.pyi` shows."""
    typed = _Typed(view.builtins)
    namer = Namer((*RESERVED, *view.names.of_module))
    operators = {o.name: _operator(o, view, typed, namer) for o in view.operators.values()}
    packets = [_packet(base, group, view, typed, operators, namer) for base, group in view.packets.items()]
    words = typed.words() | {"Any", "NDArray", "Operator", "Packet", "Tensor", "TypeAlias", "TypeVar"}
    declared = [*(o.calls for o in operators.values()), *(p.calls for p in packets), *(p.functions for p in packets)]
    if any(len(found) > 1 for found in declared):
        words.add("overload")
    results = [_result(o, view.builtins) for o in view.operators.values() if o.result is not None]
    if results:
        words |= {"NamedTuple", "Generic"} | words_in(field for result in results for field in result[1])
    return {
        "results": results,
        "functions": _functions(packets),
        "operators": list(operators.values()),
        "packets": packets,
        "public": _public(view),
        "attributes": [(base, p.kind) for base, p in zip(view.packets, packets, strict=True) if is_word(base)],
        # Generated kernels call these, for the lists that functions make tuples.
        "called": [
            (view.names.packets[base].packet, p.kind)
            for (base, group), p in zip(view.packets.items(), packets, strict=True)
            if any(returns_list(o.schema) for o in group)
        ],
        "imports": import_lines(words, ["builtins"] if "builtins" in words else []),
    }


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
    """Return what the template of `ops/__init__.pyi` shows: the functions that users call, and the parts."""
    return {"public": _public(view), "parts": sorted(view.parts), "kinds": list(view.parts)}


def _public(view: NamespaceView) -> list[str]:
    """Return the functions that users call, in the order in which ruff sorts them."""
    functions = [(view.names.packets[base].function, group) for base, group in view.packets.items()]
    return sorted([function for function, group in functions if is_public(function, group)], key=_natural)


def methods_context(view: NamespaceView) -> dict[str, object] | None:
    """Return what the template of `methods.pyi` shows; None where no operator is a method."""
    operators = python_operators(view)
    groups = methods_of(view, operators)
    if not groups:
        return None
    builtins = BuiltinNames(groups)
    typed = _Typed(builtins, lambda operator: f"_ops.{view.homes[operator.name]}.")
    methods = [typed.method(base, group) for base, group in groups.items()]
    words = typed.words() | {"Any", "NDArray", "Tensor", "TypeAlias"}
    if operators:
        words.add("Scalar")
    if any(len(signatures) > 1 for signatures in methods):
        words.add("overload")
    lines = [f"@overload\n    {text}" if len(found) > 1 else text for found in methods for text in found]
    return {
        "operators": [_operator_line(operator) for operator in operators],
        "methods": _spaced(lines),
        "imports": import_lines(
            words, ["builtins"] if "builtins" in words else [], [(".", "ops", "_ops")] if typed.has_results else []
        ),
    }


def _functions(packets: Sequence[TypedPacket]) -> list[str]:
    """Return the functions for packets."""
    declared = [packet.functions for packet in packets]
    return _spaced([f"@overload\n{text}" if len(found) > 1 else text for found in declared for text in found])


def _result(view: OperatorView, builtins: BuiltinNames) -> tuple[str, tuple[str, ...]]:
    """Return the first line of the class of several results with names, and its fields."""
    has_tensors = any(r.type.is_tensor_like for r in view.schema.returns)
    bases = ["NamedTuple", "Generic[A]"] if has_tensors else ["NamedTuple"]
    return bracketed(f"class {view.result}(", bases, "):"), result_fields(view.schema.returns, builtins, tensor="A")


def _operator(operator: OperatorView, view: NamespaceView, typed: _Typed, namer: Namer) -> TypedOperator:
    kind = _class_name(operator.stub, "operator", namer)
    is_alone = view.names.packets[operator.schema.name.base].packet is None
    has_stub = not operator.is_merged and operator.schema.kind is not SchemaKind.OUT
    call_kind = _class_name(operator.stub, "call", namer) if is_alone or has_stub else ""
    return TypedOperator(kind, call_kind, typed.calls(operator), operator.stub if has_stub else "")


def _packet(
    base: str,
    group: Sequence[OperatorView],
    view: NamespaceView,
    typed: _Typed,
    operators: Mapping[str, TypedOperator],
    namer: Namer,
) -> TypedPacket:
    name = view.names.packets[base].function
    functions = tuple([text for o in group for text in typed.functions(o, name, _NAMINGS)])
    attributes = tuple(
        [(o.schema.name.shown_overload, operators[o.name].kind) for o in group if is_word(o.schema.name.shown_overload)]
    )
    kind = _class_name(name, "packet", namer)
    if len(group) == 1 and operators[group[0].name].call_kind:
        return TypedPacket(name, operators[group[0].name].call_kind, kind, (), functions, attributes)
    calls = tuple([text for o in group for text in typed.calls(o)])
    # An overload called `int`, or `Tensor`, hides the type in the class that has it.
    is_hiding = not words_in(calls).isdisjoint(name for name, _ in attributes)
    call_kind = _class_name(name, "packet_call", namer) if is_hiding else kind
    return TypedPacket(name, call_kind, kind, calls, functions, attributes)


def _class_name(name: str, role: str, namer: Namer) -> str:
    """Return a name that leaves room on a line that has the attribute's, too."""
    return namer.claim(f"_{name[:_LONGEST]}_{role}")


def _makes_leaves(view: OperatorView) -> bool:
    """Whether the function makes a new tensor, which may require grad (`opwright.factories`)."""
    names = [p.name for p in view.parameters]
    is_factory = view.operator.namespace == "aten" and "pin_memory" in names and view.schema.kind is not SchemaKind.OUT
    return is_factory and not view.schema.name.base.startswith(("_", "to"))


def _operator_line(operator: PythonOperator) -> str:
    if operator.is_unary:
        return f"def {operator.name}(self) -> Tensor: ..."
    ignored = "  # type: ignore[override]" if operator.name in ("__eq__", "__ne__") else ""
    return f"def {operator.name}(self, other: TensorLike | Scalar) -> Tensor: ...{ignored}"


def _documented(head: str, view: OperatorView, indent: int) -> str:
    """Return a declaration with the operator's docstring behind it, or the three dots."""
    doc = docstring(view.operator.doc, indent)
    return f"{head}\n{' ' * indent}{doc}" if doc else f"{head} ..."


def _spaced(declarations: Sequence[str]) -> list[str]:
    """Return declarations below each other, with an empty line behind each that has a docstring, the last aside."""
    last = len(declarations) - 1
    return [f"{text}\n" if text.endswith('"""') and at < last else text for at, text in enumerate(declarations)]


def _is_taken(naming: Mapping[str, str], view: OperatorView) -> bool:
    """Whether two parameters would have one name."""
    names = [naming.get(parameter.name, parameter.name) for parameter in view.parameters]
    return len(set(names)) < len(names)


def _renamed(parameters: Sequence[str], naming: Mapping[str, str]) -> list[str]:
    """Return declarations of parameters by other names."""
    found = []
    for text in parameters:
        name, colon, rest = text.partition(":")
        found.append(f"{naming.get(name, name)}{colon}{rest}")
    return found


class _Typed:
    """The declarations of operators, with what kinds of tensors they take."""

    def __init__(self, builtins: BuiltinNames, module: Callable[[OperatorView], str] = lambda view: "") -> None:
        self._builtins = builtins
        self._module = module
        self._parameters: dict[tuple[int, str], tuple[Parameter, str]] = {}
        self._returns: dict[tuple[tuple[Return, ...], str], str] = {}
        self.has_results = False

    def words(self) -> set[str]:
        """Return the names that the declarations use."""
        types = [text.partition(": ")[2].partition(' = "')[0] for _, text in self._parameters.values()]
        return words_in(types) | words_in(self._returns.values())

    def calls(self, view: OperatorView) -> tuple[str, ...]:
        """Return the declarations of the `__call__` of an operator or packet."""
        return tuple(
            [
                hugged("def __call__(", ["_op", *self._parameters_of(view, kinds)], f"{self._tail(view, kinds)} ...", 4)
                for kinds in kinds_of(view)
            ]
        )

    def functions(
        self, view: OperatorView, name: str, namings: Sequence[Mapping[str, str]], *, lists: bool = False
    ) -> tuple[str, ...]:
        """Return a function, declared once for each naming that changes something; out variants, and calls with tensors
        and arrays, have the schema's names. `lists`: it returns the lists that operators return, where other functions
        make them tuples."""
        first, *others = kinds_of(view)
        found: dict[str, str] = {}  # by their heads: the docstring stands behind the first
        for naming in namings:
            # Names of dimensions and of second operands are what makes NumPy's names worth a declaration.
            wanted = naming.keys() - {"self", "input"}
            if _is_taken(naming, view):
                continue
            if not wanted or not wanted.isdisjoint(p.name for p in view.parameters):
                head = self._head(view, name, first, naming, lists)
                found.setdefault(head, f"{head} ..." if naming else _documented(head, view, 4))
            if view.schema.kind is SchemaKind.OUT:
                break
        return (*found.values(), *[f"{self._head(view, name, kinds, {}, lists)} ..." for kinds in others])

    def _head(self, view: OperatorView, name: str, kinds: TensorKinds, naming: Mapping[str, str], lists: bool) -> str:
        parameters = _renamed(self._one_by_one(view, self._parameters_of(view, kinds), kinds), naming)
        return hugged(f"def {name}(", parameters, self._tail(view, kinds, lists), after=4)

    def _tail(self, view: OperatorView, kinds: TensorKinds, lists: bool = True) -> str:
        if not lists and returns_list(view.schema):
            return f") -> {self._builtins['tuple']}[{kinds.returned}, ...]:"
        return f") -> {'Any' if view.schema.is_varret else self._returned_by(view, kinds.returned)}:"

    def method(self, base: str, group: Sequence[OperatorView]) -> list[str]:
        """Return the overloads of a method, `self` first."""
        found: dict[str, str] = {}  # by their heads: the docstring stands behind the first
        for view in group:
            if "method" not in view.operator.variants or view.schema.kind is SchemaKind.OUT:
                continue
            kinds = TensorKinds((ANY_KIND,) * len(view.parameters), "Tensor")
            tail = self._tail(view, kinds, lists=False)
            shown = self._list(view.parameters, kinds)
            at = next(i for i, p in enumerate(view.parameters) if p.argument.name == "self")
            del shown[at]
            parameters = self._one_by_one(view, shown, kinds)
            for naming in (each for each in _NAMINGS if not _is_taken(each, view)):
                head = hugged(f"def {base}(", ["self", *_renamed(parameters, naming)], tail, 4, 4)
                found.setdefault(head, f"{head} ..." if naming else _documented(head, view, 8))
        return list(found.values())

    def _parameters_of(self, view: OperatorView, kinds: TensorKinds) -> list[str]:
        parameters = self._list(view.parameters, kinds)
        if view.schema.is_vararg:
            at = parameters.index("*") if "*" in parameters else len(parameters)
            parameters[at : at + 1] = ["*args: Any"]
        return parameters

    def _one_by_one(self, view: OperatorView, parameters: Sequence[str], kinds: TensorKinds) -> list[str]:
        """Return parameters with those of a list of ints that may come one by one."""
        found = list(parameters)
        if view.ints is not None:
            text = self._parameter(view.parameters[view.ints], kinds.parameters[view.ints])
            int_ = self._builtins["int"]
            found = [each for each in found if each != "*"]
            at = found.index(text)
            found[at : at + 1] = [f"{text} | {int_}", f"*more: {int_}"]
        if _makes_leaves(view):
            found.append(f"requires_grad: {self._builtins['bool']} = False")
        return found

    def _list(self, parameters: Sequence[Parameter], kinds: TensorKinds) -> list[str]:
        """Return the declarations of parameters. The one that is given, where others leave it out, is a keyword if
        others before it have defaults."""
        found = [self._parameter(*each) for each in zip(parameters, kinds.parameters, strict=True)]
        keywords = [i for i, p in enumerate(parameters) if p.argument.kwarg_only]
        given = kinds.given
        if given is not None:
            found[given] = found[given].removesuffix(f" = {parameters[given].default}").removesuffix(" | None")
            keywords += [given] if any(p.default is not None for p in parameters[:given]) else []
        if keywords:
            found.insert(min(keywords), "*")
        return found

    def _parameter(self, parameter: Parameter, tensor: str) -> str:
        known = self._parameters.get((id(parameter), tensor))
        if known is None:
            text = f"{parameter.name}: {annotation(parameter.argument.type, self._builtins, tensor=tensor)}"
            if parameter.default is not None:
                text = f"{text} = {parameter.default}"
            known = self._parameters[id(parameter), tensor] = parameter, text
        return known[1]

    def _returned_by(self, view: OperatorView, tensor: str) -> str:
        if view.result is None:
            return self._return(view.schema.returns, tensor)
        self.has_results = True
        has_tensors = any(r.type.is_tensor_like for r in view.schema.returns)
        name = f"{self._module(view)}{view.result}"
        return f"{name}[{tensor}]" if has_tensors else name

    def _return(self, returns: tuple[Return, ...], tensor: str) -> str:
        known = self._returns.get((returns, tensor))
        if known is None:
            known = self._returns[returns, tensor] = return_annotation(returns, self._builtins, tensor=tensor)
        return known
