"""What a storage tells of its memory: `Tensor.untyped_storage()` in bytes, `Tensor.storage()` in elements."""

from __future__ import annotations

from typing import Any

import pytest

import opwright


def test_a_storage_tells_its_bytes_and_its_address() -> None:
    x = opwright.arange(6.0).view(2, 3)
    storage = x.untyped_storage()
    assert (storage.nbytes(), storage.size()) == (24, 24)
    assert storage.data_ptr() == x.data_ptr() == x[1:].untyped_storage().data_ptr() == x[1:].data_ptr() - 12
    assert storage.device == x.device
    assert x[1:].untyped_storage() is storage


def test_an_empty_one_has_no_address() -> None:
    storage = opwright.empty(0).untyped_storage()
    assert (storage.nbytes(), storage.data_ptr()) == (0, 0)


def test_on_the_meta_device_there_is_a_size() -> None:
    storage = opwright.empty(3, 4, device="meta")[1:].untyped_storage()
    assert (storage.nbytes(), storage.data_ptr(), storage.device.type) == (48, 0, "meta")


def test_a_fake_tensor_has_no_address() -> None:
    with opwright.fake.FakeTensorMode():
        storage = opwright.ones(3).untyped_storage()
    assert storage.nbytes() == 12
    with pytest.raises(opwright.DataDependentOutputError, match="data_ptr"):
        storage.data_ptr()


def test_a_resized_tensor_has_more() -> None:
    x = opwright.ones(2)
    storage = x.untyped_storage()
    x.resize_(4)
    assert storage is x.untyped_storage()
    assert storage.nbytes() == 16


@pytest.mark.parametrize("dtype", [opwright.float32, opwright.int8, opwright.bfloat16, opwright.bool])
def test_a_typed_storage_counts_elements(dtype: Any) -> None:
    x = opwright.tensor([[0, 1], [1, 0]], dtype=dtype)
    typed = x[1].storage()
    assert (typed.size(), len(typed), typed.nbytes(), typed.element_size()) == (4, 4, 4 * x.itemsize, x.itemsize)
    assert (typed.dtype, typed.device, typed.data_ptr()) == (dtype, x.device, x.data_ptr())
    assert (typed[1], typed.tolist()) == (1, [0, 1, 1, 0])
    assert typed.untyped() is x.untyped_storage()


def test_typed_storages_over_the_same_memory_are_equal() -> None:
    x = opwright.ones(2)
    assert x.storage() == x[1:].storage()
    assert hash(x.storage()) == hash(x[1:].storage())
    assert x.storage() != opwright.ones(2).storage()


def test_a_tensor_takes_the_memory_of_a_typed_storage() -> None:
    x, y = opwright.arange(3.0), opwright.empty(0)
    y.set_(x.storage())
    assert y.tolist() == [0.0, 1.0, 2.0]
    assert y.untyped_storage() is x.untyped_storage()
