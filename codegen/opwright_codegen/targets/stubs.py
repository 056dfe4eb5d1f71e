"""`ops.py`: the function that calls each operator, and one for all overloads of a name.

Note [Stubs]
A stub is straight-line code: exact type tests tell what needs no converting; the keys of all tensors, changed by the
thread's modes, look the kernel up; everything uncommon is one `except` away in `Operator.call`. Plain arrays have an
entry of their own, looked for only when no mode is on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from opwright_codegen.schema.model import Return
from opwright_codegen.targets.lookup import Lookup, Lookups
from opwright_codegen.targets.named import Named, named_view, taken_by_name
from opwright_codegen.targets.packets import Packet, packet_view
from opwright_codegen.views.annotations import annotation, result_fields, return_annotation
from opwright_codegen.views.imports import import_lines, words_in
from opwright_codegen.views.layout import LINE, bracketed, docstring, fill_comment, fill_string, quoted
from opwright_codegen.views.operators import NamespaceView, OperatorView, parameter_list, signature, tuple_text

__all__ = ["TEMPLATE", "Stub", "context", "public_names"]

TEMPLATE = "ops.py.j2"
# What tests and conversions of arguments may use.
_TESTED = frozenset(
    ("INTS", "Device", "Generator", "Layout", "MemoryFormat", "builtins", "is_dtype", "is_int_list", "ndarray")
)


@dataclass(frozen=True, slots=True)
class Stub:
    """One operator: the statement that makes its Operator, its comment and `def` line, and how it finds the kernel.

    `doc` is the docstring. Without a lookup the runtime binds the arguments, after those in `renamed` got the schema's
    names.
    """

    name: str
    operator: str
    construction: str
    comment: str
    signature: str
    doc: str
    named: Named | None
    call: str
    renamed: tuple[tuple[str, str], ...]
    lookup: Lookup | None
    assignment: str
    result: str | None
    result_assignment: str
    fields: tuple[str, ...]


def context(view: NamespaceView) -> dict[str, object]:
    """What the template shows."""
    lookups = Lookups(view.builtins)
    maker = _StubMaker(view, lookups)
    stubs = [
        maker.stub(operator, is_function=view.names.packets[operator.schema.name.base].packet is None)
        for operator in view.operators.values()
    ]
    packets = [packet_view(base, group, view, lookups) for base, group in view.packets.items()]
    return {
        "stubs": stubs,
        "packets": packets,
        "public": public_names(view),
        "imports": _imports(view, stubs, packets, lookups),
    }


def _imports(view: NamespaceView, stubs: Sequence[Stub], packets: Sequence[Packet], lookups: Lookups) -> str:
    """What the module imports: no name that it does not use."""
    parameters = {id(p): p for o in view.operators.values() for p in o.parameters}.values()
    shown = {p.argument.type for o in view.operators.values() if not o.is_generic for p in o.parameters}
    words = words_in([annotation(type, view.builtins) for type in shown])
    returns = {o.schema.returns for o in view.operators.values()}
    words |= words_in([return_annotation(found, view.builtins) for found in returns])
    words |= words_in([p.default for p in parameters if p.default is not None and "." in p.default])
    words |= words_in(lookups.texts()) & _TESTED
    found = [*(stub.lookup for stub in stubs), *(packet.lookup for packet in packets)]
    words |= {"declare", "packet"}
    words |= words_in([*(stub.signature for stub in stubs), *(packet.signature for packet in packets)]) & {
        "Any",
        "NOT_GIVEN",
    }
    words |= words_in([packet.call for packet in packets]) & {"as_tuple"}
    words |= words_in([packet.named.call for packet in packets if packet.named is not None]) & {"as_tuple"}
    if any(stub.result is not None for stub in stubs):
        words |= {"NamedTuple", "show_result"}
    if any(lookup is not None and lookup.keys for lookup in found):
        words.add("active_modes")
    if any(lookup.arrays for lookup in found if lookup is not None) or any(packet.arrays for packet in packets):
        words.add("ARRAYS")
    kinds = words_in([text for packet in packets for text in (packet.arrays, packet.elsewhere)])
    words |= kinds & {"Tensor", "ndarray"}
    places = [(".where", "PLACES", "PLACES")] if stubs else []
    return import_lines(words, ["builtins"] if "builtins" in words else [], places)


class _StubMaker:
    def __init__(self, view: NamespaceView, lookups: Lookups) -> None:
        self._builtins = view.builtins
        self._lookups = lookups
        self._tags: dict[frozenset[str], str] = {}
        self._returns: dict[tuple[Return, ...], str] = {}

    def stub(self, view: OperatorView, *, is_function: bool) -> Stub:
        """`is_function`: it serves as the function of the name, too, for want of other overloads."""
        named = None
        call = f"{view.private}.call_by_name(args, kwargs)" if is_function else f"{view.private}(*args, **kwargs)"
        if view.is_generic:
            parameters = ["*args: Any", "**kwargs: Any"]
            renamed = tuple((p.name, p.argument.name) for p in view.parameters if p.is_renamed)
            lookup = None
        else:
            if is_function:
                parameters = self._function_parameters(view)
                named = named_view(view.private, view.parameters)
            else:
                parameters = parameter_list(view.parameters, self._builtins, view.ints)
            renamed = ()
            lookup = self._lookups.of(view)
        returns = view.schema.returns
        returned = view.result or self._returns.get(returns)
        if returned is None:
            returned = self._returns[returns] = return_annotation(returns, self._builtins)
        return Stub(
            view.stub,
            view.private,
            self._construction(view),
            fill_comment(view.declaration),
            signature(view.stub, parameters, "Any" if view.schema.is_varret else returned),
            docstring(view.operator.doc, 4),
            named,
            call,
            renamed,
            lookup,
            _assignment(view.private, "stub", view.stub),
            view.result,
            "" if view.result is None else _assignment(view.private, "result", view.result),
            () if view.result is None else result_fields(returns, self._builtins),
        )

    def _function_parameters(self, view: OperatorView) -> list[str]:
        declared = [f"{p.name}: {annotation(p.argument.type, self._builtins)}" for p in view.parameters]
        keyword = next((i for i, p in enumerate(view.parameters) if p.argument.kwarg_only), None)
        return taken_by_name(declared, view.parameters, keyword, view.ints, self._builtins)

    def _construction(self, view: OperatorView) -> str:
        """The call that makes the Operator, an argument a line."""
        operator = view.operator
        declaration = view.declaration[view.declaration.index("(") :]
        lines = [quoted(view.name), fill_string(declaration, 4), _row([p.row for p in view.parameters])]
        first = next((i for i, p in enumerate(view.parameters) if p.argument.kwarg_only), None)
        if first is not None:
            lines.append(f"kwarg_only={first}")
        lines.append(f"where=PLACES[{quoted(view.name)}]")
        if operator.tags:
            lines.append(self._tags.get(operator.tags) or self._tags_line(operator.tags))
        inner = ",\n    ".join(lines)
        return f"{view.private} = declare(\n    {inner},\n)"

    def _tags_line(self, tags: frozenset[str]) -> str:
        found = self._tags[tags] = _row([quoted(tag) for tag in sorted(tags)], "tags=")
        return found


def _assignment(operator: str, name: str, value: str) -> str:
    """The statement that gives the Operator its stub, or its class of results."""
    text = f"{operator}.{name} = {value}"
    return text if len(text) <= LINE else f"{operator}.{name} = (\n    {value}\n)"


def _row(items: Sequence[str], head: str = "") -> str:
    text = f"{head}{tuple_text(items)}"
    return text if len(text) + 5 <= LINE else bracketed(f"{head}(", items, ")", 4, 1)


# -- `__all__`


def public_names(view: NamespaceView) -> list[str]:
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
