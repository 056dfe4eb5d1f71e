"""`ops.py`: the function that calls each operator, and one for all overloads of a name.

Note [Stubs]
A stub is straight-line code: what does not need converting is told by exact type tests; the keys of all tensors, changed by the modes
of the thread, look the kernel up; everything uncommon is one `except` away in `Operator.call`. Plain arrays have an entry of
their own, looked for only when no mode is on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from opwright_codegen.imports import import_lines, words_in
from opwright_codegen.layout import LINE, bracketed, condition, fill_comment, fill_string, quoted
from opwright_codegen.model import Operator
from opwright_codegen.names import BuiltinNames
from opwright_codegen.schema import SchemaKind
from opwright_codegen.types import BaseType, ListType, OptionalType, Type
from opwright_codegen.views import (
    NamespaceView,
    OperatorView,
    Parameter,
    Tensors,
    annotation,
    parameter_list,
    return_annotation,
    signature,
    source_path,
    tuple_text,
)

TEMPLATE = "ops.py.j2"


@dataclass(frozen=True, slots=True)
class Dispatch:
    """The straight-line part of a stub: guards, and the lookup of the kernel."""

    operator: str
    passed: str
    guards: tuple[Guard, ...]
    lists: tuple[str, ...]
    arrays: str
    keys: str
    more_keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Guard:
    """A test that tells whether an argument needs converting, and the argument. Without a test it always does."""

    test: str
    name: str
    position: int


@dataclass(frozen=True, slots=True)
class Stub:
    """One operator: the lines of its Operator, its comment, its `def` line, and how it dispatches (None: the runtime binds)."""

    name: str
    operator: str
    construction: str
    comment: str
    signature: str
    renamed: tuple[tuple[str, str], ...]
    dispatch: Dispatch | None


@dataclass(frozen=True, slots=True)
class Branch:
    """Another overload of a merged packet: when it is meant, and how its stub is called."""

    test: str
    call: str


@dataclass(frozen=True, slots=True)
class Packet:
    """All overloads of a name. `alias`: one stub serves. `dispatch`: merged, straight-line for the first overload."""

    qualified: str
    name: str
    packet: str | None
    alias: str | None
    signature: str
    comment: str
    kinds: tuple[tuple[str, str], ...]
    elsewhere: str
    branches: tuple[Branch, ...]
    resolve: str
    dispatch: Dispatch | None


def context(view: NamespaceView) -> dict[str, object]:
    """What the template shows."""
    stubs = [_stub(operator, view.builtins) for operator in view.operators.values()]
    packets = [_packet(base, group, view) for base, group in view.packets.items()]
    return {
        "stubs": stubs,
        "packets": packets,
        "public": _public(view),
        "imports": _imports(view, stubs, packets),
    }


def _imports(view: NamespaceView, stubs: Sequence[Stub], packets: Sequence[Packet]) -> str:
    """What the module imports: no name that it does not use."""
    types = {p.argument.type for o in view.operators.values() for p in o.parameters}
    words = words_in(annotation(type, view.builtins) for type in types)
    returns = {o.schema.returns: None for o in view.operators.values()}
    words |= words_in(return_annotation(found, view.builtins) for found in returns)
    defaults = {p.default for o in view.operators.values() for p in o.parameters if p.default is not None}
    words |= words_in(default for default in defaults if "." in default)
    dispatches = [item.dispatch for item in (*stubs, *packets) if item.dispatch is not None]
    words |= words_in({guard.test for dispatch in dispatches for guard in dispatch.guards})
    words |= words_in({dispatch.keys for dispatch in dispatches} & {"BACKEND_SELECT"})
    words |= {"Operator", "packet"}
    if dispatches:
        words.add("active_modes")
    if any(dispatch.arrays for dispatch in dispatches):
        words |= {"ARRAYS", "ndarray"}
    if any("ndarray" in packet.elsewhere for packet in packets):
        words |= {"Tensor", "ndarray"}
    if any(stub.dispatch is None for stub in stubs) or any("Any" in packet.signature for packet in packets):
        words.add("Any")
    return import_lines(words, ["builtins"] if "builtins" in words or _hides(dispatches) else [])


def _hides(dispatches: Sequence[Dispatch]) -> bool:
    return any("builtins." in text for d in dispatches for text in (d.arrays, *d.lists))


# -- operators


def _stub(view: OperatorView, builtins: BuiltinNames) -> Stub:
    if view.is_generic:
        parameters = ["*args: Any", "**kwargs: Any"]
        renamed = tuple((p.name, p.argument.name) for p in view.parameters if p.is_renamed)
        dispatch = None
    else:
        parameters = parameter_list(view.parameters, builtins)
        renamed = ()
        dispatch = _dispatch(view, builtins)
    returned = return_annotation(view.schema.returns, builtins)
    return Stub(
        view.stub,
        view.private,
        _construction(view),
        fill_comment(view.declaration),
        signature(view.stub, parameters, returned),
        renamed,
        dispatch,
    )


def _construction(view: OperatorView) -> str:
    """The call that makes the Operator, an argument a line."""
    operator = view.operator
    declaration = view.declaration[view.declaration.index("(") :]
    arguments = [_argument(parameter) for parameter in view.parameters]
    lines = [
        quoted(operator.name),
        fill_string(declaration, 4),
        _row(arguments),
    ]
    first = next((i for i, p in enumerate(view.parameters) if p.argument.kwarg_only), None)
    if first is not None:
        lines.append(f"kwarg_only={first}")
    lines.append(f"where={quoted(_where(operator))}")
    if operator.tags:
        lines.append(_row([quoted(tag) for tag in sorted(operator.tags)], "tags="))
    return f"{view.private} = Operator(\n    {(',' + chr(10) + '    ').join(lines)},\n)"


def _row(items: Sequence[str], head: str = "") -> str:
    text = f"{head}{tuple_text(items)}"
    return text if len(text) + 5 <= LINE else bracketed(f"{head}(", items, ")", 4, 1)


def _argument(parameter: Parameter) -> str:
    argument = parameter.argument
    head = f'("{argument.name}", "{argument.type}"'
    return f"{head})" if parameter.default is None else f"{head}, {parameter.default})"


def _where(operator: Operator) -> str:
    path = _shown(operator.location.source.path)
    return f"{path}:{operator.location.line}"


_shown = cache(source_path)


# -- dispatch


def _dispatch(view: OperatorView, builtins: BuiltinNames) -> Dispatch:
    guards, lists, arrays, keys, more = [], [], [], [], []
    has_lists = False
    for position, parameter in enumerate(view.parameters):
        name = parameter.name
        match parameter.tensors:
            case Tensors.NONE:
                found = _guard(parameter.argument.type, builtins)
                if found is not None:
                    guards.append(Guard(found.format(name), name, position))
            case Tensors.ONE:
                keys.append(f"{name}.keys")
                arrays.append(f"{builtins['type']}({name}) is ndarray")
            case Tensors.OPTIONAL:
                more.append(f"if {name} is not None:\n            keys |= {name}.keys")
                arrays.append(f"({name} is None or {builtins['type']}({name}) is ndarray)")
            case Tensors.LIST:
                has_lists = True
                lists.append(f"{builtins['type']}({name}) is not {builtins['list']}")
                more.append(f"for item in {name}:\n            keys |= item.keys")
            case Tensors.LIST_OF_OPTIONAL:
                has_lists = True
                lists.append(f"{builtins['type']}({name}) is not {builtins['list']}")
                more.append(f"for item in {name}:\n            if item is not None:\n                keys |= item.keys")
            case Tensors.OPTIONAL_LIST:
                has_lists = True
                lists.append(f"{name} is not None and {builtins['type']}({name}) is not {builtins['list']}")
                loop = f"for item in {name}:\n                keys |= item.keys"
                more.append(f"if {name} is not None:\n            {loop}")
            case Tensors.OTHER:
                has_lists = True
                lists.append("True")
    has_own = any(p.tensors is Tensors.ONE for p in view.parameters)
    return Dispatch(
        view.private,
        view.passed,
        tuple(guards),
        tuple(lists),
        condition(["modes is None", *arrays], "and", 4) if has_own and not has_lists else "",
        " | ".join(keys) if keys else _no_tensor_keys(view),
        tuple(more),
    )


def _no_tensor_keys(view: OperatorView) -> str:
    """Where no tensor brings keys: a factory whose kernels differ by backend asks BackendSelect."""
    return "BACKEND_SELECT" if is_factory(view.operator) else "0"


def is_factory(operator: Operator) -> bool:
    """Whether `device` alone says which backend's kernel is meant."""
    arguments = operator.schema.arguments
    if any(a.type.is_tensor_like for a in arguments) or not any(a.name == "device" for a in arguments):
        return False
    return any(key in ("CPU", "CUDA", "Meta") for key, _ in operator.dispatch)


