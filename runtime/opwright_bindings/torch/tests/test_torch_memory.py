"""Memory of PyTorch's tensors in calls of ours: it stays resizable, and values that are not in memory arrive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opwright
from opwright.library import custom_op

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
pytestmark = pytest.mark.oracle
aten = opwright.ops.aten
DTYPES = ("float32", "float64", "bool", "int8", "uint16", "int64", "float16", "bfloat16", "complex64")
SHAPES = ((3, 4), (0, 3), (), (1, 4), (5,))


@custom_op("torch_memory::twice", mutates_args=())
def twice(x: np.ndarray) -> np.ndarray:
    """Return twice the values."""
    made: np.ndarray = x * 2
    return made


def is_resizable(tensor: Any) -> bool:
    return bool(tensor.untyped_storage().resizable())


def written(x: Any) -> Any:
    with torch.no_grad():
        return aten.mul_(x, 2.0)


PATHS: dict[str, Callable[[Any], Any]] = {
    "tensor": opwright.tensor,
    "as_tensor": opwright.as_tensor,
    "asarray": opwright.asarray,
    "from_dlpack": opwright.from_dlpack,
    "new_tensor": lambda x: opwright.ones(2).new_tensor(x),
    "a call": lambda x: opwright.add(x, x),
    "a number beside it": lambda x: opwright.mul(x, 2),
    "a list": lambda x: opwright.cat([x, x]),
    "a written argument": written,
    "out": lambda x: opwright.exp(torch.ones(3, 4), out=x),
    "a view": lambda x: opwright.unsqueeze(x, 0),
    "a custom operator": twice,
    "a comparison": lambda x: opwright.allclose(x, x),
    "assert_close": lambda x: opwright.testing.assert_close(x, x),
    "PyTorch's dispatcher": lambda x: torch.ops.torch_memory_binding.twice(x),
}


@pytest.fixture(scope="module", autouse=True)
def _bound() -> Any:
    from opwright_bindings.torch.runtime import binding

    library = opwright.library.Library("torch_memory_binding", "FRAGMENT")
    bound = binding.Binding("torch_memory_binding")
    for schema in ("twice(Tensor x) -> Tensor", "twice.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)"):
        library.define(schema)
        bound.define(schema)
    library.impl("twice", lambda x: x * 2, "CPU")
    library.impl("twice.out", lambda x, out: opwright.mul(x, 2, out=out), "CPU")
    return bound, library


@pytest.mark.parametrize("path", PATHS)
def test_memory_stays_resizable(path: str) -> None:
    x = torch.ones(3, 4)
    for _ in range(3):  # the first call goes through Python
        PATHS[path](x)
    assert is_resizable(x)
    x.untyped_storage().resize_(0)
    x.untyped_storage().resize_(48)


def test_outs_of_another_shape_are_resized() -> None:
    out = torch.ones(0)
    storage = out.untyped_storage()
    assert torch.ops.torch_memory_binding.twice.out(torch.ones(3, 4), out=out) is out
    assert out.tolist() == [[2.0] * 4] * 3
    assert out.untyped_storage()._cdata == storage._cdata and is_resizable(out)
    array = np.ones(0, np.float32)
    fixed = torch.from_numpy(array)
    assert torch.ops.torch_memory_binding.twice.out(torch.ones(3), out=fixed).tolist() == [2.0] * 3


def test_memory_stays_resizable_without_the_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.Tensor, "__dlpack_c_exchange_api__")
    double: Callable[..., Any] = custom_op("torch_memory::double", mutates_args=())(doubled)
    x = torch.ones(3, 4)
    for _ in range(3):
        assert torch.equal(double(x), 2 * x)
    assert is_resizable(x)


def doubled(x: np.ndarray) -> np.ndarray:
    """Return twice the values."""
    made: np.ndarray = x * 2
    return made


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_lie_as_pytorch_says(dtype: str) -> None:
    from opwright_bindings.torch.runtime.values import our_tensor

    for shape in SHAPES:
        whole = torch.randn(shape).to(getattr(torch, dtype))
        for x in (whole, whole.t() if whole.dim() == 2 else whole[..., None], whole.expand(2, *shape)):
            ours = our_tensor(x)
            assert tuple(ours.shape) == tuple(x.shape)
            if x.numel():
                assert tuple(ours.stride()) == tuple(x.stride())
                assert ours.array.__array_interface__["data"][0] == x.data_ptr()
            assert ours.array.flags.writeable
            assert is_resizable(x)
    assert our_tensor(torch.ones(3, requires_grad=True)).tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(TypeError, match=r"no dtype torch\.float8_e4m3fn"):
        our_tensor(torch.ones(3).to(torch.float8_e4m3fn))


def test_negatives_and_conjugates_arrive_or_are_refused() -> None:
    z = torch.tensor([1 + 2j, 3 - 1j])
    negative, conjugate = z.conj().imag, z.conj()
    for x in (negative, conjugate):
        for made in (opwright.tensor, opwright.as_tensor, opwright.asarray, opwright.from_dlpack):
            with pytest.raises(BufferError, match="bit set"):
                made(x)
        for _ in range(3):
            assert torch.equal(twice(x), 2 * x.clone())
            assert torch.equal(torch.ops.torch_memory_binding.twice(x), 2 * x.clone())
    assert is_resizable(z)
