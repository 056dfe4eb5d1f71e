"""An operator's arguments, as calls need them: positions, converters, defaults, which are tensors, which are written.

Made from the declaration when an operator is first called the general way, so that importing thousands costs little.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from opwright.arrays.dtypes import dtype_name
from opwright.dispatch.conversion import Convert, Mismatch, converter, is_tensor_like, plain_type
from opwright.dispatch.declarations import REQUIRED
from opwright.dispatch.keywords import NOT_GIVEN, unknown_name
from opwright.errors import ArgumentError
from opwright.names.late_imports import import_late
from opwright.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright.dispatch.operator import Operator

__all__ = ["REQUIRED", "Signature", "TensorArgument", "argument_error", "element"]

_ALIAS: Final = re.compile(r"Tensor\((\w+)")


def _hints() -> Any:
    return import_late("opwright.inspection.other_libraries")  # for errors alone


class TensorArgument(NamedTuple):
    """A Tensor-like argument: where it stands, whether it is a list, and what of it may be None."""

    position: int
    is_list: bool
    is_optional: bool
    has_optional_items: bool


class Signature:
    """The arguments of one operator. Immutable once made.

    `tensors`: the Tensor-like arguments. `written`: positions of those that the call writes (`int! x` is declared, too,
    and nobody can write a number).
    `returns`: types without annotations. `aliases`: per return, the position of the argument it aliases, or None.
    """

    __slots__ = (
        "aliases", "converters", "defaults", "device", "fewest", "is_plain", "names", "operator", "positional",
        "positions", "returns", "tensors", "types", "written",
    )  # fmt: skip

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        arguments, returns, _ = operator.parts
        self.names: tuple[str, ...] = tuple([argument.name for argument in arguments])
        self.types: tuple[str, ...] = tuple([argument.type for argument in arguments])
        self.positions = {name: position for position, name in enumerate(self.names)}
        self.positional = sum([not argument.is_keyword_only for argument in arguments])
        self.converters: tuple[Convert, ...] = tuple(map(converter, self.types))
        self.defaults: tuple[Any, ...] = tuple(
            REQUIRED if argument.default is REQUIRED else self._default(position, argument.default)
            for position, argument in enumerate(arguments)
        )
        required = [position for position, default in enumerate(self.defaults) if default is REQUIRED]
        # How many positional arguments a call needs that names none; more than there can be if one must be named.
        self.fewest = 1 + max(required, default=-1)
        self.tensors = tuple(
            TensorArgument(position, "[" in text, text[-1] == "?", "?[" in text)
            for position, text in enumerate(self.types)
            if is_tensor_like(text)
        )
        self.is_plain = self.positional == len(self.names) and all(default is REQUIRED for default in self.defaults)
        devices = [position for position, text in enumerate(self.types) if text.rstrip("?") == "Device"]
        self.device: int | None = devices[0] if devices and not self.tensors else None
        annotated = [argument.annotated for argument in arguments]
        self.returns = tuple(map(plain_type, returns))
        self.written = frozenset([each.position for each in self.tensors if "!" in annotated[each.position]])
        self.aliases = _aliases(annotated, returns)

    def _default(self, position: int, value: Any) -> Any:
        """Return the default as kernels receive it: `int[2] x=1` means [1, 1]."""
        try:
            return self.converters[position](value)
        except Mismatch:
            return value

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Return every argument in order, defaults filled in and all but tensors converted.

        Raises ArgumentError for too many or missing arguments, unknown or repeated names, and values of wrong types.
        """
        count = len(args)
        if count > self.positional:
            raise self._too_many(args)
        bound = [*args, *self.defaults[count:]]
        for name, value in kwargs.items():
            position = self.positions.get(name)
            if position is None:
                raise self._unknown(name)
            if position < count:
                raise _error(self.operator, f"argument '{name}' (position {position}) is given by position and by name")
            bound[position] = value
        for position, value in enumerate(bound):
            if value is REQUIRED:
                raise self._missing(bound)
            default = self.defaults[position]
            if value is default:
                bound[position] = list(value) if type(value) is list else value
            else:
                try:
                    bound[position] = self.converters[position](value)
                except Mismatch as error:
                    raise argument_error(self.operator, position, value, str(error)) from None
        return bound

    def split(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Split the call as kernels written in Python see it: keyword-only arguments by name, and neither trailing
        positional arguments nor keyword-only ones that equal their defaults."""
        end = self.positional
        defaults = self.defaults
        while end and _equal(args[end - 1], defaults[end - 1]):
            end -= 1
        kwargs = {}
        for position in range(self.positional, len(args)):
            value = args[position]
            if value is not defaults[position] and not _equal(value, defaults[position]):
                kwargs[self.names[position]] = value
        return args[:end], kwargs

    def _too_many(self, args: tuple[Any, ...]) -> ArgumentError:
        count = len(args)
        message = f"takes {self.positional} positional argument{_s(self.positional)} but {count} were given"
        if count <= len(self.names):
            name, is_written = self.names[self.positional], self.positional in self.written
            message += f"; '{name}' is keyword-only"
            message += "" if is_written else f": {name}={_cut(args[self.positional])}"
        return _error(self.operator, message)

    def _missing(self, bound: list[Any]) -> ArgumentError:
        missing = [position for position, value in enumerate(bound) if value is REQUIRED]
        what = "values for arguments" if missing[1:] else "a value for argument"
        named = ", ".join([f"'{self.names[position]}' (position {position})" for position in missing])
        hint = _hints().numpys_default(self.operator.base, [self.names[position] for position in missing])
        return _error(self.operator, f"is missing {what} {named}{hint}")

    def _unknown(self, name: str) -> ArgumentError:
        return _error(self.operator, unknown_name(name, self.names, has_others=False))


def _aliases(arguments: Sequence[str], returns: Sequence[str]) -> tuple[int | None, ...]:
    """Return the position of the argument that each result is declared to be an alias of."""
    sets = {found[1]: position for position, text in enumerate(arguments) if (found := _ALIAS.search(text))}
    return tuple([found and sets.get(found[1]) for found in map(_ALIAS.search, returns)])


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _equal(value: Any, default: Any) -> bool:
    """Whether a converted argument is its default. 0.0 and -0.0 differ, and so do 1 and True; no tensor is equal."""
    if value is default:
        return True
    if type(value) is not type(default) or hasattr(value, "shape"):
        return False
    if isinstance(value, float | complex):
        return bool(value == default and value) or repr(value) == repr(default)
    return bool(value == default)


def _error(operator: Operator, problem: str) -> ArgumentError:
    return ArgumentError(f"{operator.name}() {problem}\nDeclaration: {operator.name}{operator.declaration}")


def argument_error(operator: Operator, position: int, value: Any, reason: str = "") -> ArgumentError:
    """Return the error for a value that its argument's type does not take."""
    name, text, *_ = operator.arguments[position]
    if value is NOT_GIVEN:
        hint = _hints().numpys_default(operator.base, [name])
        return _error(operator, f"is missing a value for argument '{name}' (position {position}){hint}")
    problem = f"expected {text} for argument '{name}' (position {position}), got {_shown(value)}"
    hint = _hints().how_to_make_tensor(value) if text.startswith("Tensor") else ""
    return _error(operator, (f"{problem}: {reason}" if reason else problem) + hint)


def element(index: int, item: Any) -> str:
    """Return the reason where an element of a list does not fit."""
    return f"element {index} is {_shown(item)}"


def _shown(value: Any) -> str:
    """Return the type and the value, cut short."""
    if value is None:
        return "None"
    if isinstance(value, Tensor):
        return f"a {dtype_name(value.dtype)} Tensor of shape {list(value.shape)}"  # overloads are tried: no formatting
    return f"{_hints().full_name(type(value))} {_cut(value)}"


def _cut(value: Any) -> str:
    """Return a value as it prints, cut short; `...` for a tensor, since overloads are tried."""
    if isinstance(value, Tensor):
        return "..."
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:77] + "..."
