"""Declarations of memory, read off alias annotations; and the declaration that would have been true."""

from __future__ import annotations

import re
from itertools import chain
from string import ascii_lowercase
from typing import TYPE_CHECKING, Final

from opwright_core.keys import DispatchKey

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["Declared"]

_ANNOTATION: Final = re.compile(r"Tensor\(([^)]*)\)")


class Declared:
    """The alias sets of the arguments and results of an operator: `{"a"}` for `Tensor(a!)`, `{"*"}` for all memory.
    That of `Tensor!` has no name, and nothing else can be in it."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        arguments, self._returns, _ = operator.parts
        self._arguments = [argument.annotated for argument in arguments]
        self.arguments = [*map(_sets, self._arguments)]
        self.returns = [*map(_sets, self._returns)]

    @property
    def is_composite(self) -> bool:
        """Whether the operator is made of others, which are what is recorded: what it says of memory is only what may
        be, as of `reshape`, and nobody relies on it."""
        return bool(self._operator.registrations.get(DispatchKey.CompositeImplicitAutograd))

    def may_share(self, result: int, argument: int) -> bool:
        """Whether a result may lie in the memory of an argument."""
        return _meet(self.returns[result], self.arguments[argument])

    def may_meet(self, result: int, other: int) -> bool:
        """Whether two results may lie in one memory."""
        return _meet(self.returns[result], self.returns[other])

    def with_write(self, argument: int) -> str:
        """Return the declaration in which that argument is written to."""
        name = self._operator.signature.names[argument]
        letter = next(iter(self.arguments[argument] - {"*"}), self._free_letter())
        return f"write `{_annotated(self._arguments[argument], f'{letter}!')} {name}` in its schema"

    def with_alias(self, result: int, argument: int) -> str:
        """Return the declaration in which that result may be a view of the argument."""
        name = self._operator.signature.names[argument]
        letter = next(iter(self.arguments[argument] - {"*"}), self._free_letter())
        is_write = "!" if argument in self._operator.signature.written else ""
        return (
            f"write `{_annotated(self._arguments[argument], letter + is_write)} {name}` and "
            f"`-> {_annotated(self._returns[result], letter + is_write)}` in its schema"
        )

    def _free_letter(self) -> str:
        taken = set(chain(*self.arguments, *self.returns))
        return next(letter for letter in ascii_lowercase if letter not in taken)


def _sets(text: str) -> frozenset[str]:
    found = _ANNOTATION.search(text)
    return frozenset(re.findall(r"\w+|\*", found[1])) if found else frozenset()


def _meet(first: frozenset[str], second: frozenset[str]) -> bool:
    return bool(first and second and (first & second or "*" in first | second))


def _annotated(text: str, annotation: str) -> str:
    return re.sub(r"Tensor(\([^)]*\)|!)?", f"Tensor({annotation})", text, count=1)
