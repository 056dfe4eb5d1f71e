"""Classes of a program's own as types of operators' arguments, by the names of `torch.library`."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any, Literal

from opwright.pytree import is_registered
from opwright.registering.custom_classes import (
    CustomClass,
    CustomClassBase,
    MemberType,
    forget_custom_class,
    keep_custom_class,
    name_of,
)
from opwright_core.tensors.tensor import Tensor

__all__ = ["register_custom_class", "unregister_custom_class"]


def register_custom_class(
    cls: type,
    *,
    typ: Literal["symbolic", "constant"],
    hoist: bool = False,
    guard_fn: Callable[[Any], list[Any]] | None = None,
    members: Mapping[str, MemberType] | None = None,
    reconstruct_fn: Callable[[Any, Callable[[Any], Any], Any], Any] | None = None,
) -> None:
    """Register a class, and those derived from it, for parameters and results of custom operators.

    Instances of a class that is "symbolic" have state of their own: they are inputs of a graph, or attributes of it
    when the traced function has them from elsewhere; `reconstruct_fn(instance, node_of, recorder)` may return the node
    that makes one of what is an input. `guard_fn(instance)` lists what the graph relies on. Those of one that is
    "constant" are written into the graph: the class has `__eq__`, `__hash__`, and `__fx_repr__`, which returns Python
    text and the classes by the names in it. With `hoist` one that is given as an input stays an input.

    Raises ValueError for builtins, Tensor and pytrees, TypeError for a class without what its kind needs.
    """
    shown = f"{cls!r}"
    if not isinstance(cls, type):
        raise TypeError(f"register_custom_class expects a class, got {shown}")
    if cls.__module__ == "builtins" or cls is Tensor:
        raise ValueError(f"{shown} cannot be a custom class: wrap it in a class of your own, and register that")
    if typ not in ("symbolic", "constant"):
        raise ValueError(f"typ is 'symbolic' or 'constant', not {typ!r}")
    _refuse_pytrees(cls)
    if typ == "symbolic":
        if not issubclass(cls, CustomClassBase):
            raise TypeError(f"{shown} is symbolic, and must derive from opwright.library.CustomClassBase")
    else:
        _check_constant(cls, guard_fn)
    name = name_of(cls)
    found = CustomClass(name, typ == "symbolic", hoist, guard_fn, dict(members or {}), reconstruct_fn)
    keep_custom_class(cls, found)


def unregister_custom_class(cls: type) -> None:
    """Remove what `register_custom_class` registered. New schemas cannot name the class; existing operators keep it.

    Raises ValueError for a class that is not registered itself.
    """
    try:
        forget_custom_class(cls)
    except (KeyError, TypeError):
        raise ValueError(f"{cls!r} is not registered as a custom class") from None


def _refuse_pytrees(cls: type) -> None:
    if is_registered(cls):
        raise ValueError(f"{cls!r} is registered as a pytree: instances of a custom class are leaves")


def _check_constant(cls: type, guard_fn: Any) -> None:
    if guard_fn is not None:
        raise TypeError(f"{cls!r} is constant, and guarded by its __eq__: leave guard_fn out")
    if issubclass(cls, enum.Enum):
        return
    if cls.__eq__ is object.__eq__ or cls.__hash__ is None:
        raise TypeError(f"{cls!r} is constant, and must define __eq__ and __hash__: a graph is right for equal ones")
    if not hasattr(cls, "__fx_repr__"):
        raise TypeError(
            f"{cls!r} is constant, and must define __fx_repr__, which returns how Python text makes the instance and "
            "the classes that the text names: ('Point(1, 2)', {'Point': Point})"
        )
