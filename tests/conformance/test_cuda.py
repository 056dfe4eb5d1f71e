"""Every operator on CUDA against the CPU: same values, dtypes, shapes and strides, same errors.

Random numbers are drawn on the CPU, so equal too. Without a GPU the stand-in for CuPy serves (`cupy_stand_in`).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import seeds

pytest.importorskip("cupy", reason="needs CuPy: pip install --group cuda-tests")

from cupy_stand_in import HAS_GPU
from declared import functional_of, of_kind
from on_cuda import (
    MARKS,
    UNINITIALISED,
    Convert,
    assert_close,
    assert_same,
    determined,
    on_device,
    on_host,
    operator,
    outcome,
    placed,
    run,
    samples_of,
    writes_twice,
)
from samples import NO_SAMPLES, SAMPLES
from sampling import Sample
from sweeps import share

import opwright
from opwright_codegen.schema.model import SchemaKind

pytestmark = [pytest.mark.filterwarnings("ignore"), *MARKS]

FUNCTIONAL = [name for name in of_kind(SchemaKind.FUNCTIONAL) if name not in NO_SAMPLES]


@pytest.mark.parametrize("name", FUNCTIONAL)
def test_cuda_equals_cpu(name: str) -> None:
    function = operator(name)
    for one in share(list(SAMPLES[name]()), 12, name):
        host = run(function, one, on_host)
        there, kind = placed(function, one)
        device = run(function, there, on_device)
        values = name.partition(".")[0] not in UNINITIALISED and not (HAS_GPU and writes_twice(name, one))
        assert_same(determined(name, device), determined(name, host), f"{name}{one}", kind, values)


VARIANTS = [
    name
    for name in of_kind(SchemaKind.INPLACE, SchemaKind.OUT, SchemaKind.MUTABLE)
    if functional_of(name) in SAMPLES and operator(name).signature.tensors
]


@pytest.mark.parametrize("name", VARIANTS)
def test_variants_that_write(name: str) -> None:
    function = operator(name)
    is_out = function.schema.kind is SchemaKind.OUT
    for one in list(samples_of(name))[::3][:12]:
        plain = run(operator(functional_of(name)), one, on_host) if is_out else None
        if isinstance(plain, Exception):
            continue
        host = outcome(function, partial(_written, function, one, plain, on_host, "cpu"))
        device = outcome(function, partial(_written, function, one, plain, on_device, "cuda"))
        values = function.base not in UNINITIALISED and not (HAS_GPU and writes_twice(name, one))
        assert_same(determined(name, device), determined(name, host), f"{name}{one}", values=values)


def _written(function: Any, one: Sample, plain: Any, convert: Convert, device: str) -> Any:
    """What a call of a variant returns: it writes to copies of the sample's arrays, or to new tensors."""
    signature = function.signature
    args = [convert(each) for each in one.args]
    kwargs = {name: convert(each) for name, each in one.kwargs.items()}
    for position in signature.written:
        if position < len(args):
            args[position] = args[position].clone()
    outs = [each for position, each in enumerate(signature.names) if position in signature.written]
    if function.schema.kind is SchemaKind.OUT:
        results = plain if isinstance(plain, tuple) else (plain,)
        kwargs |= {out: _new(result, device) for out, result in zip(outs, results, strict=True)}
    return function(*args, **kwargs)


def _new(like: Any, device: str) -> Any:
    if isinstance(like, list):
        return [_new(each, device) for each in like]
    if like is None:  # a gradient that the mask leaves out
        return opwright.empty(0, device=device)
    return opwright.empty(like.shape, dtype=like.dtype, device=device)


def test_vectors_of_decompositions() -> None:
    """Their phases are free: what they decompose is put together again."""
    rng = seeds.numpy_generator(5)
    x = on_device(rng.standard_normal((2, 3, 4)).astype(np.float32))
    u, values, vh = opwright.linalg.svd(x, full_matrices=False)
    assert_close(u * values.unsqueeze(-2) @ vh, x.cpu(), "svd")
    symmetric = x @ x.mT
    values, vectors = opwright.linalg.eigh(symmetric)
    assert_close(vectors * values.unsqueeze(-2) @ vectors.mT, symmetric.cpu(), "eigh")
    values, vectors = opwright.linalg.eig(symmetric + x[..., :3])
    assert_close(vectors * values.unsqueeze(-2), ((symmetric + x[..., :3]).to(values.dtype) @ vectors).cpu(), "eig")


def test_autocast_on_a_device() -> None:
    x = on_device(np.ones((2, 3), np.float32))
    weight = on_device(np.ones((3, 2), np.float32)).requires_grad_()
    opwright.set_autocast_enabled("cuda", True)  # (`autocast` asks the driver whether there is a device)
    try:
        product = x @ weight
        assert (product.dtype, product.sum().dtype, product.exp().dtype) == (opwright.float16, *[opwright.float32] * 2)
        mixed = opwright.addcmul(product, product, opwright.tensor(2.0))  # a number of the CPU beside them
        assert mixed.dtype == opwright.float16 and mixed.device.type == "cuda"
    finally:
        opwright.set_autocast_enabled("cuda", False)
    product.sum().backward()
    assert weight.grad is not None and weight.grad.dtype == opwright.float32
    assert weight.grad.cpu().tolist() == [[2.0, 2.0]] * 3
