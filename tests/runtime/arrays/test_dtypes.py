"""Spellings of dtypes, the default dtype, and Python numbers as scalars of a dtype."""

from __future__ import annotations

import pickle

import ml_dtypes
import numpy as np
import pytest

import opwright
from opwright_core.arrays import dtypes


@pytest.mark.parametrize(
    "spelling, name",
    [
        (np.float32, "float32"),
        (np.dtype("float32"), "float32"),
        ("float32", "float32"),
        ("f4", "float32"),
        ("torch.float32", "float32"),
        ("half", "float16"),
        ("double", "float64"),
        ("long", "int64"),
        ("longlong", "int64"),
        (float, "float32"),
        (int, "int64"),
        (bool, "bool"),
        (complex, "complex64"),
        (np.bool_, "bool"),
        ("bfloat16", "bfloat16"),
        (ml_dtypes.bfloat16, "bfloat16"),
    ],
)
def test_spellings(spelling: object, name: str) -> None:
    dtype = dtypes.as_dtype(spelling)
    assert dtype is dtypes.PUBLIC[name]


@pytest.mark.parametrize(
    "spelling", ["float33", object, np.dtype("O"), np.dtype("U3"), np.dtype("M8[s]"), "longdouble", 3, None, list]
)
def test_what_is_no_dtype(spelling: object) -> None:
    with pytest.raises(TypeError, match="dtype"):
        dtypes.as_dtype(spelling)


def test_foreign_byte_order_says_what_to_do() -> None:
    with pytest.raises(TypeError, match="byte order"):
        dtypes.as_dtype(np.dtype(">f4"))


def test_default_dtype() -> None:
    dtypes.set_default_dtype("float64")
    try:
        assert dtypes.as_dtype(float) is dtypes.float64
        assert dtypes.as_dtype(complex) is dtypes.complex128
        assert dtypes.to_float(dtypes.int8) is dtypes.float64
    finally:
        dtypes.set_default_dtype("float32")
    with pytest.raises(TypeError, match="floating-point"):
        dtypes.set_default_dtype("int32")


def test_related_dtypes() -> None:
    assert dtypes.opmath(dtypes.float16) is dtypes.float32
    assert dtypes.opmath(dtypes.bfloat16) is dtypes.float32
    assert dtypes.opmath(dtypes.int8) is dtypes.int8
    assert dtypes.to_real(dtypes.complex128) is dtypes.float64
    assert dtypes.to_complex(dtypes.float64) is dtypes.complex128
    assert dtypes.to_float(dtypes.complex64) is dtypes.complex64


def test_operand_scalars_wrap() -> None:
    assert dtypes.wrapped_scalar(300, dtypes.int8) == 44
    assert dtypes.wrapped_scalar(-1, dtypes.uint8) == 255
    assert dtypes.wrapped_scalar(2**63, dtypes.int64) == -(2**63)
    assert dtypes.wrapped_scalar(1e300, dtypes.float32) == np.inf
    assert dtypes.wrapped_scalar(0.1, dtypes.bfloat16).dtype == dtypes.bfloat16
    assert dtypes.wrapped_scalar(2**70, dtypes.float32) == 2.0**70
    for number, dtype in ((2**64, dtypes.int64), (2**2000, dtypes.float32)):
        with pytest.raises(OverflowError, match="does not fit 64 bits"):
            dtypes.wrapped_scalar(number, dtype)


@pytest.mark.parametrize(
    "value, dtype",
    [
        (300, "int8"),
        (256, "uint8"),
        (1e300, "float32"),
        (1j, "float32"),
        (float("nan"), "int64"),
        (-0.5, "uint8"),
        (-1 + 0j, "uint8"),
    ],
)
def test_stored_scalars_must_fit(value: complex, dtype: str) -> None:
    with pytest.raises(RuntimeError, match=f"cannot be converted to type {dtype} without overflow"):
        dtypes.checked_scalar(value, dtypes.as_dtype(dtype))


def test_stored_scalars_that_fit() -> None:
    assert dtypes.checked_scalar(-1, dtypes.uint8) == 255
    assert dtypes.checked_scalar(1.7, dtypes.int64) == 1
    assert dtypes.checked_scalar(float("inf"), dtypes.float16) == np.inf
    assert dtypes.checked_scalar(2.0, dtypes.bool_) == np.True_


OWN_DTYPE = {
    "from_numpy": opwright.from_numpy,
    "as_tensor": opwright.as_tensor,
    "tensor": opwright.tensor,
    "a tensor that was pickled": lambda array: pickle.loads(pickle.dumps(opwright.from_numpy(array))),
    "a plain array": lambda array: opwright.from_numpy(opwright.ops.aten.alias(array)),
}


@pytest.mark.parametrize("made", OWN_DTYPE)
def test_arrays_with_a_dtype_of_their_own_are_like_all_others(made: str) -> None:
    """NumPy's unpickling makes dtypes that are equal to the one that there is, and not it. Fast tests compare objects,
    and what is kept of one call serves others: neither may depend on who came first."""
    array = np.zeros((3, 5), np.dtype("float32", copy=True))
    assert array.dtype is not opwright.float32
    mine = OWN_DTYPE[made](array)
    assert mine.dtype is opwright.float32
    for _ in range(3):
        assert mine[1].dtype is opwright.float32
    assert opwright.zeros(3, 5)[1].array.dtype is opwright.float32


def test_views_of_plain_arrays_do_not_give_others_their_dtype() -> None:
    array = np.zeros((3, 7), np.dtype("float32", copy=True))
    for _ in range(20):
        opwright.select(array, 0, 1)
    assert opwright.zeros(3, 7)[1].array.dtype is opwright.float32
