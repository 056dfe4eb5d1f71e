"""`arrays.dense` says which arrays are dense. Code that finds it out faster in its own way agrees."""

from __future__ import annotations

import random

import numpy as np
import pytest
import seeds

from opwright import Size, empty_strided
from opwright_core.arrays import layouts
from opwright_core.arrays.dense import nondense_bit, nondense_bit_of
from opwright_core.arrays.dtypes import REDUCED, bfloat16
from opwright_core.arrays.storage import set_array
from opwright_core.keys import NONDENSE
from opwright_core.plans.specs import TensorSpec
from opwright_core.tensors.tensor import wrap, wrap_view

DTYPES = [np.dtype(name) for name in ("bool", "int16", "float16", "float32", "complex64", "int64")] + [bfloat16]


def drawn(draw: random.Random) -> np.ndarray:
    """An array, or a view of one: turned, sliced, expanded, of sizes that are often 0 and 1."""
    shape = [draw.choice([0, 1, 1, 2, 3]) for _ in range(draw.randrange(5))]
    array = np.zeros(shape, draw.choice(DTYPES))
    for _ in range(draw.randrange(3)):
        match draw.randrange(4):
            case 0:
                array = array.transpose(draw.sample(range(array.ndim), array.ndim))
            case 1 if array.ndim:
                array = array[draw.choice([slice(1), slice(None, None, 2), slice(None, None, -1), slice(1, None)])]
            case 2:
                array = array[..., None]
            case _:
                array = np.broadcast_to(array, (draw.choice([1, 2]), *array.shape))
    return array


@pytest.mark.parametrize("seed", range(10))
def test_all_who_ask_agree(seed: int) -> None:
    draw = seeds.generator(seed)
    for _ in range(200):
        array = drawn(draw)
        strides = tuple(stride // array.itemsize for stride in array.strides)
        is_row_major = strides == layouts.contiguous_strides(array.shape)
        is_dense = array.ndim > 0 and array.size > 0 and is_row_major and array.dtype not in REDUCED
        expected = 0 if is_dense else NONDENSE
        about = array.shape, strides, array.dtype
        assert nondense_bit(array) == nondense_bit_of(*about) == expected, about
        assert wrap(array).keys & NONDENSE == expected, about
        assert wrap_view(wrap(np.zeros(1)), array).keys & NONDENSE == expected, about
        assert TensorSpec(*about).nondense == expected, about
        assert empty_strided(*about[:2], dtype=array.dtype, device="meta").keys & NONDENSE == expected, about
        tensor = wrap(np.zeros(1))
        set_array(tensor, array)
        assert tensor.keys & NONDENSE == expected, about


def test_the_sizes_of_a_spec_are_a_plain_tuple() -> None:
    """Specs serve all calls of equal sizes, and the core takes no other tuples."""
    spec = TensorSpec(Size([2, 3]), Size([3, 1]), np.dtype("float64"))
    assert (type(spec.shape), type(spec.strides), spec.shape) == (tuple, tuple, (2, 3))
