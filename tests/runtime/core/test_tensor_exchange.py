"""DLPack's C exchange API of Tensors, called as C does: memory given away, taken and allocated; what is refused."""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    PYFUNCTYPE,
    byref,
    c_char_p,
    c_int,
    c_int32,
    c_uint8,
    c_uint32,
    c_uint64,
    c_void_p,
    py_object,
)
from typing import Any

import numpy as np
import pytest

import opwright
from opwright import Tensor

pytestmark = [
    pytest.mark.skipif(opwright.dispatch.core().name == "python", reason="the compiled core offers it"),
    pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="NumPy 2.0 has no versioned capsules"),
]


class DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", c_void_p), ("device", c_int32 * 2), ("ndim", c_int32), ("code", c_uint8), ("bits", c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", POINTER(ctypes.c_int64)), ("strides", POINTER(ctypes.c_int64)),
        ("byte_offset", c_uint64),
    )  # fmt: skip


class Managed(ctypes.Structure):
    pass


Deleter = PYFUNCTYPE(None, POINTER(Managed))
Managed._fields_ = [
    ("version", c_uint32 * 2), ("context", c_void_p), ("deleter", Deleter), ("flags", c_uint64), ("tensor", DLTensor),
]  # fmt: skip
Fail = PYFUNCTYPE(None, c_void_p, c_char_p, c_char_p)


class Offered(ctypes.Structure):
    _fields_ = (
        ("version", c_uint32 * 2), ("former", c_void_p),
        ("allocate", PYFUNCTYPE(c_int, POINTER(DLTensor), POINTER(POINTER(Managed)), c_void_p, Fail)),
        ("managed_of", PYFUNCTYPE(c_int, py_object, POINTER(POINTER(Managed)))),
        ("object_of", PYFUNCTYPE(c_int, POINTER(Managed), POINTER(py_object))),
        ("tensor_of", c_void_p),
        ("current_stream", PYFUNCTYPE(c_int, c_int32, c_int32, POINTER(c_void_p))),
    )  # fmt: skip


def offered() -> Any:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = c_void_p, [py_object, c_char_p]
    return Offered.from_address(pointer(vars(Tensor)["__dlpack_c_exchange_api__"], b"dlpack_exchange_api"))


def given(tensor: Tensor) -> Any:
    """Return what C gets for a tensor. Raises what the call set."""
    managed = POINTER(Managed)()
    offered().managed_of(tensor, byref(managed))
    return managed


def taken(managed: Any) -> Any:
    made = py_object()
    offered().object_of(managed, byref(made))
    return made.value


def test_the_version() -> None:
    assert list(offered().version) == [1, 3]
    assert offered().former is None


@pytest.mark.parametrize(
    "dtype",
    ["bool", "uint8", "int16", "int64", "float16", "float32", "float64", "complex64", "complex128", "bfloat16"],
)
def test_memory_goes_there_and_back(dtype: str) -> None:
    base = opwright.arange(24).reshape(2, 3, 4).to(getattr(opwright, dtype))
    for tensor in (base, base.permute(2, 0, 1), base[:, ::2, 1], base[0, 0, 0], base[:, :0]):
        managed = given(tensor)
        told = managed.contents.tensor
        assert [told.shape[i] for i in range(told.ndim)] == list(tensor.shape)
        if tensor.numel():
            assert [told.strides[i] for i in range(told.ndim)] == list(tensor.stride())
            assert told.data + told.byte_offset == tensor.data_ptr()
        back = taken(managed)
        assert type(back) is Tensor
        assert back.dtype == tensor.dtype
        assert opwright.equal(back, tensor)
        assert back.data_ptr() == tensor.data_ptr() or not tensor.numel()


def test_writes_are_seen_and_memory_lives_as_long() -> None:
    tensor = opwright.zeros(3)
    back = taken(given(tensor))
    back[1] = 5
    assert tensor.tolist() == [0, 5, 0]
    del tensor
    opwright.full((3,), 9.0)
    assert back.tolist() == [0, 5, 0]


def test_read_only_stays_read_only() -> None:
    array = np.ones(3)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        managed = given(opwright.from_numpy(array))
    assert managed.contents.flags & 1
    assert not taken(managed).numpy().flags.writeable


def test_what_is_recorded_has_a_tangent_or_no_data_is_refused() -> None:
    x = opwright.ones(3)
    with pytest.raises(BufferError, match="require gradient"):
        given(x.clone().requires_grad_())
    with pytest.raises(RuntimeError, match="tangent"):
        opwright.func.jvp(lambda dual: (given(dual), dual)[1], (x,), (x,))
    with opwright.fake.FakeTensorMode(), pytest.raises(BufferError):
        given(opwright.ones(3))
    with pytest.raises((BufferError, RuntimeError)):
        opwright.vmap(lambda row: (given(row), row)[1])(opwright.ones(2, 3))


def test_subclasses_give_by_their_own_method() -> None:
    class Guarded(Tensor):
        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("not this one")

    with pytest.raises(BufferError, match="not this one"):
        given(opwright.ones(2).as_subclass(Guarded))


def test_other_versions_and_devices_are_refused() -> None:
    managed = given(opwright.ones(2))
    managed.contents.version[0] = 2
    with pytest.raises(BufferError, match="DLPack 2"):
        taken(managed)
    managed.contents.version[0], managed.contents.tensor.device[0] = 1, 8
    with pytest.raises(BufferError, match="device type 8"):
        taken(managed)
    managed.contents.deleter(managed)  # it is still ours
    with pytest.raises(BufferError, match="no streams"):
        offered().current_stream(8, 0, byref(c_void_p()))
    stream = c_void_p(1)
    assert offered().current_stream(1, 0, byref(stream)) == 0
    assert stream.value is None


def test_allocated_memory() -> None:
    like = given(opwright.zeros(2, 3)).contents.tensor
    made, told = POINTER(Managed)(), []
    fail = Fail(lambda context, kind, message: told.append((kind, message)))
    assert offered().allocate(byref(like), byref(made), None, fail) == 0
    tensor = taken(made)
    assert (tensor.shape, tensor.dtype) == ((2, 3), opwright.float32)
    like.device[0] = 2
    assert offered().allocate(byref(like), byref(made), None, fail) == -1
    assert told[0][0] == b"BufferError"
