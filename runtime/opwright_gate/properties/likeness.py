"""Declarations beside those of references: what may be left out, what is written, shared and may be None."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.package.declarations import REQUIRED
from opwright_gate.properties.property import Problem, Property
from opwright_gate.properties.schema import differ
from opwright_gate.references import Reference
from opwright_gate.samples import Samples
from opwright_gate.subjects import Subject
from opwright_gate.verdicts import Verdict

__all__ = ["Likeness"]


class Likeness(Property):
    """The declaration of an operator beside that of its reference."""

    name, title, group = "declared-as-reference", "Is declared as its reference is", "schema"
    finds = "A default, type, write or view that the operator declares otherwise than what it is compared with."
    example = 'reference("mylib::scale", lambda x, by=2.0: x * by)  # declared scale(Tensor x, float by=3.0) -> Tensor'
    mend = "Declare what is meant; a reference that has no default of its own says nothing about it."

    def applies(self, subject: Subject) -> bool | str:
        """Whether there is a reference."""
        return subject.reference is not None

    def check(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield a verdict for each difference."""
        known = subject.reference
        assert known is not None
        found = _of_function(subject, known) if known.declaration is None else _of_operator(subject, known.declaration)
        for cause, name, here, there in found:
            yield self.broken(subject, None, Problem(cause, f"{name} {here}, and {known.said}'s {there}"))


def _of_function(subject: Subject, known: Reference) -> Iterator[tuple[str, str, str, str]]:
    """Yield defaults that are not those of a function's parameters, which go by position."""
    try:
        parameters = list(inspect.signature(known.function).parameters.values())
    except (TypeError, ValueError):
        return
    signature = subject.operator.signature
    for name, default, parameter in zip(signature.names, signature.defaults, parameters, strict=False):
        if parameter.kind is parameter.VAR_POSITIONAL:
            return
        if parameter.default is not parameter.empty and default is not REQUIRED and differ(parameter.default, default):
            yield "default-differs", name, _default(default), _default(parameter.default)


def _of_operator(subject: Subject, other: Operator) -> Iterator[tuple[str, str, str, str]]:
    one, two = subject.operator.signature, other.signature
    for place, name in enumerate(one.names[: len(two.names)]):
        if one.types[place] != two.types[place]:
            yield "type-differs", name, f"is {one.types[place]}", f"is {two.types[place]}"
        elif _unlike(one.defaults[place], two.defaults[place]):
            yield "default-differs", name, _default(one.defaults[place]), _default(two.defaults[place])
        if (place in one.written) != (place in two.written):
            here, there = ("is written" if place in each.written else "is only read" for each in (one, two))
            yield "write-differs", name, here, there
    if one.aliases != two.aliases:
        yield "alias-differs", "what is returned", _aliases(one.aliases), _aliases(two.aliases)


def _default(value: Any) -> str:
    return "has no default" if value is REQUIRED else f"is {value!r} by default"


def _aliases(found: Any) -> str:
    return f"is the memory of {', '.join('nothing' if each is None else f'argument {each}' for each in found)}"


def _unlike(one: Any, other: Any) -> bool:
    if (one is REQUIRED) != (other is REQUIRED):
        return True
    return one is not REQUIRED and differ(one, other)
