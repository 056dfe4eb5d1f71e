"""Python names for operators, overloads and arguments: deterministic, valid, and never the same for two things.

Note [Names of generated functions]
`aten::add.Tensor` has the stub `add_Tensor` and the Operator `_add_Tensor`; the packet `add` stands for all overloads.
The overload without a name is `add_default`, or plain `add` where it is the only one. Two wishes for one name are
settled in this order: packets (what users write) before stubs before Operators, and each in the order of the schema
files; the later one gets trailing underscores. So does a name that is a keyword, or that the module needs itself.
A lower-case builtin is no such name: an operator may be called `sum`, and the module then says `builtins.sum`.
"""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Collection, Iterable, Mapping

from opwright_codegen.records import dataclass
from opwright_codegen.schema.model import Argument, FunctionSchema, SchemaKind
from opwright_codegen.schema.types import BaseType, ListType

__all__ = [
    "OTHER_NAMES",
    "RESERVED",
    "BuiltinNames",
    "Namer",
    "NamespaceNames",
    "PacketNames",
    "StubNames",
    "argument_names",
    "is_word",
    "returns_list",
]

# What generated modules import or define beside operators; capitalised builtins, too, that their code mentions.
RESERVED = frozenset(
    (
        "ARRAYS", "INTS", "NOT_GIVEN", "OPERANDS", "PLACES", "TYPE_CHECKING", "A", "Any", "AttributeError", "Backend",
        "Callable", "ClassVar", "DType", "Declarations", "Device", "Generator", "Generic", "KeyError", "Layout",
        "MemoryFormat", "NDArray", "NamedTuple", "Namespace", "NotImplemented", "Operator", "Overloaded", "Packet",
        "Scalar", "Sequence", "Storage", "Stream", "Tensor", "TensorLike", "TensorMethods", "TypeAlias", "TypeError",
        "TypeVar", "active_modes", "annotations", "as_tuple", "builtins", "declare", "find0", "find1", "find2", "find3",
        "find_items", "find_list", "find_some", "function_of", "install", "is_dtype", "is_int_list", "ndarray",
        "overload", "result_class", "stub_of", "__all__", "__annotate__", "__annotations__", "__builtins__",
        "__cached__", "__class__", "__debug__", "__dict__", "__dir__", "__doc__", "__file__", "__getattr__",
        "__loader__", "__name__", "__package__", "__path__", "__spec__", "_calls",
    )
)  # fmt: skip

# Local variables of stubs, and builtins that their code calls: an argument of that name would hide them.
_LOCALS = frozenset(
    (
        "_op",
        "args",
        "bool",
        "builtins",
        "float",
        "int",
        "item",
        "kernel",
        "keys",
        "kind",
        "kwargs",
        "len",
        "list",
        "modes",
        "more",
        "named",
        "str",
        "type",
    )
)
_HIDING = RESERVED | _LOCALS
_TENSORS = ListType(BaseType("Tensor"), None)

# Note [Other names of arguments]
# PyTorch's functions call `self` `input`, and take NumPy's names besides. So do ours; what each stands for is looked up
# by `dispatch.call.keywords`. A parameter that has other names, or no default, is NOT_GIVEN where the caller leaves
# it out.
OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "self": ("input", "x", "a", "x1"),
    "input": ("x", "a", "x1"),
    "other": ("x2",),
    "dim": ("axis",),
    "keepdim": ("keepdims",),
}


def is_word(name: str) -> bool:
    """Whether Python takes the name as it is."""
    return name.isidentifier() and not keyword.iskeyword(name) and name != "__debug__"


class Namer:
    """A scope that gives out its names, each once."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._taken = set(reserved)

    def claim(self, wanted: str) -> str:
        """Claim the name wanted, with as many underscores after it as make it a free one."""
        taken = self._taken
        while wanted in taken or not is_word(wanted):
            wanted += "_"
        taken.add(wanted)
        return wanted

    def __contains__(self, name: str) -> bool:
        return name in self._taken


@dataclass(frozen=True, slots=True)
class StubNames:
    """The stub of an operator, the Operator object behind it, the class of several named results, and the function that
    calls it: the stub, or the one for all overloads where it `is_merged` with that."""

    stub: str
    operator: str
    result: str | None
    function: str
    is_merged: bool


@dataclass(frozen=True, slots=True)
class PacketNames:
    """The function for all overloads, and the Packet object behind it, None where one overload's stub is enough: not
    where that returns a list, which functions make a tuple, as PyTorch's do."""

    function: str
    packet: str | None


