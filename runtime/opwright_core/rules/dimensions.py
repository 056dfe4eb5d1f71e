"""Dimensions that an operator is told, and how many results it may make."""

from __future__ import annotations

from collections.abc import Sequence

from opwright_core.arrays.layouts import wrap_dim


def check_room(count: int, itemsize: int = 300) -> None:
    """Raise MemoryError where the system has no memory for so many parts; by default, each is a tensor.

    A loop that makes them would find it out after hours. Few are not asked about.
    """
    if type(count) is int and count * itemsize > _MANY_BYTES:
        try:
            bytes(count * itemsize)  # which no page of memory is given for, as nothing is written
        except (MemoryError, OverflowError):
            message = f"Unable to allocate {count:,} parts of {itemsize:,} bytes"
            raise MemoryError(message) from None


_MANY_BYTES = 1 << 30


def wrap_dims(dims: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """Return distinct dimensions counted from the front, in the order given; None and () mean all of them.

    Raises IndexError for a dimension out of range, RuntimeError for one named twice.
    """
    if dims is None:
        return tuple(range(ndim))
    if isinstance(dims, int):
        dims = (dims,)
    if len(dims) == 0:
        return tuple(range(ndim))
    wrapped = tuple(wrap_dim(dim, ndim) for dim in dims)
    for position, dim in enumerate(wrapped):
        if dim in wrapped[:position]:
            raise RuntimeError(f"dim {dim} appears multiple times in the list of dims")
    return wrapped if ndim else ()
