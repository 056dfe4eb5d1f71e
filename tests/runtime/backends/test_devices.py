"""Devices, and a backend that is registered from outside."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from conftest import Maker

from opwright.backends.registered_backends import register_backend
from opwright.creation.construction import as_tensor, tensor
from opwright.errors import DispatchError, RegistrationError
from opwright_core import keys
from opwright_core.arrays import devices
from opwright_core.arrays.devices import Backend, Device, as_device
from opwright_core.arrays.dtypes import float32
from opwright_core.tensors.tensor import wrap

DENSE = keys.PRIVATEUSE2 | keys.ADINPLACEORVIEW | keys.AUTOGRAD_PRIVATEUSE2


class Column:
    """An array class with nothing that NumPy's have."""

    def __init__(self, values: list[Any], extent: tuple[int, ...], kind: str) -> None:
        self.values = values
        self.extent = extent
        self.kind = kind


@pytest.fixture
def column() -> Iterator[Backend]:
    backend = register_backend(
        "column",
        "PrivateUse2",
        array_type=Column,
        from_numpy=lambda array: Column(array.reshape(-1).tolist(), array.shape, str(array.dtype)),
        to_numpy=lambda array: np.array(array.values, array.kind).reshape(array.extent),
        shape=lambda array: list(array.extent),
        dtype=lambda array: array.kind,
    )
    yield backend
    backend.remove()


def test_devices() -> None:
    assert Device("cuda:1") == Device("cuda", 1) == as_device(1)
    assert Device("cuda") != Device("cuda:0")
    assert {Device("cpu"): 1}[Device("cpu")] == 1
    assert (str(Device("cuda:1")), repr(Device("cuda:1"))) == ("cuda:1", "device(type='cuda', index=1)")
    assert repr(Device("meta")) == "device(type='meta')"
    assert pickle.loads(pickle.dumps(Device("cuda:3"))) == Device("cuda", 3)
    with pytest.raises(AttributeError, match="immutable"):
        Device("cpu").index = 2


@pytest.mark.parametrize(
    "spelling, message",
    [("abacus", "Expected one of cpu"), ("cuda:x", "Invalid device string"), ("cuda:01", "Invalid"), ("", "Invalid")],
)
def test_bad_device_strings(spelling: str, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        Device(spelling)
    with pytest.raises(TypeError, match="expected a device"):
        as_device(1.5)


def test_a_registered_backend_holds_tensors(column: Backend) -> None:
    x = wrap(Column([1.0, 2.0, 3.0, 4.0], (2, 2), "float32"))
    assert (x.shape, x.stride(), x.dtype, x.device) == ((2, 2), (2, 1), float32, Device("column"))
    assert x.keys == DENSE
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert repr(x) == "tensor([[1., 2.],\n        [3., 4.]], device='column')"
    assert x.numpy(force=True).shape == (2, 2)
    with pytest.raises(TypeError, match="can't convert column device type tensor to numpy"):
        x.numpy()
    assert pickle.loads(pickle.dumps(x)).tolist() == x.tolist()
    made = tensor([1, 2], device="column")
    assert type(made.array) is Column
    assert as_tensor(made) is made
    assert wrap(Column([1.0], (), "float64")).keys == DENSE | keys.NONDENSE


def test_subclasses_belong_to_the_backend_of_their_base(column: Backend) -> None:
    class Tall(Column):
        pass

    assert devices.backend_of(Tall([1], (1,), "int64")) is column


def test_clashes_are_refused(column: Backend) -> None:
    for name, key, kind in [
        ("column", "PrivateUse1", dict),
        ("row", "PrivateUse2", dict),
        ("row", "PrivateUse1", Column),
        ("row", "CPU", dict),
        ("Row!", "PrivateUse1", dict),
    ]:
        with pytest.raises(RegistrationError):
            register_backend(name, key, array_type=kind, from_numpy=list)


def test_a_removed_backend_is_gone(column: Backend) -> None:
    column.remove()
    with pytest.raises(TypeError, match="no array type of a backend"):
        wrap(Column([1], (1,), "int64"))
    with pytest.raises(RuntimeError, match="Expected one of"):
        Device("column:0")


def test_kernels_of_a_backend_see_its_arrays(column: Backend, define: Maker) -> None:
    operator = define("scale(Tensor self, float factor) -> Tensor")
    seen = []

    @column.kernel(operator.name)
    def scale(array: Column, factor: float) -> Column:
        seen.append(type(array))
        return Column([factor * value for value in array.values], array.extent, array.kind)

    scaled = operator(wrap(Column([1.0, 2.0], (2,), "float32")), 3.0)
    assert seen == [Column]
    assert (scaled.tolist(), scaled.device) == ([3.0, 6.0], Device("column"))
    with pytest.raises(DispatchError, match="scale"):
        operator(wrap(np.zeros(2)), 3.0)


@pytest.mark.parametrize("register", [lambda b, name: b.impl(name, abs), lambda b, name: b.kernel(name)(abs)])
def test_a_kernel_for_an_operator_that_is_not_there(register: Any, column: Backend, define: Maker) -> None:
    """A warning, where other operators of the namespace are there; a namespace may be loaded later."""
    here = define.namespace
    define("double(Tensor self) -> Tensor")
    with pytest.warns(UserWarning, match=f"{here}::duble, which is not defined; did you mean '{here}::double'") as said:
        register(column, f"{here}::duble")
    assert said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        register(column, f"{here}::double")
        register(column, "absent::double")
