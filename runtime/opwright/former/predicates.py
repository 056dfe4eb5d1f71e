"""Predicates by which stubs of former packages skipped conversions."""

from __future__ import annotations

from functools import partial

from opwright_core.arrays.dense import nondense_bit as odd_bit

__all__ = ["is_bool_list", "is_float_list", "is_scalar_list", "odd_bit"]


def _is_list_of(kinds: tuple[type, ...], value: object) -> bool:
    """Whether a kernel may receive the value, for a list of elements of these types, as it is."""
    return type(value) is list and all(type(item) in kinds for item in value)


is_float_list = partial(_is_list_of, (float,))
is_bool_list = partial(_is_list_of, (bool,))
is_scalar_list = partial(_is_list_of, (float, int))
