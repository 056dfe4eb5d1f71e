"""Dataclasses that cost little until there is one.

Note [Records]
The standard library writes and compiles six methods of each frozen dataclass when its module is imported. The two
hundred of this package took 0.1 s, of 0.23 s that `opwright check` ran. Here all of them share their methods, which go
by the names of fields, and `__init__` is compiled for the first instance of a class. Type checkers are told that these
are the names of `dataclasses`, which they mean as far as they go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NoReturn

__all__ = ["as_dict", "dataclass", "field", "replace"]

_MISSING: Final = object()
_FIELDS: Final = "__record_fields__"


class _Field:
    """A field's declaration."""

    __slots__ = ("compare", "default", "default_factory", "hash", "init", "kw_only", "name", "repr")

    def __init__(
        self,
        *,
        default: Any = _MISSING,
        default_factory: Any = _MISSING,
        init: bool = True,
        repr: bool = True,
        hash: bool | None = None,
        compare: bool = True,
        kw_only: bool = False,
    ) -> None:
        self.name = ""
        self.default = default
        self.default_factory = default_factory
        self.init = init
        self.repr = repr
        self.hash = compare if hash is None else hash
        self.compare = compare
        self.kw_only = kw_only


def _made(*, frozen: bool = False, slots: bool = False, eq: bool = True) -> Callable[[type], type]:
    """Return what makes a record of a class."""

    def make(cls: type) -> type:
        fields = {name: each for base in reversed(cls.__mro__[1:]) for name, each in getattr(base, _FIELDS, {}).items()}
        own = dict(_own_fields(cls))
        fields |= own
        values: dict[str, Any] = {_FIELDS: fields, "__repr__": _shown}
        values["__match_args__"] = tuple(each.name for each in fields.values() if each.init and not each.kw_only)
        if eq:
            values |= {
                "__eq__": _equal_by(_values([each.name for each in fields.values() if each.compare])),
                "__hash__": None,
            }
        if frozen:
            values |= {"__setattr__": _refuse, "__delattr__": _refuse}
            if eq:
                values["__hash__"] = _hash_by(_values([each.name for each in fields.values() if each.hash]))
        if slots:
            cls = _with_slots(cls, own)
            values["__reduce__"] = _reduced
        for name, value in values.items():
            if name not in cls.__dict__ or (name == "__hash__" and cls.__dict__[name] is None):
                setattr(cls, name, value)
        if "__init__" not in cls.__dict__:
            _put_init(cls, list(fields.values()), is_slotted=slots)
        return cls

    return make


def _own_fields(cls: type) -> Iterator[tuple[str, _Field]]:
    """Yield the fields that a class declares; take their declarations from the class, or leave their defaults there."""
    for name in cls.__annotations__:
        found = cls.__dict__.get(name, _MISSING)
        declared = found if isinstance(found, _Field) else _Field(default=found)
        declared.name = name
        if declared is found:
            delattr(cls, name)
            if declared.default is not _MISSING:
                setattr(cls, name, declared.default)
        yield name, declared


def _with_slots(cls: type, own: dict[str, _Field]) -> type:
    """Return the class with slots for its own fields in place of defaults: they are made with a class."""
    values = {name: value for name, value in cls.__dict__.items() if name not in own}
    values.pop("__dict__", None)
    values.pop("__weakref__", None)
    inherited = {name for base in cls.__mro__[1:] for name in getattr(base, "__slots__", ())}
    values["__slots__"] = tuple(name for name in own if name not in inherited)
    made = type(cls)(cls.__name__, cls.__bases__, values)
    made.__qualname__ = cls.__qualname__
    return made


def _put_init(cls: Any, fields: list[_Field], *, is_slotted: bool) -> None:
    """Give a class the `__init__` that makes the true one when it is called first."""

    def first(self: Any, *args: Any, **kwargs: Any) -> None:
        cls.__init__ = _init(cls, fields, is_slotted=is_slotted)
        cls.__init__(self, *args, **kwargs)

    first.__name__ = "__init__"
    cls.__init__ = first


def _init(cls: type, fields: list[_Field], *, is_slotted: bool) -> Any:
    """Return the function that fills the fields of an instance."""
    known: dict[str, Any] = {"_missing": _MISSING, "_set": object.__setattr__}
    words, lines = ["self"], []
    by_name: list[str] = []
    for each in fields:
        name = each.name
        known |= {f"_default_{name}": each.default, f"_make_{name}": each.default_factory}
        value = name
        if each.default_factory is not _MISSING:
            known[f"_default_{name}"] = _MISSING
            value = f"_make_{name}() if {name} is _missing else {name}" if each.init else f"_make_{name}()"
        elif not each.init:
            if each.default is _MISSING:
                continue
            value = f"_default_{name}"
        if each.init:
            is_required = each.default is each.default_factory
            (by_name if each.kw_only else words).append(name if is_required else f"{name}=_default_{name}")
        if is_slotted:
            known[f"_set_{name}"] = getattr(cls, name).__set__
        lines.append(f"    _set_{name}(self, {value})" if is_slotted else f"    _set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("    self.__post_init__()")
    head = ", ".join([*words, *(["*", *by_name] if by_name else ())])
    exec("\n".join([f"def __init__({head}):", *(lines or ["    pass"])]), known)
    known["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
    return known["__init__"]


def _values(names: list[str]) -> Callable[[Any], Any]:
    """Return what takes the values of some fields from a record."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda record: tuple([getattr(record, name) for name in names])


def _equal_by(values: Callable[[Any], Any]) -> Callable[[Any, object], bool]:
    def equal(self: Any, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return equal


def _hash_by(values: Callable[[Any], Any]) -> Callable[[Any], int]:
    return lambda self: hash(values(self))


def _shown(self: Any) -> str:
    fields = getattr(self, _FIELDS).values()
    shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields if each.repr)
    return f"{type(self).__qualname__}({shown})"


def _refuse(self: Any, name: str, *value: object) -> NoReturn:
    raise AttributeError(f"{type(self).__name__} is frozen: {name!r} cannot be changed")


def as_dict(record: object) -> dict[str, Any]:
    """Return the values of a record's fields by their names; of anything else none."""
    return {name: getattr(record, name) for name in getattr(record, _FIELDS, ())}


def _reduced(self: Any) -> tuple[Any, ...]:
    """Return what pickles and copies make another one of: the slots of what is frozen are filled behind its back."""
    return _restored, (
        type(self),
        {name: getattr(self, name) for name in getattr(self, _FIELDS) if hasattr(self, name)},
    )


def _restored(cls: type, values: dict[str, Any]) -> Any:
    made: Any = object.__new__(cls)
    for name, value in values.items():
        object.__setattr__(made, name, value)
    return made


def _replaced(record: Any, /, **changes: Any) -> Any:
    """Return a record of the same class with other values of some fields."""
    for name, each in getattr(record, _FIELDS).items():
        if each.init and name not in changes:
            changes[name] = getattr(record, name)
    return type(record)(**changes)


if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace
else:
    dataclass, field, replace = _made, _Field, _replaced
