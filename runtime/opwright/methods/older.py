"""Methods under names of Python 2, which PyTorch keeps."""

from __future__ import annotations

from typing import Any

from opwright.namespaces import aten
from opwright_core.tensors.tensor import install_methods

__all__ = ["Older"]


@install_methods
class Older:
    """The methods with older names, installed on Tensor."""

    __slots__ = ()

    def __div__(self: Any, other: Any) -> Any:
        return self / other

    def __idiv__(self: Any, other: Any) -> Any:
        return aten["div_"](self, other)

    def __rdiv__(self: Any, other: Any) -> Any:
        return self.reciprocal() * other

    def __long__(self: Any) -> int:
        return int(self)

    def __nonzero__(self: Any) -> bool:
        return bool(self)