_EXACT = {
    "int": ("int",), "SymInt": ("int",), "DeviceIndex": ("int",), "float": ("float",), "bool": ("bool",), "SymBool": ("bool",),
    "str": ("str",), "Scalar": ("int", "float"), "number": ("int", "float"),
}  # fmt: skip
_UNCHECKED = frozenset(("Any", "t"))


def _guard(type: Type, builtins: BuiltinNames) -> str | None:
    """The test, with `{0}` for the argument, that a value needs converting; '' if all do, None if none does."""
    match type:
        case OptionalType(elem):
            inner = _guard(elem, builtins)
            return None if inner is None else f"{{0}} is not None and {inner}" if inner else "{0} is not None"
        case ListType(BaseType("int" | "SymInt")):
            return "not is_int_list({0})"
        case BaseType(name) if name in _EXACT:
            return " and ".join(f"{builtins['type']}({{0}}) is not {builtins[exact]}" for exact in _EXACT[name])
        case BaseType(name) if name in _UNCHECKED:
            return None
        case _:
            return ""


# -- packets


def _packet(base: str, group: tuple[OperatorView, ...], view: NamespaceView) -> Packet:
    names = view.names.packets[base]
    qualified = f"{view.namespace}::{base}"
    if names.packet is None:
        return Packet(qualified, names.function, None, group[0].stub, "", "", (), "", (), "", None)
    comment = fill_comment(f"{base}: {', '.join(o.schema.name.shown_overload for o in group)}")
    merged = _merge(group, view.builtins)
    if merged is None:
        text = signature(names.function, ["*args: Any", "**kwargs: Any"], "Any")
        return Packet(qualified, names.function, names.packet, None, text, comment, (), "", (), "", None)
    return merged.packet(qualified, names.function, names.packet, comment, view.builtins)


