"""The examples of `torch.library.custom_op` and of the methods of CustomOpDef, with the import lines changed."""

from __future__ import annotations

import numpy as np
import pytest

import opwright as torch
from opwright import Tensor
from opwright.library import custom_op

pytestmark = pytest.mark.usefixtures("operators_are_dropped")


def test_numpy_sin() -> None:
    @custom_op("mylib::numpy_sin", mutates_args=())
    def numpy_sin(x: Tensor) -> Tensor:
        x_np = x.cpu().numpy()
        y_np = np.sin(x_np)
        return torch.from_numpy(y_np).to(device=x.device)

    x = torch.randn(3)
    y = numpy_sin(x)
    assert torch.allclose(y, x.sin())


def test_numpy_sin_cpu() -> None:
    @custom_op("mylib::numpy_sin_cpu", mutates_args=(), device_types="cpu")
    def numpy_sin_cpu(x: Tensor) -> Tensor:
        x_np = x.numpy()
        y_np = np.sin(x_np)
        return torch.from_numpy(y_np)

    x = torch.randn(3)
    y = numpy_sin_cpu(x)
    assert torch.allclose(y, x.sin())


def test_numpy_sin_inplace() -> None:
    @custom_op("mylib::numpy_sin_inplace", mutates_args={"x"}, device_types="cpu")
    def numpy_sin_inplace(x: Tensor) -> None:
        x_np = x.numpy()
        np.sin(x_np, out=x_np)

    x = torch.randn(3)
    expected = x.sin()
    numpy_sin_inplace(x)
    assert torch.allclose(x, expected)


def test_numpy_sin_with_the_tag_inplace() -> None:
    @custom_op(
        "mylib::numpy_sin_",
        mutates_args={"x"},
        device_types="cpu",
        tags=torch.Tag.inplace,
    )
    def numpy_sin_(x: Tensor) -> Tensor:
        x_np = x.numpy()
        np.sin(x_np, out=x_np)
        return x

    x = torch.randn(3)
    expected = x.sin()
    result = numpy_sin_(x)
    assert result is x
    assert torch.allclose(x, expected)


def test_numpy_sin_out() -> None:
    @custom_op(
        "mylib::numpy_sin_out",
        mutates_args={"out"},
        device_types="cpu",
        tags=torch.Tag.out,
    )
    def numpy_sin_out(x: Tensor, *, out: Tensor) -> Tensor:
        x_np = x.numpy()
        out_np = out.numpy()
        np.sin(x_np, out=out_np)
        return out

    x = torch.randn(3)
    out = torch.empty_like(x)
    result = numpy_sin_out(x, out=out)
    assert result is out
    assert torch.allclose(out, x.sin())


def test_a_factory_function() -> None:
    @torch.library.custom_op("mylib::bar", mutates_args={}, device_types="cpu")
    def bar(device: torch.device) -> Tensor:
        return torch.ones(3)

    assert bar("cpu").tolist() == [1, 1, 1]


def test_weighted_sum() -> None:
    @custom_op("mylib::weighted_sum", mutates_args=())
    def weighted_sum(
        tensors: list[Tensor],
        weights: list[float],
    ) -> Tensor:
        return sum(t * w for t, w in zip(tensors, weights))  # type: ignore[return-value]  # noqa: B905

    x = torch.randn(3)
    y = torch.randn(3)
    out = weighted_sum([x, y], [0.3, 0.7])
    assert torch.allclose(out, 0.3 * x + 0.7 * y)


def test_register_kernel() -> None:
    @custom_op("mylib::numpy_sin", mutates_args=(), device_types="cpu")
    def numpy_sin(x: Tensor) -> Tensor:
        x_np = x.numpy()
        y_np = np.sin(x_np)
        return torch.from_numpy(y_np)

    @numpy_sin.register_kernel("cuda")
    def _(x):  # type: ignore[no-untyped-def]
        x_np = x.cpu().numpy()
        y_np = np.sin(x_np)
        return torch.from_numpy(y_np).to(device=x.device)

    x_cpu = torch.randn(3)
    assert torch.allclose(numpy_sin(x_cpu), x_cpu.sin())
    assert numpy_sin._opoverload.has_kernel_for_dispatch_key("CUDA")


