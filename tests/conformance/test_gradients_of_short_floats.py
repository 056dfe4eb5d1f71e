"""Gradients in float32, float16 and bfloat16 against PyTorch's: in the dtype of their inputs, and as near as it is."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from differentiating import (
    DIFFERENT,
    as_tuple,
    call_named,
    chosen,
    derivatives,
    flattened,
    named_arguments,
    overload,
    parted,
    tensors_of,
)
from sampling import Sample, make

import opwright

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from oracle import copied, numpy_of, to_opwright, to_torch  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

# By dtype, how far a gradient may be off, of the largest.
DTYPES = {np.dtype("float32"): 1e-4, np.dtype("float16"): 2e-2, np.dtype(ml_dtypes.bfloat16): 1e-1}
NAMES = [
    "add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "neg", "exp", "log1p", "sqrt", "rsqrt", "reciprocal", "sin",
    "tanh", "sigmoid", "relu", "gelu", "silu", "elu", "softplus", "leaky_relu", "hardswish", "abs", "atan2", "maximum",
    "clamp", "where.self", "sum", "sum.dim_IntList", "mean", "mean.dim", "amax", "max.dim", "logsumexp", "cumsum",
    "_softmax", "_log_softmax", "mm", "bmm", "addmm", "cat", "stack", "gather", "index_select",
    "native_layer_norm", "mse_loss", "smooth_l1_loss", "binary_cross_entropy", "embedding",
    "expand", "permute", "select.int", "slice.Tensor", "view", "constant_pad_nd", "tril", "roll", "flip",
]  # fmt: skip


def shortened(value: object, dtype: np.dtype) -> object:
    """Arrays of float64 among the values as arrays of `dtype`."""
    if isinstance(value, np.ndarray) and value.dtype == np.float64:
        return value.astype(dtype)
    return [shortened(each, dtype) for each in value] if isinstance(value, list) else value


def gradients(root: object, name: str, sample: Sample, dtype: np.dtype) -> list[tuple[str, np.ndarray | None]]:
    """The dtype and the value, in float64, of the gradient of each tensor of that dtype."""
    entry = derivatives().find(f"aten::{name}")
    assert entry is not None
    schema = entry.operator.schema
    convert = to_torch if root is torch else to_opwright
    given = {key: shortened(value, dtype) for key, value in named_arguments(schema, sample).items()}
    values = {key: convert(copied(value)) for key, value in given.items()}
    known = sorted({key for each in entry.derivatives if each.reason is None for key in each.inputs})
    leaves = [leaf.requires_grad_() for key in known for leaf in tensors_of(values[key]) if leaf.is_floating_point()]
    results = flattened(as_tuple(call_named(overload(root, name), schema, values)))
    results = [each for each in results if each.requires_grad]
    cotangents = [convert(make(tuple(each.shape), np.float64, seed=3).astype(dtype)) for each in results]
    found = root.autograd.grad(results, leaves, cotangents, allow_unused=True)
    return [
        (str(leaf.dtype).split(".")[-1], None if each is None else in_double(each))
        for leaf, each in zip(leaves, found, strict=True)
    ]


def in_double(tensor: object) -> np.ndarray:
    return tensor.double().numpy() if isinstance(tensor, torch.Tensor) else numpy_of(tensor.detach()).astype(np.float64)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_gradients(name: str, dtype: np.dtype) -> None:
    compared = 0
    for sample in parted(chosen(name), name, DIFFERENT)[0][:4]:
        if not any(isinstance(each, np.ndarray) and each.dtype == np.float64 for each in flat_arguments(sample)):
            continue
        try:
            wanted = gradients(torch, name, sample, dtype)
        except (RuntimeError, NotImplementedError):
            continue
        for (ours, got), (theirs, value) in zip(gradients(opwright, name, sample, dtype), wanted, strict=True):
            assert ours == theirs
            assert (got is None) == (value is None), sample
            if value is not None and got is not None:
                assert got.shape == value.shape
                is_finite = np.isfinite(value)
                scale = np.abs(value[is_finite]).max(initial=1.0)
                assert np.allclose(got[is_finite], value[is_finite], atol=DTYPES[dtype] * scale, rtol=0), sample
                compared += 1
    assert compared


def flat_arguments(sample: Sample) -> list[object]:
    return [each for arg in sample.args for each in (arg if isinstance(arg, list) else [arg])]
