"""The types of a schema, and alias annotations."""

from __future__ import annotations

import re
from typing import assert_never, cast

from opwright_codegen.records import dataclass

__all__ = [
    "FRESH", "Annotation", "BaseType", "ClassType", "GenericType", "ListType", "OptionalType", "Type", "annotated",
]  # fmt: skip


class _Facts:
    """Properties that every type has."""

    __slots__ = ()

    def base(self) -> BaseType | GenericType | ClassType:
        """Return what is left of the type without its `?` and `[]`."""
        found = cast("Type", self)
        while isinstance(found, OptionalType | ListType):
            found = found.elem
        return found

    @property
    def is_tensor_like(self) -> bool:
        """Whether the type is Tensor under any `?` and `[]`."""
        return self.base() == BaseType("Tensor")

    @property
    def is_list_like(self) -> bool:
        """Whether the type is a list, or an optional one."""
        return self.list_type is not None

    @property
    def list_type(self) -> ListType | None:
        """Return the list that the type is, or that its optional holds."""
        inner = self.elem if isinstance(self, OptionalType) else self
        return inner if isinstance(inner, ListType) else None

    @property
    def is_optional(self) -> bool:
        """Whether None is a value of the type."""
        return isinstance(self, OptionalType)


@dataclass(frozen=True, slots=True)
class BaseType(_Facts):
    """A type that is one word: `Tensor`, `int`, `ScalarType`, or a TorchScript type variable such as `t`."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class OptionalType(_Facts):
    """A type `T?`: a value, or None. There is no optional of an optional."""

    elem: Type

    def __post_init__(self) -> None:
        if isinstance(self.elem, OptionalType):
            raise ValueError(f"{self.elem} is optional already")

    def __str__(self) -> str:
        return f"{self.elem}?"


@dataclass(frozen=True, slots=True)
class ListType(_Facts):
    """A type `T[]`, or `T[N]`, for which one value may stand for N equal ones."""

    elem: Type
    size: int | None = None

    def __str__(self) -> str:
        return f"{self.elem}[{'' if self.size is None else self.size}]"


@dataclass(frozen=True, slots=True)
class GenericType(_Facts):
    """A type `Dict(K, V)`, `Future(T)`, `RRef(T)`, `Await(T)`, `Union(A, B)`, or a tuple, which prints as `(A, B)`."""

    name: str
    args: tuple[Type, ...]

    def __str__(self) -> str:
        inner = ", ".join(map(str, self.args))
        return f"({inner})" if self.name == "Tuple" else f"{self.name}({inner})"


@dataclass(frozen=True, slots=True)
class ClassType(_Facts):
    """A type named by a dotted path; custom classes are `__torch__.torch.classes.NAMESPACE.NAME`."""

    path: str

    @property
    def class_name(self) -> str:
        """Return `NAMESPACE.NAME` of a custom class."""
        return self.path.removeprefix("__torch__.torch.classes.")

    def __str__(self) -> str:
        return self.path


Type = BaseType | OptionalType | ListType | GenericType | ClassType

_UNNAMED = "$"
_UNIT = re.compile(r"([a-z](?:\|[a-z])*)(!?)(?: -> (\*|[a-z](?:\|[a-z])*))?")


@dataclass(frozen=True, slots=True, eq=False)
class Annotation:
    """An annotation `(a! -> a|b)`: the alias sets of a value before and after the call, and whether it is written.

    The sets keep the order they are written in, for printing; it does not count in comparison. A fresh set, that of
    `Tensor!`, has no name: it is `$0`, the next in its schema `$1`, as in PyTorch, so that each is a set of its own.
    Raises ValueError for a written set of several, for several on both sides of the arrow, and for a fresh set that is
    not written or not alone.
    """

    before: tuple[str, ...]
    write: bool = False
    after: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.before:
            raise ValueError("an alias annotation names at least one alias set")
        if self.write and len(self.before) > 1:
            raise ValueError(f"alias set larger than 1 is not mutable, got {self}")
        if len(self.before) > 1 and len(self.after) > 1:
            raise ValueError(f"alias sets before and after cannot both be larger than 1, got {self}")
        if any(name[0] == _UNNAMED for name in (*self.before, *self.after)) and not (
            self.write and len(self.before) == 1 and not self.after
        ):
            raise ValueError(f"an alias set without a name is written and alone, got {self}")

    @staticmethod
    def parse(text: str) -> Annotation:
        """Parse the annotation printed as `text` (`a!`, `a -> *`), in canonical spacing; else raise ValueError.

        As in torchgen, letters alone: the set `*` before the arrow and longer names are TorchScript's, and
        are read as part of a schema only.
        """
        found = _UNIT.fullmatch(text)
        if found is None:
            raise ValueError(f"unrecognized alias annotation {text!r}")
        before, write, after = found.groups()
        return Annotation(tuple(before.split("|")), write == "!", tuple(after.split("|")) if after else ())

    @staticmethod
    def fresh(number: int | None = None) -> Annotation:
        """Return the annotation of a written set without a name, the one of that number in its schema."""
        return Annotation((_UNNAMED if number is None else f"{_UNNAMED}{number}",), True)

    @property
    def is_fresh(self) -> bool:
        """Whether the set has no name: nothing else is in it."""
        return self.before[0][0] == _UNNAMED

    @property
    def mark(self) -> str:
        """Return what stands behind the type: `(a!)`, and `!` of a fresh set."""
        return "!" if self.is_fresh else f"({self})"

    def _key(self) -> tuple[frozenset[str], bool, frozenset[str]]:
        return frozenset(self.before), self.write, frozenset(self.after)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Annotation) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        before = "|".join(self.before) + ("!" if self.write else "")
        return f"{before} -> {'|'.join(self.after)}" if self.after else before


FRESH = Annotation.fresh()  # as it is read; a schema counts its own


def annotated(type: Type, annotation: Annotation | None, lists: tuple[Annotation | None, ...] = ()) -> str:
    """Return the type as text; its annotation binds to what is under `?` and `[]`, and its lists have their own."""
    if annotation is None and not any(lists):
        return str(type)
    match type:
        case OptionalType(elem):
            return f"{annotated(elem, annotation, lists)}?"
        case ListType(elem, size):
            inner = annotated(elem, annotation, lists[:-1])
            mark = lists[-1].mark if lists and lists[-1] is not None else ""
            return f"{inner}[{'' if size is None else size}]{mark}"
        case BaseType() | GenericType() | ClassType():
            return f"{type}{annotation.mark}" if annotation is not None else str(type)
        case _:
            assert_never(type)
