"""Types of parameters: Tensors or plain arrays, all of one kind. The result has the same kind."""

from collections.abc import Sequence
from typing import Any, TypeAlias, TypeVar

from numpy.typing import NDArray

from opwright_core.tensors.tensor import Tensor

A = TypeVar("A", Tensor, NDArray[Any])
Ints: TypeAlias = int | Sequence[int]
Flag: TypeAlias = bool | None  # a deprecated flag of `reduction`
