"""Size: the shape of a Tensor, a tuple that stays one of its kind when it is sliced and joined."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, SupportsIndex, overload

from opwright_core.arrays.layouts import count
from opwright_core.arrays.sizes import SymbolicInt
from opwright_core.core import SizeBase, fast

__all__ = ["Size", "size_of"]


class Size(SizeBase):
    """A tuple of ints, symbolic ones among them, made of an iterable of them. Raises TypeError for other elements."""

    __slots__ = ()

    def __new__(cls, sizes: Iterable[int] = ()) -> Size:
        return super().__new__(cls, [_checked(position, size) for position, size in enumerate(sizes)])

    def numel(self) -> int:
        """Return the product: how many elements a tensor of this shape has."""
        return count(self)

    if fast is None or TYPE_CHECKING:

        @overload
        def __getitem__(self, index: SupportsIndex) -> int: ...
        @overload
        def __getitem__(self, index: slice) -> Size: ...
        def __getitem__(self, index: Any) -> Any:
            found = _item_of(self, index)
            return size_of(Size, found) if type(index) is slice else found

    def __add__(self, other: Any) -> Size:
        if not isinstance(other, tuple):
            raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to opwright.Size")
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: Any) -> Size:
        return Size(other) + self if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: SupportsIndex) -> Size:
        return size_of(Size, tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[type[Size], tuple[tuple[int, ...]]]:
        return Size, (tuple(self),)

    def __repr__(self) -> str:
        return f"opwright.Size([{', '.join(map(repr, self))}])"


_item_of: Final = tuple.__getitem__
# A Size of a tuple of sizes, without looking at them.
size_of: Final = tuple.__new__


def _checked(position: int, size: Any) -> int:
    if type(size) is int or isinstance(size, SymbolicInt):
        return size  # type: ignore[return-value]  # a symbolic size behaves as an int
    if isinstance(size, (float, complex, str)):
        raise _no_size(position, size)
    try:
        return operator.index(size)
    except TypeError:
        raise _no_size(position, size) from None


def _no_size(position: int, size: object) -> TypeError:
    return TypeError(f"opwright.Size() takes an iterable of 'int' (item {position} is '{type(size).__name__}')")
