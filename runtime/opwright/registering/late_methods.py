"""Methods of Tensor that generated packages have, each of which finds its function when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType, ModuleType
from typing import Any, Final

from opwright_core.core import fast
from opwright_core.dispatch.compiled.signature_keys import Plan
from opwright_core.names.late_imports import import_late
from opwright_core.tensors.methods import NotInstalled
from opwright_core.tensors.tensor import Tensor

__all__ = ["Later", "install_methods"]

Function = Callable[..., Any]
_OPERANDS: Final = frozenset((Tensor, int, float, bool))


class Later:
    """A method whose function is found when it is first asked for, and then replaces it in the class."""

    __slots__ = ("_find", "_name", "_owner")

    def __init__(self, owner: type, name: str, find: Callable[[], Function]) -> None:
        self._owner = owner
        self._name = name
        self._find = find

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        function = self._find()
        if self._owner.__dict__.get(self._name) is self:  # nobody has put another one instead
            setattr(self._owner, self._name, function)
        return function if instance is None else function.__get__(instance, owner)


def install_methods(
    cls: type,
    ops: ModuleType,
    methods: Mapping[str, str],
    functions: Mapping[str, Function],
    operators: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Give a class the methods that neither it nor a base but `object` has: `functions` as they are, and the `methods`
    of the parts of `ops`, `"add": "pointwise"` or `"is": "pointwise.is_"`. `operators` says likewise which function
    the one for a Python operator calls."""
    known = {
        name
        for base in cls.__mro__
        if base is not object
        for name, value in base.__dict__.items()
        if type(value) is not NotInstalled
    }
    for name, function in functions.items():
        if name not in known:
            home = operators.get(name)
            setattr(cls, name, function if home is None else _operator_stub(function, _finder_at(ops, home, name)))
    for name, home in methods.items():
        if name not in known:
            setattr(cls, name, Later(cls, name, _finder_at(ops, home, name)))


def _finder_at(ops: ModuleType, home: str, name: str) -> Callable[[], Function]:
    part, _, other = home.partition(".")
    return _finder(f"{ops.__name__}.{part}", other or name)


def _finder(module: str, name: str) -> Callable[[], Function]:
    def find() -> Function:
        found: Function = getattr(import_late(module), name)
        return found

    return find


def _operator_stub(function: Function, find: Callable[[], Function]) -> Function:
    """Return what is called for a Python operator, whose function calls the one that is found, of operands that are
    numbers or Tensors."""
    if fast is None:
        return function

    def plan_of_found(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Plan | None:
        found: Any = find()
        if type(found) is not fast.Stub or type(args[0]) is not Tensor or type(args[-1]) not in _OPERANDS:
            return None
        planned: Plan | None = found.plan(args, kwargs)
        return planned

    made: Function = fast.Stub(function, plan_of_found)
    return made