@dataclass(frozen=True, slots=True)
class _Merged:
    """Overloads that differ in the types of some arguments alone, and the out arguments of the others."""

    overloads: tuple[OperatorView, ...]
    deciding: tuple[int, ...]
    outs: tuple[Parameter, ...]

    def packet(self, qualified: str, name: str, packet: str, comment: str, builtins: BuiltinNames) -> Packet:
        first = self.overloads[0]
        kinds = self._kinds(builtins)
        passed = ", ".join(p.name for p in first.parameters if not p.argument.kwarg_only)
        named = [p for p in first.parameters if p.argument.kwarg_only]
        as_passed = ", ".join([passed, *(f"{p.name}={p.name}" for p in named)] if passed else [])
        resolve = _resolve(packet, [p.name for p in first.parameters if not p.argument.kwarg_only], named, self.outs)
        return Packet(
            qualified,
            name,
            packet,
            None,
            signature(name, self._parameters(builtins), self._returned(builtins)),
            comment,
            kinds,
            self._elsewhere(builtins),
            tuple(Branch(self._test(o, builtins), f"{o.stub}({as_passed})") for o in self.overloads[1:]),
            resolve,
            _dispatch(first, builtins),
        )

    def _kinds(self, builtins: BuiltinNames) -> tuple[tuple[str, str], ...]:
        names = [self.overloads[0].parameters[i].name for i in self.deciding]
        return tuple((_kind(i, len(names)), f"{builtins['type']}({name})") for i, name in enumerate(names))

    def _parameters(self, builtins: BuiltinNames) -> list[str]:
        first = self.overloads[0]
        found = parameter_list(first.parameters, builtins)
        for position in self.deciding:
            union = dict.fromkeys(annotation(o.parameters[position].argument.type, builtins) for o in self.overloads)
            name = first.parameters[position].name
            at = next(i for i, text in enumerate(found) if text.startswith(f"{name}:"))
            default = first.parameters[position].default
            found[at] = f"{name}: {' | '.join(union)}" + (f" = {default}" if default is not None else "")
        if self.outs:
            if "*" not in found:
                found.append("*")
            found += [f"{p.name}: {annotation(p.argument.type, builtins)} | None = None" for p in self.outs]
        return found

    def _returned(self, builtins: BuiltinNames) -> str:
        found = {return_annotation(o.schema.returns, builtins) for o in self.overloads}
        return found.pop() if len(found) == 1 and not self.outs else "Any"

    def _elsewhere(self, builtins: BuiltinNames) -> str:
        """The test that the first overload is not meant."""
        tests = [f"{p.name} is not None" for p in self.outs]
        first = self.overloads[0]
        for i, position in enumerate(self.deciding):
            kind = _kind(i, len(self.deciding))
            exact = _kinds_of(first.parameters[position].argument.type, builtins) or ()
            test = " and ".join(f"{kind} is not {name}" for name in exact)
            tests.append(f"({test})" if len(exact) > 1 and (tests or len(self.deciding) > 1) else test)
        return condition(tests, "or", 4) if tests else ""

    def _test(self, view: OperatorView, builtins: BuiltinNames) -> str:
        tests = [f"{p.name} is None" for p in self.outs]
        for i, position in enumerate(self.deciding):
            kind = _kind(i, len(self.deciding))
            exact = _kinds_of(view.parameters[position].argument.type, builtins) or ()
            test = " or ".join(f"{kind} is {name}" for name in exact)
            tests.append(f"({test})" if len(exact) > 1 and (tests or len(self.deciding) > 1) else test)
        return condition(tests, "and", 8)


