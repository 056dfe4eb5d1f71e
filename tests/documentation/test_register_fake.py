"""The examples of `torch.library.register_fake`, with the import lines changed; a Library defines the operators."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import opwright as torch
from opwright import Tensor
from opwright.symbolic import ShapeEnv


@pytest.fixture
def mylib() -> Iterator[torch.library.Library]:
    library = torch.library.Library("mylib", "FRAGMENT")
    library.define("custom_linear(Tensor x, Tensor weight, Tensor bias) -> Tensor")
    library.define("custom_nonzero(Tensor x) -> Tensor")

    def custom_nonzero(x: Tensor) -> Tensor:
        x_np = x.numpy(force=True)
        res = np.stack(np.nonzero(x_np), axis=1)
        return torch.tensor(res, device=x.device)

    library.impl("custom_nonzero", custom_nonzero, "CPU")
    yield library
    library.destroy()


def test_custom_linear(mylib: torch.library.Library) -> None:
    @torch.library.register_fake("mylib::custom_linear", lib=mylib)
    def _(x, weight, bias):  # type: ignore[no-untyped-def]
        assert x.dim() == 2
        assert weight.dim() == 2
        assert bias.dim() == 1
        assert x.shape[1] == weight.shape[1]
        assert weight.shape[0] == bias.shape[0]
        assert x.device == weight.device

        return (x @ weight.t()) + bias

    with torch._subclasses.fake_tensor.FakeTensorMode():
        x = torch.randn(2, 3)
        w = torch.randn(3, 3)
        b = torch.randn(3)
        y = torch.ops.mylib.custom_linear(x, w, b)

    assert y.shape == (2, 3)


def test_custom_nonzero(mylib: torch.library.Library) -> None:
    @torch.library.register_fake("mylib::custom_nonzero", lib=mylib)
    def _(x):  # type: ignore[no-untyped-def]
        ctx = torch.library.get_ctx()
        nnz = ctx.new_dynamic_size()
        shape = [nnz, x.dim()]
        result = x.new_empty(shape, dtype=torch.int64)
        return result  # noqa: RET504

    x = torch.tensor([0, 1, 2, 3, 4, 0])
    mode = torch.fake.FakeTensorMode(shape_env=ShapeEnv())
    found = torch.ops.mylib.custom_nonzero(mode.from_tensor(x))
    rows, columns = found.shape
    assert str(rows) == "u0" and columns == 1 and found.dtype == torch.int64 and found.stride() == (1, 1)
    assert (found + 1).shape[0] is rows
    with pytest.raises(torch.symbolic.GuardOnDataDependentError, match="u0 == 5") as raised:
        assert rows == 5
    assert "mylib::custom_nonzero" in str(raised.value)
    assert rows >= 0
    assert torch.ops.mylib.custom_nonzero(x).tolist() == [[1], [2], [3], [4]]
