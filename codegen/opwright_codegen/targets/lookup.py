"""The straight-line part of a stub: which values need converting, and how the kernel is looked up."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from opwright_codegen.schema.model import SchemaKind
from opwright_codegen.schema.types import BaseType, ListType, OptionalType, Type
from opwright_codegen.views.annotations import Tensors
from opwright_codegen.views.layout import LINE, bracketed, condition
from opwright_codegen.views.names import BuiltinNames
from opwright_codegen.views.operators import OperatorView, Parameter

__all__ = ["EXACT", "Guard", "Lookup", "Lookups"]


@dataclass(frozen=True, slots=True)
class Guard:
    """The line that tests whether an argument needs converting, and the statement that does it. Without a test it
    always does."""

    test: str
    conversion: str


@dataclass(frozen=True, slots=True)
class Lookup:
    """What a template shows of it.

    `lists`: lines that test whether a list of tensors is none; `arrays`: the line that tests for plain arrays, '' where
    they have no entry of their own, or are looked for earlier; `keys`: '' where the runtime looks the kernel up, as for
    out variants; `more_keys`: statements behind `keys = …`.
    """

    operator: str
    guards: tuple[Guard, ...]
    lists: tuple[str, ...]
    arrays: str
    keys: str
    more_keys: tuple[str, ...]
    calls: Calls


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls that end a stub, laid out for where they stand: `call` is the Operator's, at the function's end, and
    `kernel` the kernel's, after `else`; the inner ones stand one level deeper."""

    call: str
    call_inner: str
    kernel: str
    kernel_inner: str

    @staticmethod
    def of(view: OperatorView) -> Calls:
        """The calls with all parameters, by position."""
        opening, closing = ("kernel(", ")") if view.result is None else (f"{view.result}(*kernel(", "))")
        call, kernel = f"return {view.private}.call({view.passed})", f"return {opening}{view.passed}{closing}"
        if max(len(call) + 8, len(kernel) + 12) <= LINE:
            return Calls(call, call, kernel, kernel)
        names = [parameter.name for parameter in view.parameters]
        head = f"return {view.private}.call("
        return Calls(
            bracketed(head, names, ")", 4),
            bracketed(head, names, ")", 8),
            _kernel_call(opening, names, closing, 8),
            _kernel_call(opening, names, closing, 12),
        )


def _kernel_call(opening: str, names: Sequence[str], closing: str, indent: int) -> str:
    text = f"return {opening}{', '.join(names)}{closing}"
    if closing == ")" or len(text) + indent <= LINE:
        return bracketed(f"return {opening}", names, closing, indent)
    pad = " " * indent
    inner = bracketed("*kernel(", names, ")", indent + 4)
    return f"return {opening.partition('*')[0]}\n{pad}    {inner}\n{pad})"


