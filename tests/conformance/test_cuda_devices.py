"""What meets across devices: conversions, copies, indexing, mixtures that are refused; random state of each device."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("cupy", reason="needs CuPy: pip install --group cuda-tests")

from on_cuda import MARKS, cupy

import opwright
from opwright import Tensor

pytestmark = MARKS


def there(*values: Any, **options: Any) -> Tensor:
    return opwright.tensor(list(values), device="cuda", **options)


def here(*values: Any, **options: Any) -> Tensor:
    return opwright.tensor(list(values), **options)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "complex64"])
def test_there_and_back(dtype: str) -> None:
    x = here([1, 0, 3], [4, 5, 6]).to(getattr(opwright, dtype))
    for moved in (x.cuda(), x.to("cuda"), x.to(opwright.device("cuda", 0)), x.t().cuda().t()):
        assert (moved.device, moved.dtype) == (opwright.device("cuda:0"), x.dtype)
        for back in (moved.cpu(), moved.to("cpu"), moved.to(x), moved.to("cpu", x.dtype)):
            assert back.device.type == "cpu" and back.tolist() == x.tolist()


def test_nothing_moves_where_it_is() -> None:
    x = there(1.0, 2.0)
    assert x.cuda() is x and x.to("cuda") is x and x.to("cuda:0") is x and x.to(opwright.float32) is x
    assert x.to("cuda", copy=True) is not x


def test_strides_survive_the_way() -> None:
    x = opwright.ones(2, 3, 4, 5).permute(0, 3, 1, 2)
    assert x.cuda().stride() == x.stride() == x.cuda().cpu().stride()


def test_numpy_wants_the_cpu() -> None:
    x = there(1.0, 2.0)
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        x.numpy()
    with pytest.raises(TypeError, match="can't convert cuda:0"):
        np.asarray(x)
    assert x.numpy(force=True).tolist() == x.tolist() == [1.0, 2.0]
    assert x[1].item() == 2.0


@pytest.mark.parametrize("target, source", [(here, there), (there, here)])
def test_items_from_another_device(target: Callable[..., Tensor], source: Callable[..., Tensor]) -> None:
    x, y = target(0.0, 0.0, 0.0), source(1.0, 2.0, 3.0)
    x[0] = y[2]
    x[1:] = y[:2]
    assert x.tolist() == [3.0, 1.0, 2.0]
    x[target(0, 2)] = source(9.0)[0]
    assert x.tolist() == [9.0, 1.0, 9.0]
    assert x.fill_(y[0]).tolist() == [1.0] * 3
    assert x.masked_fill_(x > 0, y[1]).tolist() == [2.0] * 3


def test_indices_of_the_cpu() -> None:
    x = there(10.0, 20.0, 30.0)
    assert x[here(2, 0)].tolist() == [30.0, 10.0]
    assert x[here(True, False, True)].tolist() == [10.0, 30.0]
    x[here(1)] = 0.0
    assert x[[0, 1]].tolist() == [10.0, 0.0]


REFUSED: dict[str, Callable[[], Any]] = {
    "sum": lambda: there(1.0, 2.0) + here(1.0, 2.0),
    "written": lambda: here(1.0, 2.0).add_(there(1.0, 2.0)),
    "written 0-dim": lambda: here(1.0)[0].add_(there(1.0)[0]),
    "list": lambda: opwright.cat([there(1.0), here(1.0)]),
    "product": lambda: there([1.0]) @ here([1.0]),
    "choice": lambda: opwright.where(there(True), there(1.0), here(1.0)),
    "indices of the device": lambda: here(1.0)[there(0)],
    "index": lambda: opwright.index_select(there(1.0), 0, here(0)),
    "embedding": lambda: opwright.embedding(there([1.0]), here(0)),
    "values": lambda: there(1.0, 2.0).index_put_([there(0, 1)], here(1.0, 2.0)),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_mixtures_are_refused(call: Callable[[], Any]) -> None:
    mixture = r"at least two devices, (cuda:0 and cpu|cpu and cuda:0)! \(argument '\w+' of aten::"
    with pytest.raises(RuntimeError, match=mixture):
        call()


def test_out_is_on_the_device_of_the_operands() -> None:
    with pytest.raises(RuntimeError, match="Expected out tensor to have device cuda:0, but got cpu instead"):
        opwright.add(there(1.0), there(1.0), out=here(0.0))


@pytest.mark.parametrize("index", [[3], [-4]])
def test_positions_beyond_the_end(index: list[int]) -> None:
    x, place, value = there(1.0, 2.0, 3.0), there(*index), there(1.0)
    for call in (lambda: x[place], lambda: x.index_put_([place], value), lambda: x.index_put_([place], value, True)):
        with pytest.raises(IndexError, match=r"index -?\d is out of bounds for dimension 0 with size 3"):
            call()
    assert x.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float16", "bfloat16", "float64", "complex64"])
def test_additions_to_one_position(dtype: str) -> None:
    x = opwright.zeros(3, dtype=getattr(opwright, dtype), device="cuda")
    x.index_put_([there(0, 0, 2)], there(1, 1, 1).to(x.dtype), accumulate=True)
    assert x.tolist() == ([True, False, True] if dtype == "bool" else [2, 0, 1])


def test_plain_arrays_of_both_kinds() -> None:
    made = opwright.add(cupy.ones(2, "float32"), np.float32(1))
    assert type(made) is cupy.ndarray and cupy.asnumpy(made).tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="at least two devices"):
        opwright.add(cupy.ones(2), np.ones(2))


def test_empty_arrays_get_strides() -> None:
    for shape in ((0,), (2, 0, 4), (0, 0)):
        assert opwright.as_tensor(cupy.zeros(shape)).stride() == opwright.from_numpy(np.zeros(shape)).stride()


def test_devices_have_random_states_of_their_own() -> None:
    opwright.manual_seed(3)
    first = opwright.rand(4, device="cuda")
    expected = opwright.rand(4)
    assert first.tolist() == expected.tolist()  # drawn alike, and not one after the other
    opwright.manual_seed(3)
    assert opwright.rand(4, device="cuda").tolist() == first.tolist()
    assert opwright.rand(4, device="cuda").tolist() != first.tolist()


def test_a_generator_serves_one_kind_of_device() -> None:
    generator = opwright.Generator("cuda").manual_seed(3)
    assert opwright.rand(2, device="cuda", generator=generator).device.type == "cuda"
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but found 'cuda'"):
        opwright.rand(2, generator=generator)
    with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator but found 'cpu'"):
        opwright.rand(2, device="cuda", generator=opwright.Generator())


@pytest.mark.parametrize("name", ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "complex64"])
def test_the_cuda_array_interface(name: str) -> None:
    """What PyTorch's tensors say of themselves, and CuPy takes without a copy."""
    x = opwright.ones(2, 3, device="cuda").to(getattr(opwright, name))
    itemsize = x.element_size()
    for each, strides in ((x, None), (x.t(), (itemsize, 3 * itemsize)), (x[:, 1:], (3 * itemsize, itemsize))):
        said = each.__cuda_array_interface__
        assert (said["shape"], said["strides"], said["data"]) == (each.shape, strides, (each.data_ptr(), False))
        assert said["typestr"] == {"bfloat16": "<V2"}.get(name, np.dtype(getattr(opwright, name)).str)
        assert said["version"] >= 2
    if name != "bfloat16":
        taken = cupy.asarray(x.t())
        assert (taken.shape, taken.strides, taken.data.ptr) == ((3, 2), (itemsize, 3 * itemsize), x.data_ptr())
    assert opwright.empty(0, 3, device="cuda").__cuda_array_interface__["data"] == (0, False)


