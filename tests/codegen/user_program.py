"""A user's program, which type checkers read (`test_typing.py`) and which runs: what they say of each call is so.

`assert_type` refuses a type that is Any or Unknown where another is named.
"""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import opwright
import opwright.nn.functional as F
from opwright import Tensor, func, vmap

# Creation
x = opwright.tensor([[1.0, 2.0], [3.0, 4.0]])
assert_type(x, Tensor)
assert_type(opwright.ones(2, 3), Tensor)
assert_type(opwright.arange(6).reshape(2, 3), Tensor)
assert_type(opwright.zeros_like(x), Tensor)
assert_type(opwright.randn(2, 2, requires_grad=True), Tensor)
assert_type(opwright.as_tensor(np.ones(2)), Tensor)
assert_type(opwright.random.manual_seed(0), opwright.Generator)

# Operators of Python, indexing, methods
assert_type(x + 1, Tensor)
assert_type(2 - x, Tensor)
assert_type(x @ x, Tensor)
assert_type(-x, Tensor)
assert_type(x > 0, Tensor)
assert_type(x[0], Tensor)
assert_type(x[0, 1:].sum(), Tensor)
assert_type(x[x > 1], Tensor)
assert_type(x[..., None], Tensor)
assert_type(list(x), list[Tensor])
assert_type(x.sum(), Tensor)
assert_type(x.mean(0, keepdim=True), Tensor)
assert_type(x.max(1).values, Tensor)
assert_type(x.T, Tensor)
assert_type(x.softmax(-1), Tensor)
assert_type(x.unique(), Tensor)
assert_type(x.nonzero(), Tensor)
assert_type(x.norm(), Tensor)
assert_type(x.to(opwright.float64), Tensor)
assert_type(x.shape, opwright.Size)
assert_type(x.chunk(2), tuple[Tensor, ...])
assert_type(len(x), int)
x[0] = 1.0
x += 1
assert_type(x, Tensor)

# Functions, of Tensors and of arrays
a: NDArray[np.float32] = np.ones((2, 2), np.float32)
assert_type(opwright.add(x, 2, alpha=3), Tensor)
assert_type(opwright.where(x > 0, x, 0), Tensor)
assert_type(opwright.stack([x, x]), Tensor)
assert_type(opwright.einsum("ij,jk->ik", x, x), Tensor)
assert_type(opwright.tensordot(x, x), Tensor)
assert_type(opwright.meshgrid(x[0], x[1], indexing="ij"), tuple[Tensor, ...])
assert_type(opwright.split(x, 1), tuple[Tensor, ...])
assert_type(opwright.atleast_2d(x), Tensor)
assert_type(opwright.norm(x), Tensor)
assert_type(opwright.linalg.solve(x + opwright.eye(2), x), Tensor)
assert_type(opwright.linalg.svd(x)[1], Tensor)
assert_type(opwright.fft.rfft(x), Tensor)
assert_type(opwright.special.erf(x), Tensor)
assert_type(opwright.equal(x, x), bool)

# Neural networks, autograd
assert_type(F.relu(x), Tensor)
assert_type(F.linear(x, x), Tensor)
assert_type(F.cross_entropy(x, opwright.tensor([0, 1])), Tensor)
w = opwright.ones(2, requires_grad=True)
(w * 2).sum().backward()
assert_type(w.grad, Tensor | None)
assert_type(opwright.autograd.grad(w.sum(), w)[0], Tensor | None)
with opwright.autocast("cpu") as region:
    assert_type(region, opwright.autocast)
with opwright.no_grad():
    assert_type(w.detach().numpy(), np.ndarray[Any, Any])


@opwright.no_grad()
def update(weight: Tensor, rate: float) -> Tensor:
    return weight.sub_(rate)


assert_type(update(w, 0.1), Tensor)


# Transforms keep the parameters of a function, and a gradient is of its argument's type
def loss(weight: Tensor, sample: Tensor, scale: float = 1.0) -> Tensor:
    return (weight * sample).sum() * scale


def loss_and_more(weight: Tensor, sample: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    return loss(weight, sample), {"sample": sample}


def loss_of_dict(parameters: dict[str, Tensor], sample: Tensor) -> Tensor:
    return loss(parameters["w"], sample)


v = opwright.ones(2)
assert_type(func.grad(loss)(v, v, scale=2.0), Tensor)
assert_type(func.grad(loss_and_more, has_aux=True)(v, v), tuple[Tensor, dict[str, Tensor]])
assert_type(func.grad(loss_of_dict)({"w": v}, v), dict[str, Tensor])
assert_type(func.grad_and_value(loss)(v, v), tuple[Tensor, Tensor])
assert_type(vmap(loss, in_dims=(None, 0))(v, x), Tensor)
assert_type(vmap(func.grad(loss), in_dims=(None, 0))(v, x), Tensor)
assert_type(func.vjp(loss_of_dict, {"w": v}, v)[1](opwright.tensor(1.0)), tuple[dict[str, Tensor], Tensor])
assert_type(func.jvp(loss, (v, v), (v, v)), tuple[Tensor, Tensor])
assert_type(func.jacrev(loss)(v, v), Tensor)
assert_type(func.hessian(loss)(v, v), Tensor)
assert_type(func.functionalize(loss)(v, v), Tensor)
func.hessian(lambda each: (each**3).sum())(v)  # the parameters of a lambda have no types


# Operators of one's own
@opwright.library.custom_op("user_program::clipped", mutates_args=())
def clipped(rows: NDArray[np.float32], limit: float = 1.0) -> NDArray[np.float32]:
    return np.clip(rows, 0, limit)


@opwright.library.custom_op("user_program::scaled", mutates_args=())
def scaled(rows: Tensor, by: float) -> Tensor:
    return rows * by


@scaled.register_fake
def _(rows: Tensor, by: float) -> Tensor:
    return opwright.empty_like(rows)


assert_type(clipped(a, 0.5), NDArray[Any])
assert_type(clipped(x), Tensor)
assert_type(scaled(x, 2.0), Tensor)
assert_type(opwright.library.opcheck(scaled, (x, 2.0)), dict[str, str | Exception])
assert_type(opwright.autograd.gradcheck(loss, (w.double(), v.double())), bool)
library = opwright.library.Library("user_program_too", "DEF")
library.define("same(Tensor x) -> Tensor")

# Without data, dispatch, programs as graphs
with opwright.fake.FakeTensorMode() as mode:
    assert_type(mode, opwright.fake.FakeTensorMode)
    assert_type(opwright.empty(1000, 1000) @ opwright.empty(1000, 10), Tensor)
assert_type(opwright.ops.aten.add.Tensor(x, x), Tensor)
assert_type(opwright.ops.aten.add.Tensor.name, str)
assert_type(opwright.fx.symbolic_trace(loss, v, v), opwright.fx.GraphModule)
