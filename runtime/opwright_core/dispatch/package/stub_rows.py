"""Stubs of operators whose arguments are tensors and what is converted, made of their declarations.

Note [Stubs by shape]
What a stub does follows from which of its arguments are tensors, `TTa`; it converts the others, `a`, where they are
neither the default nor of a type that kernels take as it is. A stub is the closure of that shape (Note [Unrolled
closures]) with the names and defaults of the operator's parameters: so Python binds its arguments, and says what is
wrong with them, as for a function that is written out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import FunctionType, NoneType
from typing import TYPE_CHECKING, Any, Final, cast

from opwright_core.arrays.devices import Device
from opwright_core.arrays.formats import Layout, MemoryFormat
from opwright_core.dispatch.call.conversion import Mismatch, is_dtype, is_int_list
from opwright_core.dispatch.call.keywords import NOT_GIVEN
from opwright_core.dispatch.call.lookup import find0, find1, find2, find3
from opwright_core.dispatch.call.signature import argument_error
from opwright_core.dispatch.package.declarations import REQUIRED, Argument
from opwright_core.names.late_imports import import_late
from opwright_core.unrolling import Definition

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator
    from opwright_core.dispatch.package.generated import Overloaded

__all__ = ["function_row", "stub_row"]

Function = Callable[..., Any]
Convert = Callable[[int, Any], Any]
# Of an argument: the default and two types, maybe the same, of which kernels take it as it is; what converts others.
Check = tuple[Any, type, type, Convert]
# N is set if arguments have other names, too: to gather names that there are none of takes 4 % of a small call.
_STUB: Final = Definition(
    """\
def stub({*: x#, }{N: *more, **named}):
    {N} if named or more: return callee.call_given(({*: x#, }), named, more)
    {a} if x# is not default# and type(x#) is not kind# and type(x#) is not other#: x# = convert#(#, x#)
    return find(operator, {T: x#, })({*: x#, })
""",
    globals(),
)
_FINDERS: Final = (find0, find1, find2, find3)
_EXACT: Final[dict[str, type]] = {
    **dict.fromkeys(("int", "SymInt", "DeviceIndex", "Scalar", "number"), int),
    **dict.fromkeys(("bool", "SymBool"), bool),
    **{kind.__name__: kind for kind in (float, str, Device, Layout, MemoryFormat)},
}
_NEVER: Final = type("Never", (), {})  # no argument is of this type
_INTS: Final = re.compile(r"(?:int|SymInt)\[(\d*)\]")
# Rules compare these with the number of dimensions. Of every other int a kernel expects that it has 64 bits.
_DIMENSIONS: Final = frozenset(
    ("dim", "dim0", "dim1", "dim2", "axis0", "axis1", "start_dim", "end_dim", "dimension", "source", "destination")
)


def _exact(text: str) -> type:
    """Return the type of Python that a declared one is, exactly."""
    if text == "Generator":  # (whose module few packages need)
        found: type = import_late("opwright_core.random_state.generator").Generator
        return found
    return _EXACT.get(text, _NEVER)


def stub_row(operator: Operator, name: str, module: str) -> Function:
    """Return the stub of one overload."""
    made = _stub(operator, None)
    return _named(made, operator, name, module, tuple([each.default for each in operator.arguments]))


def function_row(callee: Overloaded | Operator, operator: Operator, name: str, module: str) -> Function:
    """Return the function of a name that is the stub of its one overload. It takes arguments by other names, too."""
    defaults = [NOT_GIVEN if each.default is REQUIRED else each.default for each in operator.arguments]
    return _named(_stub(operator, callee), operator, name, module, tuple(defaults))


def _stub(operator: Operator, callee: Overloaded | Operator | None) -> Function:
    """Return the closure of an operator's shape; `callee` takes what is given by other names."""
    shape = "".join(["T" if each.type == "Tensor" else "a" for each in operator.arguments])
    checks = {
        f"{name}{at}": value
        for at, each in enumerate(operator.arguments)
        if each.type != "Tensor"
        for name, value in zip(("default", "kind", "other", "convert"), _check(operator, each), strict=True)
    }
    find = _FINDERS[shape.count("T")]
    return _STUB.make(shape, "N" if callee else "", callee=callee, operator=operator, find=find, **checks)


def _named(made: Function, operator: Operator, name: str, module: str, defaults: tuple[Any, ...]) -> Function:
    """Return the function with the names and the defaults of the operator's parameters."""
    function = cast(FunctionType, made)
    code = function.__code__
    names, positional = operator.signature.names, operator.signature.positional
    renamed = code.replace(
        co_name=name,
        co_qualname=name,
        co_varnames=(*names, *code.co_varnames[len(names) :]),
        co_argcount=positional,
        co_kwonlyargcount=len(names) - positional,
    )
    given = tuple([each for each in defaults[:positional] if each is not REQUIRED])
    found = FunctionType(renamed, function.__globals__, name, given, function.__closure__)
    found.__kwdefaults__ = {
        each: value
        for each, value in zip(names[positional:], defaults[positional:], strict=True)
        if value is not REQUIRED
    }
    found.__module__ = module
    return found


def _check(operator: Operator, argument: Argument) -> Check:
    """Return the type test of a stub for an argument that is no tensor."""
    text = argument.type.removesuffix("?")
    is_long = text == "int" and argument.name not in _DIMENSIONS
    kind = _NEVER if is_long else _exact(text)
    other = float if text in ("Scalar", "number") else NoneType if argument.type.endswith("?") else kind
    default = argument.default
    if type(default) not in (kind, other, int, NoneType):  # kernels do not take the default as it is written
        default = REQUIRED
    return default, kind, other, _conversion(operator, text, is_long)


def _conversion(operator: Operator, text: str, is_long: bool) -> Convert:
    if is_long:
        return _taken(operator, lambda value: type(value) is int and value.bit_length() <= 63)
    if text == "ScalarType":
        return _taken(operator, is_dtype)
    if ints := _INTS.fullmatch(text):
        return _ints(operator, int(ints[1])) if ints[1] else _taken(operator, is_int_list)
    return operator.convert


# These convert as `Operator.convert` does, and in as many frames: a warning about a value says who called the stub.


def _taken(operator: Operator, is_taken: Callable[[Any], bool]) -> Convert:
    """Return the conversion of what is not taken as it is."""

    def convert(position: int, value: Any) -> Any:
        if is_taken(value):
            return value
        try:
            return operator.signature.converters[position](value)
        except Mismatch as error:
            raise argument_error(operator, position, value, str(error)) from None

    return convert


def _ints(operator: Operator, size: int) -> Convert:
    """Return the conversion to a list of so many ints, which one may stand for."""

    def convert(position: int, value: Any) -> Any:
        if type(value) is int:
            return [value] if size == 1 else [value] * size
        if type(value) is list:
            for item in value:
                if type(item) is not int:
                    break
            else:
                return value
        try:
            return operator.signature.converters[position](value)
        except Mismatch as error:
            raise argument_error(operator, position, value, str(error)) from None

    return convert