def _kind(index: int, count: int) -> str:
    return "kind" if count == 1 else f"kind{index + 1}"


def _kinds_of(type: Type, builtins: Mapping[str, str]) -> tuple[str, ...] | None:
    """The exact types that tell that an overload with this type is meant."""
    match type:
        case BaseType("Tensor"):
            return ("Tensor", "ndarray")
        case BaseType("Scalar" | "number"):
            return (builtins["float"], builtins["int"])
        case BaseType(name) if name in _EXACT:
            return tuple(builtins[exact] for exact in _EXACT[name])
        case _:
            return None


def _merge(group: tuple[OperatorView, ...], builtins: BuiltinNames) -> _Merged | None:
    """The overloads that one straight-line function can tell apart, if those are all but the out variants."""
    if any(o.is_generic for o in group):
        return None
    written = [o for o in group if o.operator.kind is SchemaKind.OUT]
    overloads = tuple(o for o in group if o.operator.kind is not SchemaKind.OUT)
    if not overloads or not any(p.tensors is Tensors.ONE for p in overloads[0].parameters):
        return None
    first = overloads[0].parameters
    shape = [(p.name, p.default) for p in first]
    if any([(p.name, p.default) for p in o.parameters] != shape for o in overloads[1:]):
        return None
    deciding = tuple(i for i in range(len(first)) if len({o.parameters[i].argument.type for o in overloads}) > 1)
    if any(_kinds_of(o.parameters[i].argument.type, builtins) is None for i in deciding for o in overloads):
        return None
    outs = {p.name: p for o in written for p in o.parameters if p.argument in o.schema.out_arguments}
    if any(name in outs for name, _ in shape) or any(p.tensors is not Tensors.ONE for p in outs.values()):
        return None
    if any(_dispatch(o, builtins).lists for o in overloads):
        return None
    return _Merged(overloads, deciding, tuple(outs.values()))


def _resolve(packet: str, passed: Sequence[str], named: Sequence[Parameter], outs: Sequence[Parameter]) -> str:
    arguments = tuple_text(passed)
    keywords = [f'"{p.name}": {p.name}' for p in (*named, *outs)]
    text = f"return {packet}.call({arguments}, {{{', '.join(keywords)}}})"
    if len(text) + 8 <= LINE:
        return text
    rows = [
        arguments if len(arguments) + 13 <= LINE else bracketed("(", passed, ")", 12, 1),
        bracketed("{", keywords, "}", 12, 1),
    ]
    return bracketed(f"return {packet}.call(", rows, ")", 8) if "\n" in "".join(rows) else _exploded(packet, rows)


def _exploded(packet: str, rows: Sequence[str]) -> str:
    return f"return {packet}.call(\n            {rows[0]},\n            {rows[1]},\n        )"


# -- `__all__`


def _public(view: NamespaceView) -> list[str]:
    """What `from ops import *` gives: the packets that are functions, in the order ruff sorts them."""
    names = {
        view.names.packets[base].function
        for base, group in view.packets.items()
        if any("function" in o.operator.variants for o in group)
    }
    return sorted((name for name in names if not name.startswith("__")), key=_natural)


def _natural(name: str) -> tuple[int, list[tuple[int, int | str]]]:
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
