"""NumPy's protocols and DLPack, with NumPy and (as an oracle) PyTorch on the other side."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opwright
from opwright.creation.construction import from_dlpack, from_numpy
from opwright_core.arrays.dtypes import bfloat16
from opwright_core.tensors.tensor import Tensor, wrap


def test_array_protocol() -> None:
    x = from_numpy(np.arange(3.0))
    assert np.shares_memory(np.asarray(x), x.array)
    assert not np.shares_memory(np.array(x, copy=True), x.array)
    assert np.asarray(x, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="without a copy"):
        np.array(x, dtype=np.int8, copy=False)
    with pytest.raises(RuntimeError, match="requires grad"):
        np.asarray(wrap(np.zeros(2)).requires_grad_())
    assert np.concatenate([x, x]).shape == (6,)


@pytest.mark.parametrize("left", [np.arange(3.0), np.float64(2), np.array(2.0)], ids=["array", "scalar", "0-dim"])
def test_numpy_on_the_left_gives_a_tensor(left: Any) -> None:
    x = from_numpy(np.array([1.0, 2.0, 4.0]))
    plain = x.numpy()
    for ours, theirs in [
        (left + x, left + plain),
        (left - x, left - plain),
        (left * x, left * plain),
        (left / x, left / plain),
        (left < x, left < plain),
        (left == x, left == plain),
    ]:
        assert type(ours) is Tensor
        assert ours.tolist() == theirs.tolist()


def test_other_ufuncs() -> None:
    x = from_numpy(np.array([1.0, 4.0]))
    root = np.sqrt(x)
    assert type(root) is Tensor
    assert root.tolist() == [1.0, 2.0]
    array = np.zeros(2)
    array += x
    assert array.tolist() == [1.0, 4.0]
    written = np.add(array, array, out=x)
    assert written is x
    assert x.tolist() == [2.0, 8.0]
    total = np.add.reduce(x)
    assert type(total) is Tensor
    assert total.item() == 10.0
    fractions = np.modf(x)
    assert [type(part) for part in fractions] == [Tensor, Tensor]


@pytest.mark.parametrize("name", ["bool", "int8", "uint8", "int64", "float16", "float32", "float64", "complex64"])
def test_dlpack_with_numpy(name: str) -> None:
    x = wrap(np.ones((3, 2), name).T)
    array = np.from_dlpack(x)
    assert np.shares_memory(array, x.array)
    back = from_dlpack(array)
    assert (back.dtype, back.stride()) == (x.dtype, (1, 2))
    assert np.shares_memory(back.array, x.array)
    assert not np.shares_memory(from_dlpack(x, copy=True).array, x.array)


def test_dlpack_refuses() -> None:
    with pytest.raises(BufferError, match="detach"):
        wrap(np.zeros(2)).requires_grad_().__dlpack__()
    with pytest.raises(TypeError, match="__dlpack__"):
        from_dlpack([1])
    with pytest.raises(AttributeError, match="CUDA device"):
        _ = wrap(np.zeros(2)).__cuda_array_interface__


def test_bfloat16_round_trip() -> None:
    x = wrap(np.arange(3).astype(bfloat16))
    back = from_dlpack(x)
    assert back.dtype is bfloat16
    assert np.shares_memory(back.array.view(np.uint16), x.array.view(np.uint16))


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["bool", "int32", "float16", "bfloat16", "float64", "complex128"])
def test_dlpack_with_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
    theirs = torch.ones(2, 3, dtype=getattr(torch, name)).t()
    ours = from_dlpack(theirs)
    assert (str(ours.dtype), ours.shape, ours.stride()) == (name, (3, 2), (1, 3))
    assert ours.data_ptr() == theirs.data_ptr()
    back = torch.from_dlpack(ours)
    assert back.dtype is theirs.dtype
    assert back.data_ptr() == theirs.data_ptr()
    assert torch.equal(back, theirs)


def test_comparison_is_elementwise_and_identity_hashes() -> None:
    x = opwright.tensor([1, 2])
    assert (x == x).tolist() == [True, True]
    assert 2 in x
    assert 3 not in x
    assert len({x, x}) == 1