def test_register_kernel_by_name() -> None:
    @custom_op("mylib::numpy_sin", mutates_args=(), device_types="cpu")
    def numpy_sin(x: Tensor) -> Tensor:
        return torch.from_numpy(np.sin(x.numpy()))

    @torch.library.register_kernel("mylib::numpy_sin", "cpu")
    def _(x):  # type: ignore[no-untyped-def]
        return torch.from_numpy(np.sin(x.numpy()) + 1)

    x = torch.randn(3)
    assert torch.allclose(numpy_sin(x), x.sin() + 1)


def test_set_kernel_enabled() -> None:
    inp = torch.randn(1)

    # define custom op `f`.
    @custom_op("mylib::f", mutates_args=())
    def f(x: Tensor) -> Tensor:
        return torch.zeros(1)

    assert f(inp).tolist() == [0]  # default kernel

    @f.register_kernel("cpu")
    def _(x):  # type: ignore[no-untyped-def]
        return torch.ones(1)

    assert f(inp).tolist() == [1]  # CPU kernel

    # temporarily disable the CPU kernel
    with f.set_kernel_enabled("cpu", enabled=False):
        assert f(inp).tolist() == [0]  # with CPU kernel disabled
    assert f(inp).tolist() == [1]


def test_linear_with_a_fake_kernel() -> None:
    @torch.library.custom_op("mylib::linear", mutates_args=())
    def linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return (x @ weight.t()) + bias

    @linear.register_fake
    def _(x, weight, bias):  # type: ignore[no-untyped-def]
        assert x.dim() == 2
        assert weight.dim() == 2
        assert bias.dim() == 1
        assert x.shape[1] == weight.shape[1]
        assert weight.shape[0] == bias.shape[0]
        assert x.device == weight.device
        return x.new_empty(x.size(0), weight.size(0))

    x = torch.randn(2, 2)
    weight = torch.randn(2, 2)
    bias = torch.randn(2)
    assert torch.allclose(linear(x, weight, bias), torch.nn.functional.linear(x, weight, bias))
    with torch._subclasses.fake_tensor.FakeTensorMode():
        assert linear(torch.randn(5, 3), torch.randn(4, 3), torch.randn(4)).shape == (5, 4)


def test_nonzero_with_a_fake_kernel() -> None:
    @torch.library.custom_op("mylib::nonzero", mutates_args=())
    def nonzero(x: Tensor) -> Tensor:
        x_np = x.cpu().numpy()
        res = np.stack(np.nonzero(x_np), axis=1)
        return torch.tensor(res, device=x.device)

    @nonzero.register_fake
    def _(x):  # type: ignore[no-untyped-def]
        # Number of nonzero-elements is data-dependent.
        # Since we cannot peek at the data in an abstract impl,
        # we use the ctx object to construct a new symint that
        # represents the data-dependent size.
        ctx = torch.library.get_ctx()
        nnz = ctx.new_dynamic_size()
        shape = [nnz, x.dim()]
        result = x.new_empty(shape, dtype=torch.int64)
        return result  # noqa: RET504

    x = torch.tensor([0, 1, 2, 0, 0, 1])
    assert nonzero(x).tolist() == x.nonzero().tolist()
    mode = torch.fake.FakeTensorMode(shape_env=torch.symbolic.ShapeEnv())
    assert str(nonzero(mode.from_tensor(x)).shape[0]) == "u0"


def test_numpy_sin_with_gradients() -> None:
    @torch.library.custom_op("mylib::numpy_sin", mutates_args=())
    def numpy_sin(x: Tensor) -> Tensor:
        x_np = x.cpu().numpy()
        y_np = np.sin(x_np)
        return torch.from_numpy(y_np).to(device=x.device)

    def setup_context(ctx, inputs, output) -> Tensor:  # type: ignore[no-untyped-def,return]
        (x,) = inputs
        ctx.save_for_backward(x)

    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        (x,) = ctx.saved_tensors
        return grad * x.cos()

    numpy_sin.register_autograd(backward, setup_context=setup_context)

    x = torch.randn(3).requires_grad_()
    y = numpy_sin(x)
    (grad_x,) = torch.autograd.grad(y, x, torch.ones_like(y))
    assert torch.allclose(grad_x, x.cos())


