"""The statements of a stub: it converts what needs converting, has the runtime find the kernel, and calls that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opwright_codegen.records import dataclass
from opwright_codegen.schema.model import SchemaKind
from opwright_codegen.schema.types import BaseType, ListType, OptionalType, Type
from opwright_codegen.views.annotations import Tensors
from opwright_codegen.views.layout import LINE, bracketed, chained, condition, hugged
from opwright_codegen.views.names import BuiltinNames
from opwright_codegen.views.operators import OperatorView, Parameter, tuple_text

__all__ = ["EXACT", "Guard", "Lookup", "Lookups"]


@dataclass(frozen=True, slots=True)
class Guard:
    """The line that tests whether an argument needs converting, and the statement that does it. Without a test it
    always does."""

    test: str
    conversion: str


@dataclass(frozen=True, slots=True)
class Lookup:
    """The part of a stub that a template shows: the arguments that may need converting, and the call that ends it."""

    guards: tuple[Guard, ...]
    call: str


# The Python types of which a value needs no converting.
EXACT = {
    "int": ("int",),
    "SymInt": ("int",),
    "DeviceIndex": ("int",),
    "float": ("float",),
    "bool": ("bool",),
    "SymBool": ("bool",),
    "str": ("str",),
    "Scalar": ("int", "float"),
    "number": ("int", "float"),
}
_INT = BaseType("int")
_UNCHECKED = frozenset(("Any", "t"))
# Rules compare these with the number of dimensions. Of every other int a kernel expects that it has 64 bits.
_DIMENSIONS = frozenset(
    ("dim", "dim0", "dim1", "dim2", "axis0", "axis1", "start_dim", "end_dim", "dimension", "source", "destination")
)


class Lookups:
    """A maker of the lookups of one module. Arguments that are the same are tested the same: the tests are kept."""

    def __init__(self, builtins: BuiltinNames) -> None:
        self._builtins = builtins
        self._guards: dict[int, tuple[Parameter, str | None]] = {}
        self._texts: set[str] = set()

    def of(self, view: OperatorView, *, packs_ints: bool = True, callee: str = "") -> Lookup:
        """Return the lookup of an operator's kernel, asked of `callee`. `packs_ints`: a list of ints may still be in
        pieces."""
        guards = tuple(
            [
                Guard(
                    _condition(guard) if guard else "",
                    self._conversion(view.private, at, parameter, 4 + 4 * bool(guard)),
                )
                for at, parameter in enumerate(view.parameters)
                if (guard := self._guard_of(parameter)) is not None
            ]
        )
        if view.ints is not None and packs_ints:
            guards = (self.packing(view.parameters[view.ints]), *guards)
        names = [parameter.name for parameter in view.parameters]
        found = _finding(view, callee or view.private)
        if found is None:
            return Lookup(guards, hugged(f"return {view.private}.call(", names, ")", 4))
        function, arguments = found
        self._texts.add(function)
        if view.result is None:
            return Lookup(guards, chained(f"return {function}(", arguments, names, 4))
        return Lookup(guards, _result_call(view.result, function, arguments, names))

    def _conversion(self, operator: str, position: int, parameter: Parameter, indent: int) -> str:
        """Return the statement that converts an argument; one int for a list of a given length needs no call."""
        name = parameter.name
        converted = f"{operator}.convert({position}, {name})"
        length = _length_of_ints(parameter.argument.type)
        if length is not None:
            repeated = f"[{', '.join([name] * length)}]"
            text = (
                f"{name} = {repeated} if {self._builtins['type']}({name}) is {self._builtins['int']} else {converted}"
            )
            if len(text) + indent <= LINE:
                self._texts.add(text)
                return text
        return bracketed(f"{name} = {operator}.convert(", [str(position), name], ")", indent)

    def packing(self, parameter: Parameter) -> Guard:
        """Make a list of ints that are passed one by one."""
        name = parameter.name
        test = condition(["more", f"{self._builtins['type']}({name}) in INTS"], "or", 4)
        self._texts.add(test)
        return Guard(test, f"{name} = [{name}, *more]")

    def texts(self) -> Iterable[str]:
        """Yield what lookups test and say, for finding the names they use."""
        yield from self._texts
        yield from (guard for _, guard in self._guards.values() if guard is not None)

    def _guard_of(self, parameter: Parameter) -> str | None:
        """Return the test that an argument needs converting; '' if it always does, None if it never does."""
        known = self._guards.get(id(parameter))
        if known is None:
            guard = None
            if parameter.tensors is Tensors.NONE:
                found = self._guard(parameter.argument.type, is_long=_is_long(parameter))
                guard = None if found is None else found.format(parameter.name)
            known = self._guards[id(parameter)] = parameter, guard
        return known[1]

    def _guard(self, type: Type, *, is_long: bool = False) -> str | None:
        """Return the test, with `{0}` for the argument, that a value needs converting; '' if all do, None if none does.
        `is_long`: so does an int that 64 bits may not hold."""
        match type:
            case OptionalType(elem):
                inner = self._guard(elem, is_long=is_long)
                if not inner:
                    return None if inner is None else "{0} is not None"
                return f"{{0}} is not None and ({inner})" if " or " in inner else f"{{0}} is not None and {inner}"
            case ListType(BaseType("int" | "SymInt")):
                return "not is_int_list({0})"
            case BaseType("int") if is_long:
                is_other = f"{self._builtins['type']}({{0}}) is not {self._builtins['int']}"
                return f"{is_other} or {{0}}.bit_length() > 63"
            case BaseType(name) if name in EXACT:
                kind = self._builtins["type"]
                return " and ".join(f"{kind}({{0}}) is not {self._builtins[exact]}" for exact in EXACT[name])
            case BaseType("ScalarType"):
                return "not is_dtype({0})"
            case BaseType("Device" | "Layout" | "MemoryFormat" | "Generator" as name):
                return f"{self._builtins['type']}({{0}}) is not {name}"
            case BaseType(name) if name in _UNCHECKED:
                return None
            case _:
                return ""


def _condition(guard: str) -> str:
    """Return the statement that asks a guard: tests with `and`, the last maybe in parentheses, or tests with `or`."""
    word = "and" if " and " in guard else "or"
    return condition(guard.split(f" {word} "), word, 4)


def _is_long(parameter: Parameter) -> bool:
    """Whether the argument is an int that no rule compares with the number of dimensions."""
    return parameter.name not in _DIMENSIONS and parameter.argument.type in (_INT, OptionalType(_INT))


def _length_of_ints(type: Type) -> int | None:
    """Return how many ints a list of them has that one int may stand for."""
    match type:
        case OptionalType(elem):
            return _length_of_ints(elem)
        case ListType(BaseType("int" | "SymInt"), size):
            return size
        case _:
            return None


def _finding(view: OperatorView, callee: str) -> tuple[str, list[str]] | None:
    """Return the function of `opwright.lookup` that finds the kernel for the tensors that the operator takes, and its
    arguments. None where the runtime finds it, as for out variants."""
    held = [(p.name, p.tensors) for p in view.parameters if p.tensors is not Tensors.NONE]
    ones, optional, lists, items = (
        [name for name, tensors in held if tensors is kind]
        for kind in (Tensors.ONE, Tensors.OPTIONAL, Tensors.LIST, Tensors.LIST_OF_OPTIONAL)
    )
    if view.operator.kind is SchemaKind.OUT or len(ones) + len(optional) + len(lists) + len(items) < len(held):
        return None
    match len(ones), len(optional), len(lists), len(items):
        case (0 | 1 | 2 | 3 as count, 0, 0, 0):
            return f"find{count}", [callee, *ones]
        case (_, _, 0, 0):
            return "find_some", [callee, tuple_text(ones), *optional]
        case (0, 0, 1, 0):
            return "find_list", [callee, *lists]
        case (_, 0, 0, _):
            return "find_items", [callee, tuple_text(ones), *items]
        case _:
            return None


def _result_call(result: str, function: str, arguments: Sequence[str], names: Sequence[str]) -> str:
    text = f"return {result}(*{function}({', '.join(arguments)})({', '.join(names)}))"
    if len(text) + 4 <= LINE:
        return text
    return f"return {result}(\n        {chained(f'*{function}(', arguments, names, 8)}\n    )"
