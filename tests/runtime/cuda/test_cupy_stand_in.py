"""The stand-in refuses what CuPy refuses, and says what CuPy says of dtypes, strides and memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("cupy", reason="needs CuPy: pip install --group cuda-tests")

from cupy_stand_in.module import CUPY, cupy

HOST = np.ones(3, np.float32)


def ones(dtype: Any = "float32") -> Any:
    return CUPY.ones(3, dtype)


REFUSED: dict[str, tuple[type[Exception], Callable[[], Any]]] = {
    "an operand of NumPy's": (TypeError, lambda: CUPY.add(ones(), HOST)),
    "one without dimensions": (TypeError, lambda: CUPY.add(ones(), np.asarray(1.0))),
    "one in a list": (TypeError, lambda: CUPY.concatenate([ones(), HOST])),
    "an item of NumPy's": (ValueError, lambda: ones().__setitem__(..., HOST)),
    "implicit conversion": (TypeError, lambda: np.asarray(ones())),
    "a target of NumPy's": (AttributeError, lambda: CUPY.copyto(HOST.copy(), ones())),
    "a source of NumPy's": (ValueError, lambda: CUPY.copyto(ones(), HOST)),
    "a keyword of NumPy's": (TypeError, lambda: CUPY.add(ones(), ones(), where=ones("bool"))),
    "a parameter of NumPy's": (TypeError, lambda: CUPY.take(ones(), CUPY.zeros(1, int), mode="clip")),
    "a method's parameter": (TypeError, lambda: ones().take(CUPY.zeros(1, int), mode="clip")),
    "a name of NumPy's": (AttributeError, lambda: CUPY.busday_count),
    "logic of complex numbers": (TypeError, lambda: CUPY.logical_and(ones("complex64"), ones("complex64"))),
    "a difference of bools": (TypeError, lambda: CUPY.subtract(ones(bool), ones(bool))),
    "atomic additions of int64": (TypeError, lambda: CUPY.add.at(ones("int64"), CUPY.zeros(1, int), 1)),
    "atomic products": (NotImplementedError, lambda: CUPY.multiply.at(ones(), CUPY.zeros(1, int), 1)),
    "a result that does not fit": (TypeError, lambda: CUPY.add(ones(), ones(), out=ones("int32"))),
    "a condition that is no array": (AttributeError, lambda: CUPY.where(True, ones(), ones())),
    "keys in a tuple": (AttributeError, lambda: CUPY.lexsort((ones(), ones()))),
    "a number among the arrays that are looked for": (TypeError, lambda: CUPY.isin(ones(), np.float32(1))),
    "sorting bfloat16": (NotImplementedError, lambda: CUPY.sort(ones("bfloat16"))),
    "keys of bfloat16": (TypeError, lambda: CUPY.lexsort(ones("bfloat16"))),
    "another device": (RuntimeError, lambda: CUPY.cuda.Device(1)),
}


@pytest.mark.parametrize("error, call", REFUSED.values(), ids=REFUSED)
def test_what_cupy_refuses(error: type[Exception], call: Callable[[], Any]) -> None:
    with pytest.raises(error):
        call()


def test_positions_are_wrapped_in_silence() -> None:
    x, beyond = CUPY.arange(3), CUPY.asarray([4, -4])
    assert x[beyond].tolist() == CUPY.take(x, beyond).tolist() == [1, 2]
    x[beyond] = 9
    assert x.tolist() == [0, 9, 9]


@pytest.mark.parametrize("name", ["add", "sqrt", "logical_not", "less", "true_divide", "power", "floor", "isnan"])
def test_loops_are_cupys(name: str) -> None:
    """Of each dtype: the dtype of the result is the one of CuPy's first loop that takes it, or there is none."""
    ufunc, loops = getattr(CUPY, name), getattr(cupy, name)._ops.ops
    for dtype in ("bool", "int8", "uint8", "int32", "int64", "uint64", "float16", "float64", "complex64"):
        fitting = [each for each in loops if all(np.can_cast(dtype, to) for to in each.in_types)]
        operands = [ones(dtype)] * ufunc.nin
        if fitting and fitting[0].error_func is None:
            assert ufunc(*operands).dtype == fitting[0].out_types[0]
        else:
            with pytest.raises(TypeError):
                ufunc(*operands)


def test_metadata_is_cupys_own() -> None:
    x = CUPY.zeros((2, 3, 4))
    assert isinstance(x, cupy.ndarray) and isinstance(x.T[1:], cupy.ndarray)
    assert CUPY.empty((2, 0, 4)).strides == (0, 0, 0)
    assert (x.T + x.T).flags.c_contiguous  # NumPy's sum would lie as its operands do
    assert x[1].base is x and x[1].data.ptr - x.data.ptr == 96
    assert CUPY.may_share_memory(x, x[1:]) and not CUPY.may_share_memory(x, x.copy())
    assert x.reshape(6, 4).base is x and x.T.reshape(-1).base is None


def test_results_share_no_memory_with_numpys_arrays() -> None:
    host = np.zeros(3)
    CUPY.asarray(host)[...] = 1.0
    assert host.tolist() == [0.0] * 3
    x = CUPY.zeros(3)
    x.get()[...] = 1.0
    assert x.tolist() == [0.0] * 3