def test_numpy_mul_with_a_keyword_only_argument() -> None:
    @torch.library.custom_op("mylib::numpy_mul", mutates_args=())
    def numpy_mul(x: Tensor, *, val: float) -> Tensor:
        x_np = x.cpu().numpy()
        y_np = x_np * val
        return torch.from_numpy(y_np).to(device=x.device)

    def setup_context(ctx, inputs, keyword_only_inputs, output) -> Tensor:  # type: ignore[no-untyped-def,return]
        ctx.val = keyword_only_inputs["val"]

    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        return grad * ctx.val

    numpy_mul.register_autograd(backward, setup_context=setup_context)

    x = torch.randn(3).requires_grad_()
    y = numpy_mul(x, val=3.14)
    (grad_x,) = torch.autograd.grad(y, x, torch.ones_like(y))
    assert torch.allclose(grad_x, torch.full_like(x, 3.14))


def to_numpy(tensor):  # type: ignore[no-untyped-def]
    return tensor.cpu().numpy()


@pytest.mark.filterwarnings("ignore:.*is defined anew")
@pytest.mark.parametrize("registered_by", ["method", "function"])
def test_numpy_cube_with_a_vmap_rule(registered_by: str) -> None:
    @torch.library.custom_op("mylib::numpy_cube", mutates_args=())
    def numpy_cube(x: Tensor) -> tuple[Tensor, Tensor]:
        x_np = to_numpy(x)
        dx = torch.tensor(3 * x_np**2, device=x.device)
        return torch.tensor(x_np**3, device=x.device), dx

    def numpy_cube_vmap(info, in_dims, x):  # type: ignore[no-untyped-def]
        result = numpy_cube(x)
        return result, (in_dims[0], in_dims[0])

    if registered_by == "method":
        numpy_cube.register_vmap(numpy_cube_vmap)
    else:
        torch.library.register_vmap(numpy_cube, numpy_cube_vmap)

    x = torch.randn(3)
    cube, slope = torch.vmap(numpy_cube)(x)
    assert torch.allclose(cube, x**3) and torch.allclose(slope, 3 * x**2)


def test_numpy_mul_with_a_vmap_rule() -> None:
    @torch.library.custom_op("mylib::numpy_mul", mutates_args=())
    def numpy_mul(x: Tensor, y: Tensor) -> Tensor:
        return torch.tensor(to_numpy(x) * to_numpy(y), device=x.device)

    @torch.library.register_vmap("mylib::numpy_mul")
    def numpy_mul_vmap(info, in_dims, x, y):  # type: ignore[no-untyped-def]
        x_bdim, y_bdim = in_dims
        x = x.movedim(x_bdim, -1) if x_bdim is not None else x.unsqueeze(-1)
        y = y.movedim(y_bdim, -1) if y_bdim is not None else y.unsqueeze(-1)
        result = x * y
        result = result.movedim(-1, 0)
        return result, 0

    x = torch.randn(3)
    y = torch.randn(3)
    result = torch.vmap(numpy_mul)(x, y)
    assert torch.allclose(result, x * y)
    assert torch.allclose(torch.vmap(numpy_mul, in_dims=(0, None))(x, y), x.unsqueeze(1) * y)


def test_autocast() -> None:
    @torch.library.custom_op("mylib::my_sin", mutates_args=())
    def my_sin(x: Tensor) -> Tensor:
        return torch.sin(x)

    torch.library.register_autocast("mylib::my_sin", "cpu", torch.float16)

    x = torch.randn(3, dtype=torch.float32, device="cpu")
    with torch.autocast("cpu", dtype=torch.float16):
        y = torch.ops.mylib.my_sin(x)
    assert y.dtype == torch.float16
