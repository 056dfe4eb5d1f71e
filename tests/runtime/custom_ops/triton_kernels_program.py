"""Operators of Triton's kernels, by Triton's interpreter or its stand-in: a program of its own, since what Triton does
is decided when it is imported. It prints nothing where all is as it should be."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl

import opwright
from opwright import Tensor
from opwright.fx.experimental.proxy_tensor import make_fx
from opwright.library import opcheck, triton_op, wrap_triton


@triton.jit
def add_kernel(a, b, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(a + offsets, mask=mask) + tl.load(b + offsets, mask=mask), mask=mask)


tuned_kernel = triton.autotune(configs=[triton.Config({"BLOCK": 8})], key=[])(add_kernel)


@triton_op("tests_triton::add", mutates_args={})
def add(x: Tensor, y: Tensor) -> Tensor:
    out = opwright.empty_like(x)
    wrap_triton(add_kernel)[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, out, x.numel(), BLOCK=16)
    return out


@triton_op("tests_triton::add_", mutates_args={"x"})
def add_(x: Tensor, y: Tensor) -> None:
    wrap_triton(add_kernel)[(triton.cdiv(x.numel(), 16),)](x, y, x, x.numel(), BLOCK=16)


def alone(x: Tensor) -> Tensor:
    out = opwright.empty_like(x)
    wrap_triton(add_kernel)[(1,)](x, x, out, x.numel(), BLOCK=4)
    return out


for name in ("float32", "float64", "int64", "int32"):
    x = opwright.arange(37).to(getattr(opwright, name))
    assert np.array_equal(add(x, x), np.arange(37) * 2)
    assert add(x, x).dtype == x.dtype
whole = opwright.arange(40.0)
view = whole[3:]
before = view._version
add_(view, view)
assert whole.tolist() == [0, 1, 2, *(2.0 * n for n in range(3, 40))]
assert view._version > before

add.register_autograd(lambda ctx, grad: (grad, grad))
x = opwright.ones(3, requires_grad=True)
add(x, x * 2).sum().backward()
assert x.grad is not None and x.grad.tolist() == [3, 3, 3]
assert set(opcheck(add, (opwright.ones(3), opwright.ones(3))).values()) == {"SUCCESS"}
for mode in ("real", "fake", "symbolic"):
    graph = make_fx(lambda x: add(x, x), tracing_mode=mode)(opwright.ones(3))
    assert [node.target for node in graph.graph.nodes][1] is opwright.ops.tests_triton.add.default
    assert graph(opwright.full((3,), 4.0)).tolist() == [8, 8, 8]

assert alone(opwright.ones(3)).tolist() == [2, 2, 2]
for traced in (make_fx(alone), make_fx(alone, tracing_mode="fake"), opwright.func.grad(lambda x: alone(x).sum())):
    with pytest.raises(RuntimeError, match=r"launch it within a function under opwright\.library\.triton_op"):
        traced(opwright.ones(3))
with pytest.raises(TypeError, match=r"wrap_triton takes functions under triton\.jit"):
    wrap_triton(alone)
if "stand_in" in triton.__file__:  # Triton's own needs a GPU to choose
    out = opwright.empty(20)
    wrap_triton(tuned_kernel)[lambda meta: (triton.cdiv(20, meta["BLOCK"]),)](out.fill_(1), out, out, 20)
    assert out.tolist() == [2] * 20
