"""Writing into arrays that exist, and reading one element out. `out`, when not None, is where the result goes: `self`'s
own memory in place."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from opwright_core.arrays.dtypes import COMPLEX, DType, bool_, checked_scalar, wrapped_scalar
from opwright_core.core import compiled

Array = Any


def own_copy(xp: ModuleType, self: Array, out: Array | None) -> Array:
    """Return the elements of `self` in `out`, or in a new array; nothing moves where `out` is `self`."""
    if out is None:
        return self.copy()
    if out is not self:
        xp.copyto(out, self)
    return out


def new_or(xp: ModuleType, self: Array, out: Array | None) -> Array:
    """Return `out`, or a new array like `self`, to be overwritten."""
    return xp.empty_like(self) if out is None else out


@compiled
def copy_from(xp: ModuleType, self: Array, src: Array, non_blocking: bool, out: Array | None = None) -> Array:
    """Return the elements of `src`, broadcast and cast to `self` (`copy_`)."""
    target = new_or(xp, self, out)
    if src.dtype in COMPLEX and target.dtype not in COMPLEX and target.dtype != bool_:
        src = src.real
    xp.copyto(target, xp.asarray(src), casting="unsafe")
    return target


@compiled
def fill_with_number(xp: ModuleType, self: Array, value: complex, out: Array | None = None) -> Array:
    """Set every element to one number (`fill.Scalar`)."""
    target = new_or(xp, self, out)
    target[...] = wrapped_scalar(value, self.dtype)
    return target


def fill_with_element(xp: ModuleType, self: Array, value: Array, out: Array | None = None) -> Array:
    """Set every element to that of a 0-dim array (`fill.Tensor`)."""
    return copy_from(xp, self, value, False, out)


@compiled
def fill_with_zero(xp: ModuleType, self: Array, out: Array | None = None) -> Array:
    """Set every element to 0 (`zero`)."""
    target = new_or(xp, self, out)
    target[...] = 0
    return target


def scalar_of(value: Any, dtype: DType) -> Any:
    """Return a number, which the rule has checked, or the element of a 0-dim array, as a scalar of `dtype`.

    Raises RuntimeError for an element that does not fit.
    """
    if isinstance(value, (bool, int, float, complex)):
        return wrapped_scalar(value, dtype)
    return checked_scalar(value.item(), dtype)


def read_element(xp: ModuleType, self: Array) -> Any:
    """Return the first element as a Python number."""
    value = (self if self.size == 1 else self.ravel()[0]).item()
    return value if isinstance(value, (bool, int, float, complex)) else float(value)


def assert_element(
    xp: ModuleType, self: Array, assert_msg: str = "Expected Tensor with single nonzero value, but got zero"
) -> None:
    """Raise RuntimeError with the message if the only element is zero."""
    if self.size != 1:
        number = "more than one value" if self.size else "no values"
        raise RuntimeError(f"Boolean value of Tensor with {number} is ambiguous")
    if not self.all():
        raise RuntimeError(assert_msg)


@compiled
def same_elements(xp: ModuleType, self: Array, other: Array) -> bool:
    """Whether shapes and all elements are equal (`equal`); NaN is not equal to itself."""
    return self.shape == other.shape and bool(xp.equal(self, other).all())