@dataclass(frozen=True, slots=True)
class NamespaceNames:
    """The names of one module `ops`: by the operators' qualified names, and by the packets' base names."""

    stubs: Mapping[str, StubNames]
    packets: Mapping[str, PacketNames]
    taken: Collection[str]

    @property
    def of_module(self) -> frozenset[str]:
        """Return all names that modules of operators define."""
        own = {name for found in self.stubs.values() for name in (found.stub, found.operator, found.result or "")}
        return frozenset((*own, *self.taken, *(found.packet or "" for found in self.packets.values())))

    def of_packet(self, base: str, operators: Iterable[str]) -> frozenset[str]:
        """Return the names of the functions that a packet calls: no argument of its `operators` may hide it."""
        own = {
            name
            for found in map(self.stubs.__getitem__, operators)
            for name in (found.stub, found.operator, found.result or "")
        }
        packet = self.packets[base].packet
        return frozenset(own if packet is None else own | {packet})

    @staticmethod
    def of(schemas: Mapping[str, FunctionSchema]) -> NamespaceNames:
        """Make names for the operators of one namespace, given in schema order."""
        overloads: dict[str, list[str]] = {}
        for schema in schemas.values():
            overloads.setdefault(schema.name.base, []).append(schema.name.overload)
        alone = {s.name.base for s in schemas.values() if len(overloads[s.name.base]) == 1 and not returns_list(s)}
        merged = _merged(schemas) | {name for name, s in schemas.items() if s.name.base in alone}
        namer = Namer(RESERVED)
        functions = {base: namer.claim(base) for base in overloads}
        stubs = {name: _stub_name(schema, alone, functions, namer) for name, schema in schemas.items()}
        private = {name: namer.claim(f"_{stub}") for name, stub in stubs.items()}
        packets = {
            base: PacketNames(function, None if base in alone else namer.claim(f"_{function}"))
            for base, function in functions.items()
        }
        operators = {
            name: StubNames(
                stub,
                private[name],
                _result_name(schemas[name], stub, namer),
                functions[schemas[name].name.base] if name in merged else stub,
                name in merged,
            )
            for name, stub in stubs.items()
        }
        results = [names.result for names in operators.values() if names.result is not None]
        public = {*functions.values(), *stubs.values(), *results}
        return NamespaceNames(operators, packets, public)


def _merged(schemas: Mapping[str, FunctionSchema]) -> set[str]:
    """Return the operators whose stub can be the function for all overloads: the others are out variants, and no
    argument has a name that the function needs."""
    groups: dict[str, list[tuple[str, FunctionSchema]]] = {}
    for name, schema in schemas.items():
        if schema.kind is not SchemaKind.OUT:
            groups.setdefault(schema.name.base, []).append((name, schema))
    return {
        group[0][0]
        for base, group in groups.items()
        if len(group) == 1 and not returns_list(group[0][1]) and not _needs_binding(group[0][1], base)
    }


def _needs_binding(schema: FunctionSchema, base: str) -> bool:
    names = [argument.name for argument in schema.arguments]
    return schema.is_vararg or any(_is_hiding(name, ()) or name.lstrip("_").startswith(base) for name in names)


def returns_list(schema: FunctionSchema) -> bool:
    """Whether the operator returns a list of tensors."""
    return len(schema.returns) == 1 and schema.returns[0].type == _TENSORS


def _result_name(schema: FunctionSchema, stub: str, namer: Namer) -> str | None:
    """Return the name of the class of what the operator returns: several values with names that fields may have."""
    names = [returned.name or "" for returned in schema.returns]
    fits = all(is_word(name) and not name.startswith("_") for name in names)
    if len(names) < 2 or not fits or len(set(names)) != len(names) or schema.is_varret:
        return None
    return namer.claim(f"{stub}_result")


def _stub_name(schema: FunctionSchema, alone: Collection[str], functions: Mapping[str, str], namer: Namer) -> str:
    name = schema.name
    if not name.overload and name.base in alone:
        return functions[name.base]
    return namer.claim(f"{name.base}_{name.shown_overload}")


def argument_names(arguments: Iterable[Argument], hidden: Collection[str] = ()) -> tuple[str, ...]:
    """Return what a stub calls its parameters: the schema's names, save those that are keywords or hide what it needs,
    and the second of two that are the same, as definitions at run time may have them.

    `hidden` are names of functions and objects that it needs beside those that all do.
    """
    names = [argument.name for argument in arguments]
    if len({*names}) == len(names) and not any(_is_hiding(name, hidden) for name in names):
        return tuple(names)
    namer = Namer((*_HIDING, *hidden))
    kept = {name: namer.claim(name) for name in names if not _is_hiding(name, hidden)}
    return tuple([kept.pop(name, "") or namer.claim(name) for name in names])


def _is_hiding(name: str, hidden: Collection[str]) -> bool:
    """Whether a name hides a type of a deciding argument, which packets call `kind`, `kind1`, `kind2` and so on."""
    return name in _HIDING or name in hidden or name.startswith("kind") or not is_word(name)


_BUILTINS = frozenset(name for name in dir(builtins) if name.islower() and not name.startswith("_"))


class BuiltinNames(dict[str, str]):
    """The spelling of builtins in a module: plain, or through the module `builtins` where a function hides one."""

    def __init__(self, taken: Collection[str]) -> None:
        super().__init__({name: f"builtins.{name}" if name in taken else name for name in _BUILTINS})
        self._taken = frozenset(taken)

    def hides(self, names: Iterable[str]) -> bool:
        """Whether the module has a function of one of these names."""
        return not self._taken.isdisjoint(names)
