"""The function for all overloads of a name: straight-line where types tell them apart, else left to the runtime."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from opwright_codegen.schema.model import SchemaKind
from opwright_codegen.schema.types import BaseType, Type
from opwright_codegen.targets.counted import Branch, counted_branches
from opwright_codegen.targets.lookup import EXACT, Guard, Lookup, Lookups
from opwright_codegen.targets.named import Named, named_view, taken_by_name, value_of
from opwright_codegen.views.annotations import Tensors, annotation, return_annotation
from opwright_codegen.views.layout import LINE, bracketed, condition, fill_comment
from opwright_codegen.views.names import BuiltinNames, returns_list
from opwright_codegen.views.operators import NamespaceView, OperatorView, Parameter, signature, tuple_text

__all__ = ["Packet", "packet_view"]


@dataclass(frozen=True, slots=True)
class Packet:
    """All overloads of a name. `alias`: one stub serves. Merged: straight-line for the first overload, which is meant
    unless the line `elsewhere` tests true; `resolve` then leaves what no branch takes to the runtime. `arrays` tests
    for plain arrays before that. Else `counted` is what the number of positional arguments, and the type of one, say.
    Without a `lookup`, the statement `call` ends the function."""

    construction: str
    assignment: str
    name: str
    packet: str | None
    alias: str | None = None
    signature: str = ""
    comment: str = ""
    packing: Guard | None = None
    named: Named | None = None
    kinds: tuple[tuple[str, str], ...] = ()
    arrays: str = ""
    elsewhere: str = ""
    branches: tuple[Branch, ...] = ()
    resolve: str = ""
    counted: tuple[Branch, ...] = ()
    lookup: Lookup | None = None
    call: str = ""


def packet_view(base: str, group: tuple[OperatorView, ...], view: NamespaceView, lookups: Lookups) -> Packet:
    """What the template shows of the packet `base`."""
    names = view.names.packets[base]
    made = f'packet("{view.namespace}::{base}")'
    if names.packet is None:
        return Packet("", _assignment(made, names.function), names.function, None, alias=group[0].stub)
    construction = f"{names.packet} = {made}"
    if len(construction) > LINE:
        construction = f'{names.packet} = packet(\n    "{view.namespace}::{base}"\n)'
    lists = any(returns_list(o.schema) for o in group)
    assignment = _assignment(names.packet, names.function, "function" if lists else "stub")
    comment = fill_comment(f"{base}: {', '.join([o.schema.name.shown_overload for o in group])}")
    merged = _merge(group, view.builtins)
    if merged is not None and (not lists or len(group) == 1):
        bare = Packet(construction, assignment, names.function, names.packet, comment=comment)
        return merged.packet(bare, view.builtins, lookups)
    text = signature(names.function, ["*args: Any", "**kwargs: Any"], "Any")
    return Packet(
        construction,
        assignment,
        names.function,
        names.packet,
        signature=text,
        comment=comment,
        packing=_generic_packing(group, view.builtins),
        counted=tuple(counted_branches(group, view.builtins)),
        call=f"return {'as_tuple(' * lists}{names.packet}.call(args, kwargs, named=True){')' * lists}",
    )


def _generic_packing(group: tuple[OperatorView, ...], builtins: BuiltinNames) -> Guard | None:
    """Makes a list of ints that are passed one by one, where an overload takes that and no other means it."""
    at = next((o.ints for o in group if o.ints is not None), None)
    if at is None:
        return None
    alone = True
    for other in group:
        if other.ints != at:
            positional = [p for p in other.parameters if not p.argument.kwarg_only]
            if len(positional) > at + 1 or other.schema.is_vararg:
                return None
            alone = alone and not (len(positional) == at + 1 and _takes_int(positional[at].argument.type))
    before = "".join(f"args[{i}], " for i in range(at))
    kind = f"{builtins['type']}(args[{at}]) in INTS"
    longer = f"{builtins['len']}(args) > {at if alone else at + 1}"
    packed = f"{before}{builtins['list']}(args[{at}:]){'' if before else ','}"
    return Guard(condition([longer, kind], "and", 4), f"args = ({packed})")


def _takes_int(type: Type) -> bool:
    return str(type.base()) in ("int", "SymInt", "Scalar", "number", "float", "bool", "complex", "Any", "t")


def _assignment(packet: str, function: str, attribute: str = "stub") -> str:
    """The statement that gives a Packet its function."""
    text = f"{packet}.{attribute} = {function}"
    if len(text) <= LINE:
        return text
    if packet.startswith("packet("):
        return f"packet(\n    {packet[7:-1]}\n).{attribute} = {function}"
    return f"{packet}.{attribute} = (\n    {function}\n)"


@dataclass(frozen=True, slots=True)
class _Merged:
    """One overload, or several that the types of some arguments tell apart, and the out arguments of the others."""

    overloads: tuple[OperatorView, ...]
    deciding: tuple[int, ...]
    outs: tuple[Parameter, ...]
    out: OperatorView | None

    def packet(self, bare: Packet, builtins: BuiltinNames, lookups: Lookups) -> Packet:
        """`bare` with all that a merged packet has."""
        first = self.overloads[0]
        name = bare.packet
        assert name is not None
        bare = replace(
            bare,
            signature=signature(bare.name, self._parameters(builtins), self._returned(builtins)),
            packing=None if self._ints is None else lookups.packing(first.parameters[self._ints]),
            named=named_view(name, first.parameters, self._with_out(builtins), as_tuple=returns_list(first.schema)),
        )
        if returns_list(first.schema):
            return replace(bare, call=_stub_call(first, 4, f"{builtins['tuple']}(", ")"))
        if len(self.overloads) == 1:
            if first.operator.is_composite:  # which takes longer than a call
                return replace(bare, call=_stub_call(first, 4))
            return replace(bare, lookup=lookups.of(first, packs_ints=False))
        lookup = lookups.of(first, packs_ints=False)
        # What is no tensor may suit another overload, or none: the error lists them all.
        lookup = replace(lookup, calls=replace(lookup.calls, call=self._resolve(name, 4)))
        arrays = self._arrays(lookups)
        if arrays:
            lookup = replace(lookup, arrays="")
        return replace(
            bare,
            kinds=self._kinds(builtins),
            arrays=arrays,
            elsewhere=self._elsewhere(builtins, bool(arrays)),
            branches=tuple([Branch(self._test(o, builtins), _stub_call(o, 12)) for o in self.overloads[1:]]),
            resolve=self._resolve(name, 8),
            lookup=lookup,
        )

    def _with_out(self, builtins: BuiltinNames) -> Branch | None:
        """The branch for a call with `out` and no other name."""
        if self.out is None:
            return None
        name = self.outs[0].name
        tests = [f"{builtins['len']}(named) == 1", f'named.get("{name}") is not None']
        for position in self.deciding:
            parameter = self.overloads[0].parameters[position]
            exact = _kinds_of(parameter.argument.type, builtins) or ()
            text = " or ".join(f"{builtins['type']}({parameter.name}) is {kind}" for kind in exact)
            tests.append(f"({text})" if len(exact) > 1 else text)
        arguments = [
            f"{p.name}={value_of(p)}" if p.argument.kwarg_only else value_of(p) for p in self.overloads[0].parameters
        ]
        call = bracketed(f"return {self.out.stub}(", [*arguments, f'{name}=named["{name}"]'], ")", 12)
        return Branch(condition(tests, "and", 8), call)

    @property
    def _ints(self) -> int | None:
        """Where all overloads take ints one by one."""
        found = {o.ints for o in self.overloads}
        return found.pop() if len(found) == 1 else None

    def _is_keyword(self, position: int) -> bool:
        """Whether the argument is keyword-only: where overloads differ in that, it may be passed either way."""
        return all(o.parameters[position].argument.kwarg_only for o in self.overloads)

    def _kinds(self, builtins: BuiltinNames) -> tuple[tuple[str, str], ...]:
        names = [self.overloads[0].parameters[i].name for i in self.deciding]
        return tuple((_kind(i, len(names)), f"{builtins['type']}({name})") for i, name in enumerate(names))

    def _parameters(self, builtins: BuiltinNames) -> list[str]:
        parameters = self.overloads[0].parameters
        declared = []
        for position, parameter in enumerate(parameters):
            types = dict.fromkeys([o.parameters[position].argument.type for o in self.overloads])
            declared.append(f"{parameter.name}: {' | '.join([annotation(type, builtins) for type in types])}")
        keyword = next((i for i in range(len(parameters)) if self._is_keyword(i)), None)
        return taken_by_name(declared, parameters, keyword, self._ints, builtins)

    def _resolve(self, packet: str, indent: int) -> str:
        """The statement, at column `indent`, that has the runtime choose."""
        passed: list[str] = []
        named: list[str] = []
        for position, parameter in enumerate(self.overloads[0].parameters):
            is_named = any(o.parameters[position].argument.kwarg_only for o in self.overloads)
            (named if is_named else passed).append(parameter.name)
        arguments = tuple_text(passed)
        keywords = [f'"{name}": {name}' for name in named]
        text = f"return {packet}.call({arguments}, {{{', '.join(keywords)}}})"
        if len(text) + indent <= LINE:
            return text
        pad, inner = " " * indent, indent + 4
        row = bracketed("(", passed, ")", inner, 1) if len(arguments) + inner + 1 > LINE else arguments
        named_row = bracketed("{", keywords, "}", inner, 1)
        return f"return {packet}.call(\n{pad}    {row},\n{pad}    {named_row},\n{pad})"

    def _returned(self, builtins: BuiltinNames) -> str:
        if returns_list(self.overloads[0].schema):
            return f"{builtins['tuple']}[Tensor, ...]"
        found = {return_annotation(o.schema.returns, builtins) for o in self.overloads}
        return found.pop() if len(found) == 1 and not self.outs else "Any"

    def _arrays(self, lookups: Lookups) -> str:
        """The test for plain arrays where the first overload takes them, if it can come before all others."""
        first = self.overloads[0].parameters
        kinds = {i: _kind(n, len(self.deciding)) for n, i in enumerate(self.deciding)}
        known = [i for i in kinds if first[i].tensors is Tensors.ONE]
        if not known:
            return ""
        tests = [f"{kinds[i]} is ndarray" for i in known]
        return lookups.plain_arrays(self.overloads[0], tests, known)

    def _elsewhere(self, builtins: BuiltinNames, has_arrays: bool) -> str:
        """The test that the first overload is not meant; not to be asked of plain arrays that were looked for."""
        tests = []
        first = self.overloads[0]
        is_alone = len(self.deciding) == 1
        for i, position in enumerate(self.deciding):
            kind = _kind(i, len(self.deciding))
            exact = _kinds_of(first.parameters[position].argument.type, builtins) or ()
            if has_arrays and "ndarray" in exact:
                exact = ("Tensor",)
            test = " and ".join(f"{kind} is not {name}" for name in exact)
            tests.append(f"({test})" if len(exact) > 1 and not is_alone else test)
        return condition(tests, "or", 4) if tests else ""

    def _test(self, view: OperatorView, builtins: BuiltinNames) -> str:
        tests: list[str] = []
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
        case BaseType(name) if name in EXACT:
            return tuple(builtins[exact] for exact in EXACT[name])
        case _:
            return None


def _stub_call(view: OperatorView, indent: int, opening: str = "", closing: str = "") -> str:
    arguments = [f"{p.name}={p.name}" if p.argument.kwarg_only else p.name for p in view.parameters]
    return bracketed(f"return {opening}{view.stub}(", arguments, f"){closing}", indent)


def _merge(group: tuple[OperatorView, ...], builtins: BuiltinNames) -> _Merged | None:
    """The overloads that one straight-line function can tell apart, if those are all but the out variants."""
    overloads = [o for o in group if o.operator.kind is not SchemaKind.OUT]
    if not overloads or any(o.is_generic for o in group):
        return None
    overloads.sort(key=lambda o: -sum([p.tensors is Tensors.ONE for p in o.parameters]))
    first = overloads[0].parameters
    shape = [(p.name, p.default) for p in first]
    if any([(p.name, p.default) for p in o.parameters] != shape for o in overloads[1:]):
        return None
    is_alone = len(overloads) == 1  # nothing has to be told apart by types
    if not is_alone and (not any(p.tensors is Tensors.ONE for p in first) or any(_has_lists(o) for o in overloads)):
        return None
    positions = range(len(first))
    deciding = tuple([i for i in positions if len({o.parameters[i].argument.type for o in overloads}) > 1])
    if any(_kinds_of(o.parameters[i].argument.type, builtins) is None for i in deciding for o in overloads):
        return None
    outs = {
        p.name: p
        for o in group
        if o.operator.kind is SchemaKind.OUT
        for p in o.parameters
        if p.argument in o.schema.out_arguments
    }
    if any(name in outs for name, _ in shape) or any(p.tensors is not Tensors.ONE for p in outs.values()):
        return None
    merged = _Merged(tuple(overloads), deciding, tuple(outs.values()), _only_out(group, overloads[0], len(outs)))
    keywords = [merged._is_keyword(i) for i in positions]
    return merged if keywords == sorted(keywords) else None


def _only_out(group: tuple[OperatorView, ...], first: OperatorView, count: int) -> OperatorView | None:
    """The one out variant with the parameters of `first` and a single `out`, where the group's others have no more."""
    shape = [(p.name, p.argument.type) for p in first.parameters]
    for view in group if count == 1 else ():
        is_out = view.operator.kind is SchemaKind.OUT
        if is_out and [(p.name, p.argument.type) for p in view.parameters[:-1]] == shape:
            return view
    return None


def _has_lists(view: OperatorView) -> bool:
    return any(p.tensors not in (Tensors.NONE, Tensors.ONE, Tensors.OPTIONAL) for p in view.parameters)
