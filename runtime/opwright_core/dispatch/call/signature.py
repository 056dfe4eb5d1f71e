"""An operator's arguments, as calls need them: positions, converters, defaults, which are tensors, which are written.

Made from the declaration when an operator is first called the general way, so that importing thousands costs little.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from opwright_core.dispatch.call.conversion import Convert, Mismatch, converter, is_tensor_like, plain_type
from opwright_core.dispatch.package.declarations import REQUIRED
from opwright_core.errors import ArgumentError
from opwright_core.names.late_imports import import_late

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["REQUIRED", "Signature", "TensorArgument", "argument_error", "element"]

_ALIAS: Final = re.compile(r"Tensor\((\w+)")


def _errors() -> Any:
    return import_late("opwright_core.texts.signature_errors")  # for errors alone


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
        "positions", "required", "returns", "tensors", "types", "written",
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
        self.required = [position for position, default in enumerate(self.defaults) if default is REQUIRED]
        # How many positional arguments a call needs that names none; more than there can be if one must be named.
        self.fewest = 1 + max(self.required, default=-1)
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
            raise _errors().too_many(self, args)
        bound = [*args, *self.defaults[count:]]
        for name, value in kwargs.items():
            position = self.positions.get(name)
            if position is None:
                raise _errors().unknown(self, name)
            if position < count:
                raise _errors().given_twice(self, name)
            bound[position] = value
        for position, value in enumerate(bound):
            if value is REQUIRED:
                raise _errors().missing(self, bound)
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
        while end and defaults[end - 1] is not REQUIRED and _equal(args[end - 1], defaults[end - 1]):
            end -= 1
        kwargs = {}
        for position in range(self.positional, len(args)):
            value = args[position]
            if value is not defaults[position] and not _equal(value, defaults[position]):
                kwargs[self.names[position]] = value
        return args[:end], kwargs


def _aliases(arguments: Sequence[str], returns: Sequence[str]) -> tuple[int | None, ...]:
    """Return the position of the argument that each result is declared to be an alias of."""
    sets = {found[1]: position for position, text in enumerate(arguments) if (found := _ALIAS.search(text))}
    return tuple([found and sets.get(found[1]) for found in map(_ALIAS.search, returns)])


def _equal(value: Any, default: Any) -> bool:
    """Whether a converted argument is its default. 0.0 and -0.0 differ, and so do 1 and True; no tensor is equal."""
    if value is default:
        return True
    if type(value) is not type(default) or hasattr(value, "shape"):
        return False
    if isinstance(value, float | complex):
        return bool(value == default and value) or repr(value) == repr(default)
    return bool(value == default)


def argument_error(operator: Operator, position: int, value: Any, reason: str = "") -> ArgumentError:
    """Return the error for a value that its argument's type does not take."""
    found: ArgumentError = _errors().argument_error(operator, position, value, reason)
    return found


def element(index: int, item: Any) -> str:
    """Return the reason where an element of a list does not fit."""
    return f"element {index} is {_errors().shown(item)}"
