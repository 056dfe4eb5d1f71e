"""Predicates by which stubs of former packages skipped conversions."""

from __future__ import annotations

__all__ = ["is_bool_list", "is_float_list", "is_scalar_list"]


def is_float_list(value: object) -> bool:
    """Whether a kernel may receive the value for `float[]` as it is."""
    if type(value) is not list:
        return False
    for item in value:  # noqa: SIM110
        if type(item) is not float:
            return False
    return True


def is_bool_list(value: object) -> bool:
    """Whether a kernel may receive the value for `bool[]` as it is."""
    if type(value) is not list:
        return False
    for item in value:  # noqa: SIM110
        if type(item) is not bool:
            return False
    return True


def is_scalar_list(value: object) -> bool:
    """Whether a kernel may receive the value for `Scalar[]` as it is."""
    if type(value) is not list:
        return False
    for item in value:  # noqa: SIM110
        if type(item) is not float and type(item) is not int:
            return False
    return True
