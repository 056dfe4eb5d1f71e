"""The base of Tensor, and what stands for its methods until they are installed.

Packages above and ATen install them, when `opwright.aten_setup` is loaded; a package of a few operators works without
it. A call of a method before that loads all. `methods.pyi` declares the methods for type checkers.
"""

from __future__ import annotations

import sys
from typing import Any, Final

from opwright_core.core import TensorBase
from opwright_core.late_bound import late_bound
from opwright_core.names.late_imports import import_late

__all__ = ["NotInstalled", "TensorMethods", "expect_methods", "methods_of", "methods_of_packages"]

TensorMethods = TensorBase
# What Python looks for in the class: those above object's, and instead of object's.
_SPECIAL: Final = (
    "abs add and array array_function array_priority array_ufunc bool complex contains copy deepcopy divmod dlpack "
    "dlpack_device eq float floordiv format ge getitem gt iadd iand ifloordiv ilshift imod imul index int invert ior "
    "ipow irshift isub iter itruediv ixor le lshift lt matmul mod mul ne neg or pos pow radd rand rdivmod reduce_ex "
    "repr reversed rfloordiv rlshift rmatmul rmod rmul ror rpow rrshift rshift rsub rtruediv rxor setitem sub truediv "
    "xor"
)


_waiting: list[str] = []  # packages whose methods a Tensor gets when its others are installed
_has_all = False


def methods_of(package: str) -> None:
    """Give Tensor the methods that a generated package has, in its module `methods`, if it has its others by now."""
    if _has_all:
        import_late(f"{package}.methods").install(sys.modules["opwright_core.tensors.tensor"].Tensor)
    else:
        _waiting.append(package)


def methods_of_packages() -> None:
    """Give Tensor the methods of the packages that came before its others."""
    global _has_all
    _has_all = True
    while _waiting:
        methods_of(_waiting.pop(0))


class NotInstalled:
    """The position of a method that is not installed: asked for, it has all installed."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        late_bound.tools().load_whole()
        return getattr(owner if instance is None else instance, self._name)


def _find(self: Any, name: str) -> Any:
    late_bound.tools().load_whole()  # it takes this function away
    return getattr(self, name)


def expect_methods(cls: type) -> None:
    """Have a class ask for its methods."""
    for name in ("_of_arguments", *map("__{}__".format, _SPECIAL.split())):  # (the first makes `Tensor(data)`)
        if name not in cls.__dict__:
            setattr(cls, name, NotInstalled(name))
    cls.__getattr__ = _find  # type: ignore[attr-defined]
