"""Annotations of what functions here take: Tensors or plain arrays, all of one kind; the result is of that kind."""

from typing import Any, TypeAlias, TypeVar

from numpy.typing import NDArray

from opwright_core.tensors.tensor import Tensor

A = TypeVar("A", Tensor, NDArray[Any])
Flag: TypeAlias = bool | None  # of those that `reduction` has replaced