@dataclass(frozen=True, slots=True)
class _Piece:
    """What one argument adds. None: nothing."""

    guard: str | None = None
    list_test: str | None = None
    array_test: str | None = None
    keys: str | None = None
    more_keys: str | None = None


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
    """Makes the lookups of one module. Arguments that are the same add the same: what they add is kept."""

    def __init__(self, builtins: BuiltinNames) -> None:
        self._builtins = builtins
        self._pieces: dict[int, tuple[Parameter, _Piece]] = {}
        self._texts: set[str] = set()

    def of(self, view: OperatorView, *, packs_ints: bool = True) -> Lookup:
        """The lookup of an operator's kernel. `packs_ints`: a list of ints may still be in pieces.

        An out variant leaves it to the runtime: 20 lines each that few calls would gain by.
        """
        pieces = [self._piece(parameter) for parameter in view.parameters]
        guards = tuple(
            [
                Guard(
                    _condition(piece.guard) if piece.guard else "",
                    self._conversion(view.private, position, parameter, 8 if piece.guard else 4),
                )
                for position, (piece, parameter) in enumerate(zip(pieces, view.parameters, strict=True))
                if piece.guard is not None
            ]
        )
        if view.ints is not None and packs_ints:
            guards = (self.packing(view.parameters[view.ints]), *guards)
        if view.operator.kind is SchemaKind.OUT:
            return Lookup(view.private, guards, (), "", "", (), Calls.of(view))
        lists = tuple([condition(p.list_test.split(" and "), "and", 4) for p in pieces if p.list_test is not None])
        keys = [p.keys for p in pieces if p.keys is not None]
        arrays = ""
        if keys and not lists:
            tests = [p.array_test for p in pieces if p.array_test is not None]
            self._texts.update(tests)
            arrays = condition([*tests, "modes is None"], "and", 4)
        return Lookup(
            view.private,
            guards,
            lists,
            arrays,
            _keys(keys) if keys else "0",
            tuple([p.more_keys for p in pieces if p.more_keys is not None]),
            Calls.of(view),
        )

    def _conversion(self, operator: str, position: int, parameter: Parameter, indent: int) -> str:
        """The statement that converts an argument; one int for a list of a given length needs no call."""
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

    def plain_arrays(self, view: OperatorView, before: Sequence[str], known: Collection[int]) -> str:
        """The line that tests for plain arrays, where nothing was converted yet: after the tests `before`, which tell
        the parameters at `known`. '' where the test that an argument needs no converting is not one of its type."""
        tests = list(before)
        for position, parameter in enumerate(view.parameters):
            piece = self._piece(parameter)
            if piece.list_test is not None or piece.guard == "":
                return ""
            exact = _exact(parameter.argument.type)
            if piece.guard is not None and not exact:
                return ""
            if piece.array_test is not None and position not in known:
                tests.append(piece.array_test)
            if piece.guard is not None and position not in known:
                kind = f"{self._builtins['type']}({parameter.name})"
                is_exact = " or ".join([f"{kind} is {self._builtins[name]}" for name in exact])
                tests.append(f"({is_exact})" if len(exact) > 1 else is_exact)
                tests += [f"{parameter.name}.bit_length() < 64"] if _is_long(parameter) else []
        self._texts.update(tests)
        return condition([*tests, "active_modes() is None"], "and", 4)

    def packing(self, parameter: Parameter) -> Guard:
        """Makes a list of ints that are passed one by one."""
        name = parameter.name
        test = condition(["more", f"{self._builtins['type']}({name}) in INTS"], "or", 4)
        self._texts.add(test)
        return Guard(test, f"{name} = [{name}, *more]")

    def texts(self) -> Iterable[str]:
        """What lookups test and say, for finding the names they use."""
        yield from self._texts
        for _, piece in self._pieces.values():
            yield from (text for text in (piece.guard, piece.list_test) if text is not None)

    def _piece(self, parameter: Parameter) -> _Piece:
        known = self._pieces.get(id(parameter))
        if known is None:
            known = self._pieces[id(parameter)] = parameter, self._new_piece(parameter)
        return known[1]

    def _new_piece(self, parameter: Parameter) -> _Piece:
        name = parameter.name
        kind, list_ = self._builtins["type"], self._builtins["list"]
        match parameter.tensors:
            case Tensors.NONE:
                found = self._guard(parameter.argument.type, is_long=_is_long(parameter))
                return _Piece(guard=None if found is None else found.format(name))
            case Tensors.ONE:
                return _Piece(array_test=f"{kind}({name}) is ndarray", keys=f"{name}.keys")
            case Tensors.OPTIONAL:
                test = f"({name} is None or {kind}({name}) is ndarray)"
                return _Piece(array_test=test, more_keys=_lines(f"if {name} is not None:", f"keys |= {name}.keys"))
            case Tensors.LIST:
                loop = _lines(f"for item in {name}:", "keys |= item.keys")
                return _Piece(list_test=f"{kind}({name}) is not {list_}", more_keys=loop)
            case Tensors.LIST_OF_OPTIONAL:
                loop = _lines(f"for item in {name}:", "if item is not None:", "keys |= item.keys")
                return _Piece(list_test=f"{kind}({name}) is not {list_}", more_keys=loop)
            case Tensors.OPTIONAL_LIST:
                loop = _lines(f"if {name} is not None:", f"for item in {name}:", "keys |= item.keys")
                return _Piece(list_test=f"{name} is not None and {kind}({name}) is not {list_}", more_keys=loop)
            case Tensors.OTHER:
                return _Piece(list_test="True")

    def _guard(self, type: Type, *, is_long: bool = False) -> str | None:
        """The test, with `{0}` for the argument, that a value needs converting; '' if all do, None if none does.
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
    """The statement that asks a guard: tests with `and`, the last maybe in parentheses, or tests with `or`."""
    word = "and" if " and " in guard else "or"
    return condition(guard.split(f" {word} "), word, 4)


def _is_long(parameter: Parameter) -> bool:
    """Whether the argument is an int that no rule compares with the number of dimensions."""
    return parameter.name not in _DIMENSIONS and parameter.argument.type in (_INT, OptionalType(_INT))


def _exact(type: Type) -> tuple[str, ...]:
    """The Python types of which a value needs no converting, where that is all there is to test."""
    return EXACT.get(type.name, ()) if isinstance(type, BaseType) else ()


def _length_of_ints(type: Type) -> int | None:
    """How many ints a list of them has that one int may stand for."""
    match type:
        case OptionalType(elem):
            return _length_of_ints(elem)
        case ListType(BaseType("int" | "SymInt"), size):
            return size
        case _:
            return None


def _lines(*lines: str) -> str:
    """Nested statements, the first of which stands in a `try` of a function."""
    return "".join(f"\n{'    ' * (depth + 2)}{line}" if depth else line for depth, line in enumerate(lines))


def _keys(keys: Sequence[str]) -> str:
    text = " | ".join(keys)
    if len(text) + 15 <= LINE:
        return text
    inner = text if len(text) + 12 <= LINE else "\n            | ".join(keys)
    return f"(\n            {inner}\n        )"
