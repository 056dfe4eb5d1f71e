"""Gradients on CUDA against those on the CPU, and across both; without a GPU on the stand-in for CuPy."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

pytest.importorskip("cupy", reason="needs CuPy: pip install --group cuda-tests")

from declared import of_kind
from differentiating import leaves
from on_cuda import (
    MARKS,
    UNINITIALISED,
    Convert,
    assert_same,
    determined,
    on_device,
    on_host,
    operator,
    outcome,
    placed,
)
from samples import NO_SAMPLES, SAMPLES
from sampling import Sample, bfloat16
from sweeps import spread

import opwright
from opwright import Tensor
from opwright_codegen.schema.model import SchemaKind

pytestmark = [pytest.mark.filterwarnings("ignore"), *MARKS]

SAMPLES_OF_EACH = 4
# On the CPU one operator computes it, whose gradients lie otherwise than those of several.
LIE_OTHERWISE = {"scaled_dot_product_attention"}
NAMES = [
    name
    for name in of_kind(SchemaKind.FUNCTIONAL)
    if name not in NO_SAMPLES and name.partition(".")[0] not in UNINITIALISED and operator(name).signature.tensors
]


def recorded(one: Sample) -> bool:
    """Whether a sample has an array that can have a gradient."""
    arrays = [each for each in leaves([*one.args, *one.kwargs.values()]) if isinstance(each, np.ndarray)]
    return any(each.dtype.kind in "fc" or each.dtype == bfloat16 for each in arrays)


def gradients(function: Any, one: Sample, convert: Convert) -> list[Tensor | None]:
    """The gradients of all inexact arguments, for gradients of the results that count up to 1: sums of terms no larger
    than the derivatives, whose digits are those that are compared."""
    args, kwargs = [convert(each) for each in one.args], {name: convert(each) for name, each in one.kwargs.items()}
    inputs = [each for each in leaves([*args, *kwargs.values()]) if isinstance(each, Tensor)]
    inputs = [each.requires_grad_() for each in inputs if each.is_floating_point() or each.is_complex()]
    found = determined(function.base, function(*args, **kwargs))
    results = [
        each for each in leaves(list(found) if isinstance(found, tuple) else [found]) if isinstance(each, Tensor)
    ]
    results = [each for each in results if each.requires_grad]
    given = [counting_to_one(each.numel()).to(each.dtype).view(each.shape).to(each.device) for each in results]
    return list(opwright.autograd.grad(results, inputs, given, allow_unused=True))


def counting_to_one(count: int) -> Tensor:
    """Equal steps that end at 1."""
    return opwright.arange(1, count + 1) / max(count, 1)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_on_cuda_equal_those_on_the_cpu(name: str) -> None:
    function = operator(name)
    samples = [one for one in SAMPLES[name]() if recorded(one)]
    for one in spread(samples, SAMPLES_OF_EACH):
        there, _ = placed(function, one)
        host = outcome(function, partial(gradients, function, one, on_host))
        device = outcome(function, partial(gradients, function, there, on_device))
        if name in LIE_OTHERWISE and isinstance(host, list) and isinstance(device, list):
            host, device = ([None if each is None else each.contiguous() for each in found] for found in (host, device))
        assert_same(device, host, f"{name}{one}")


# -- Across devices


def test_a_gradient_goes_back_to_the_device_it_belongs_to() -> None:
    x = opwright.tensor([1.0, 2.0], requires_grad=True)
    (x.cuda() ** 2).sum().backward()
    assert (x.grad.device.type, x.grad.tolist()) == ("cpu", [2.0, 4.0])

    w = opwright.tensor([1.0, 2.0], device="cuda", requires_grad=True)
    (w.cpu() ** 2).sum().backward()
    assert (w.grad.device.type, w.grad.tolist()) == ("cuda", [2.0, 4.0])


@pytest.mark.parametrize("target, source", [("cuda", "cpu"), ("cpu", "cuda")])
def test_copy_from_another_device(target: str, source: str) -> None:
    x = opwright.tensor([1.0, 2.0], device=source, requires_grad=True)
    y = opwright.zeros(2, 2, device=target)
    assert y.copy_(x) is y and y._version == 1
    (y * y).sum().backward()
    assert (x.grad.device.type, x.grad.tolist()) == (source, [4.0, 8.0])


def test_a_number_of_the_cpu_meets_a_tensor_of_the_device() -> None:
    w = opwright.tensor([1.0, 2.0], device="cuda", requires_grad=True)
    c = opwright.tensor(3.0, requires_grad=True)
    for y in (w * c, c * w):
        assert y.device.type == "cuda"
        w.grad = c.grad = None
        y.sum().backward()
        assert (w.grad.device.type, w.grad.tolist()) == ("cuda", [3.0, 3.0])
        assert (c.grad.device.type, c.grad.tolist()) == ("cpu", 3.0)


def test_tangents_go_along_with_a_copy() -> None:
    with opwright.autograd.forward_ad.dual_level():
        x = opwright.autograd.forward_ad.make_dual(opwright.tensor([1.0, 2.0]), opwright.tensor([1.0, 3.0]))
        y = opwright.zeros(2, device="cuda").copy_(x)
        tangent = opwright.autograd.forward_ad.unpack_dual(y * 2).tangent
    assert (tangent.device.type, tangent.tolist()) == ("cuda", [2.0, 6.0])
