"""The function for all overloads of a name: straight-line where types tell them apart, else left to the runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opwright_codegen.records import dataclass, replace
from opwright_codegen.schema.model import SchemaKind
from opwright_codegen.schema.types import BaseType, Type
from opwright_codegen.targets.ops.counted import Branch, counted_branches
from opwright_codegen.targets.ops.lookup import EXACT, Guard, Lookup, Lookups
from opwright_codegen.targets.ops.named import Named, named_view, taken_by_name
from opwright_codegen.views.annotations import Tensors
from opwright_codegen.views.layout import condition, hugged
from opwright_codegen.views.names import BuiltinNames, returns_list
from opwright_codegen.views.operators import NamespaceView, OperatorView

__all__ = ["Packet", "by_use", "packet_view"]


@dataclass(frozen=True, slots=True)
class Packet:
    """The function for all overloads of a name. Merged: straight-line for the first overload, which is meant unless the
    line `elsewhere` tests true; `resolve` then leaves what no branch takes to the runtime. Else `counted` is what the
    number of positional arguments, and the type of one, say. Without a `lookup`, the statement `call` ends it."""

    decorator: str
    signature: str
    packing: Guard | None = None
    named: Named | None = None
    kinds: tuple[tuple[str, str], ...] = ()
    elsewhere: str = ""
    branches: tuple[Branch, ...] = ()
    resolve: str = ""
    counted: tuple[Branch, ...] = ()
    lookup: Lookup | None = None
    call: str = ""

    def texts(self) -> tuple[str, ...]:
        """Return what it says, for finding the names that it uses; but for the tests of `Lookups`."""
        named = () if self.named is None else (self.named.call,)
        packing = () if self.packing is None else (self.packing.test,)
        return (
            self.decorator,
            self.signature,
            *named,
            *packing,
            self.elsewhere,
            *(b.test for b in (*self.branches, *self.counted)),
            self.call,
        )


def packet_view(base: str, group: tuple[OperatorView, ...], view: NamespaceView, lookups: Lookups) -> Packet:
    """Return what the template shows of the function of the packet `base`."""
    names = view.names.packets[base]
    assert names.packet is not None
    lists = any(returns_list(o.schema) for o in group)
    decorator = f"@function_of({names.packet}{', gives_tuples=True' * lists})"
    merged = _merge(group, view.builtins)
    if merged is not None and (not lists or len(group) == 1):
        return merged.packet(names.function, names.packet, decorator, view.builtins, lookups)
    return Packet(
        decorator,
        f"def {names.function}(*args, **kwargs):",
        packing=_generic_packing(group, view.builtins),
        counted=tuple(counted_branches(group, view.builtins)),
        call=f"return {'as_tuple(' * lists}{names.packet}.call(args, kwargs){')' * lists}",
    )


def by_use(group: Sequence[OperatorView]) -> list[OperatorView]:
    """Return the operators of a name with the one first that handles most calls: the one of most tensors, out variants
    last."""
    tensors = {o.name: sum([p.tensors is Tensors.ONE for p in o.parameters]) for o in group}
    return sorted(group, key=lambda o: (o.operator.kind is SchemaKind.OUT, -tensors[o.name]))


def _generic_packing(group: tuple[OperatorView, ...], builtins: BuiltinNames) -> Guard | None:
    """Make a list of ints that are passed one by one, where an overload takes that and no other means it."""
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


@dataclass(frozen=True, slots=True)
class _Merged:
    """One overload, or several that the types of some arguments tell apart."""

    overloads: tuple[OperatorView, ...]
    deciding: tuple[int, ...]

    def packet(self, name: str, packet: str, decorator: str, builtins: BuiltinNames, lookups: Lookups) -> Packet:
        """Return the function `name` for all of them."""
        first = self.overloads[0]
        keyword = next((i for i in range(len(first.parameters)) if self._is_keyword(i)), None)
        head = hugged(f"def {name}(", taken_by_name(first.parameters, keyword, self._ints), "):")
        bare = Packet(
            decorator,
            head,
            packing=None if self._ints is None else lookups.packing(first.parameters[self._ints]),
            named=named_view(packet, first.parameters, self._ints, as_tuple=returns_list(first.schema)),
        )
        if returns_list(first.schema):
            return replace(bare, call=_stub_call(first, 4, f"{builtins['tuple']}(", ")"))
        return replace(
            bare,
            kinds=self._kinds(builtins),
            elsewhere=self._elsewhere(builtins),
            branches=tuple([Branch(self._test(o, builtins), _stub_call(o, 12)) for o in self.overloads[1:]]),
            resolve=hugged(f"return {packet}.otherwise(", [p.name for p in first.parameters], ")", 8),
            # What is no tensor may suit another overload, or none: the error lists them all.
            lookup=lookups.of(first, packs_ints=False, callee=packet),
        )

    @property
    def _ints(self) -> int | None:
        """Return the position of ints that all overloads take one by one."""
        found = {o.ints for o in self.overloads}
        return found.pop() if len(found) == 1 else None

    def _is_keyword(self, position: int) -> bool:
        """Whether the argument is keyword-only: where overloads differ in that, it may be passed either way."""
        return all(o.parameters[position].argument.kwarg_only for o in self.overloads)

    def _kinds(self, builtins: BuiltinNames) -> tuple[tuple[str, str], ...]:
        names = [self.overloads[0].parameters[i].name for i in self.deciding]
        return tuple((_kind(i, len(names)), f"{builtins['type']}({name})") for i, name in enumerate(names))

    def _elsewhere(self, builtins: BuiltinNames) -> str:
        """Return the test that the first overload is not meant."""
        tests = []
        first = self.overloads[0]
        is_alone = len(self.deciding) == 1
        for i, position in enumerate(self.deciding):
            kind = _kind(i, len(self.deciding))
            exact = _kinds_of(first.parameters[position].argument.type, builtins) or ()
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
    """Return the exact types that tell that an overload with this type is meant."""
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
    return hugged(f"return {opening}{view.function}(", arguments, f"){closing}", indent)


def _merge(group: tuple[OperatorView, ...], builtins: BuiltinNames) -> _Merged | None:
    """Return the overloads that one straight-line function can tell apart, if those are all but the out variants."""
    overloads = [o for o in by_use(group) if o.operator.kind is not SchemaKind.OUT]
    if not overloads or any(o.is_generic for o in group):
        return None
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
    merged = _Merged(tuple(overloads), deciding)
    keywords = [merged._is_keyword(i) for i in positions]
    return merged if keywords == sorted(keywords) else None


def _has_lists(view: OperatorView) -> bool:
    return any(p.tensors not in (Tensors.NONE, Tensors.ONE, Tensors.OPTIONAL) for p in view.parameters)
