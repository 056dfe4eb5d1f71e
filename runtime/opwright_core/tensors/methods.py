"""The base of Tensor, and what stands for its methods until they are installed.

Packages above and ATen install them, when `opwright.whole` is loaded; a package of a few operators works without. Who
asks a tensor for a method before has all loaded. `methods.pyi` says the methods to type checkers.
"""

from __future__ import annotations

from typing import Any, Final

from opwright_core.core import TensorBase
from opwright_core.hooks import hooks

__all__ = ["NotInstalled", "TensorMethods", "expect_methods"]

TensorMethods = TensorBase
# What Python looks for in the class: those above object's, and instead of object's.
_SPECIAL: Final = (
    "abs add and array array_function array_priority array_ufunc bool complex contains copy deepcopy divmod dlpack "
    "dlpack_device eq float floordiv format ge getitem gt iadd iand ifloordiv ilshift imod imul index int invert ior "
    "ipow irshift isub iter itruediv ixor le lshift lt matmul mod mul ne neg or pos pow radd rand rdivmod reduce_ex "
    "repr reversed rfloordiv rlshift rmatmul rmod rmul ror rpow rrshift rshift rsub rtruediv rxor setitem sub truediv "
    "xor"
)


class NotInstalled:
    """The position of a method that is not installed: asked for, it has all installed."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        hooks.tools().load_whole()
        return getattr(owner if instance is None else instance, self._name)


def _find(self: Any, name: str) -> Any:
    hooks.tools().load_whole()  # it takes this function away
    return getattr(self, name)


def expect_methods(cls: type) -> None:
    """Have a class ask for its methods."""
    for name in ("_of_arguments", *map("__{}__".format, _SPECIAL.split())):  # (the first makes `Tensor(data)`)
        if name not in cls.__dict__:
            setattr(cls, name, NotInstalled(name))
    cls.__getattr__ = _find  # type: ignore[attr-defined]
