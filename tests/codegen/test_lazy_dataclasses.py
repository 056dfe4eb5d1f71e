"""Records are dataclasses that are made late: each kind of field gives what the standard library's gives."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cached_property
from typing import Any

import pytest

from opwright_codegen import records

pytestmark = pytest.mark.once  # the runtime is not loaded


def classes(dataclass: Callable[..., Any], field: Callable[..., Any]) -> list[Any]:
    """Return classes of each kind, made by one of the two."""

    class Facts:
        __slots__ = ()

        @property
        def twice(self) -> Any:
            return 2 * self.first  # type: ignore[attr-defined]

    @dataclass(frozen=True, slots=True)
    class Plain(Facts):
        first: int
        second: str = "b"

    @dataclass(frozen=True, slots=True)
    class Derived(Plain):
        third: tuple[int, ...] = field(default=(), compare=False, repr=False)
        fourth: int = field(default=4, kw_only=True)

    @dataclass(frozen=True, slots=True)
    class Made:
        first: int
        table: dict[str, int] = field(default_factory=dict, hash=False)
        own: list[int] = field(default_factory=list, init=False, compare=False)
        kept: int = field(init=False, repr=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "kept", self.first + 1)

    @dataclass(frozen=True)
    class Cached:
        first: int = 7

        @cached_property
        def square(self) -> int:
            return self.first**2

    @dataclass(slots=True)
    class Open:
        first: int = 0

    @dataclass(frozen=True, slots=True, eq=False)
    class Itself:
        first: int = 0

    @dataclass(frozen=True, slots=True)
    class Own:
        first: Any

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own) and type(self.first) is type(other.first) and self.first == other.first

        def __hash__(self) -> int:
            return hash((type(self.first), self.first))

    @dataclass(frozen=True, slots=True)
    class Empty:
        pass

    return [Plain, Derived, Made, Cached, Open, Itself, Own, Empty]


CALLS: tuple[tuple[tuple[Any, ...], dict[str, Any]], ...] = (
    ((), {}), ((1,), {}), ((True,), {}), ((1, "b"), {}), ((1, "c", (3,)), {}), ((1,), {"fourth": 5}),
    ((), {"first": 1}), ((1, {"a": 2}), {}), ((1,), {"none": 2}), ((1, 2, 3, 4, 5), {}), ((float("nan"),), {}),
)  # fmt: skip


def observed(cls: Any, replace: Callable[..., Any]) -> list[Any]:
    """Return all that can be told of a class by calls of it."""
    found: list[Any] = [cls.__match_args__, cls.__name__, cls.__hash__ is None]
    made = []
    for args, kwargs in CALLS:
        try:
            made.append(cls(*args, **kwargs))
        except TypeError as error:
            found.append(str(error))
    for each in made:
        found.append(repr(each) if cls.__name__ != "Itself" else each.first)
        found += [repr(getattr(each, name, None)) for name in ("first", "twice", "third", "own", "kept", "square")]
        found += [each == other for other in made] + [each != each, each == 1]
        try:
            found += [hash(each) == hash(other) for other in made if each == other]
        except TypeError as error:
            found.append(str(error))
        try:
            each.first = 2
            found.append(each.first)
        except (AttributeError, TypeError):  # (the library's own says TypeError of slots alone)
            found.append("frozen")
        try:
            found.append(repr(replace(each, first=9)) if cls.__name__ != "Itself" else replace(each, first=9).first)
        except TypeError:
            found.append("no such field")
    return found


def test_records_are_dataclasses() -> None:
    pairs = zip(
        classes(dataclasses.dataclass, dataclasses.field), classes(records.dataclass, records.field), strict=True
    )
    for theirs, ours in pairs:
        assert observed(theirs, dataclasses.replace) == observed(ours, records.replace), theirs


def test_nothing_is_compiled_before_the_first_instance() -> None:
    plain, *_ = classes(records.dataclass, records.field)
    before = plain.__init__
    assert records.as_dict(plain(1)) == {"first": 1, "second": "b"} and records.as_dict(1) == {}
    assert plain.__init__ is not before and plain.__init__.__code__.co_varnames == ("self", "first", "second")