def test_the_cuda_array_interface_is_refused() -> None:
    assert not hasattr(opwright.ones(2), "__cuda_array_interface__")
    with pytest.raises(RuntimeError, match="on Variable that requires grad"):
        _ = there(1.0).requires_grad_().__cuda_array_interface__
    with opwright.fake.FakeTensorMode():
        fake = opwright.ones(2, device="cuda")
    with pytest.raises(AttributeError, match="on a tensor on cuda; it is fake and has no data"):
        _ = fake.__cuda_array_interface__


def test_arrays_that_offer_the_cuda_array_interface_alone() -> None:
    class Other:
        def __init__(self, owner: Any) -> None:
            self.owner = owner
            self.__cuda_array_interface__ = owner.__cuda_array_interface__

    x = there(1.0, 2.0)
    shared = opwright.asarray(Other(x))
    assert (shared.device.type, shared.data_ptr(), shared.tolist()) == ("cuda", x.data_ptr(), [1.0, 2.0])
    copied = opwright.tensor(Other(x))
    assert (copied.device.type, copied.tolist()) == ("cuda", [1.0, 2.0]) and copied.data_ptr() != x.data_ptr()


def test_dlpack_and_pickle() -> None:
    x = there(1.0, 2.0)
    assert opwright.from_dlpack(x).device.type == "cuda"
    assert opwright.from_dlpack(x).data_ptr() == x.data_ptr()
    assert x.__cuda_array_interface__["data"] == (x.data_ptr(), False)
    assert repr(x) == "tensor([1., 2.], device='cuda:0')"
    again = pickle.loads(pickle.dumps(x))
    assert (again.device.type, again.tolist()) == ("cuda", [1.0, 2.0])
