"""Gradients at corners that samples of operators do not reach, of values and of dtypes, against PyTorch's."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from itertools import zip_longest
from typing import Any

import numpy as np
import pytest
from differentiating_twice import numpy_dtype
from known_versions import OLDER
from sampling import COMPLEX128, FLOAT16, FLOAT32, FLOAT64, INT64, make

import opwright

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from oracle import copied, to_opwright, to_torch  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


def array(*values: Any) -> np.ndarray:
    return np.array(values, FLOAT64)


def attended(lib: Any, *given: Any) -> Any:
    """Causal attention, in PyTorch by the kernel that has second derivatives."""
    block = contextlib.nullcontext() if lib is opwright else sdpa_kernel(SDPBackend.MATH)
    with block:
        return lib.nn.functional.scaled_dot_product_attention(*given, is_causal=True)


def drawn(*shape: int, dtype: np.dtype = FLOAT64) -> np.ndarray:
    return make(shape, dtype, low=-2, high=3)


Function = Callable[..., Any]
ZEROS = array(0.0, 0.0, 0.0)
TIES = array(1.0, 3.0, 3.0, -1.0, -1.0)
EQUAL = np.array([[2.0, 2.0, 1.0], [1.0, 2.0, 2.0]])
VALUES: dict[str, tuple[Function, tuple[np.ndarray, ...]]] = {
    "pow(0, 0)": (lambda lib, x: x**0, (ZEROS,)),
    "pow(0, 1)": (lambda lib, x: x**1, (ZEROS,)),
    "pow(0, 2)": (lambda lib, x: x**2, (ZEROS,)),
    "pow(0, 3)": (lambda lib, x: x**3, (ZEROS,)),
    "pow(0, 0.5)": (lambda lib, x: x**0.5, (array(0.0, 1.0),)),
    "pow(negative, 3)": (lambda lib, x: x**3, (array(-2.0, -0.0),)),
    "pow(x, y) at 0": (lambda lib, x, y: x**y, (array(0.0, 0.0, 0.0, 2.0), array(0.0, 1.0, 2.0, 0.0))),
    "pow(negative, complex)": (
        lambda lib, y: lib.pow(-lib.ones(2, dtype=lib.float64), y),
        (np.array([1 + 1j, 2 - 2j], COMPLEX128),),
    ),
    "pow(2, y)": (lambda lib, y: 2**y, (array(0.0, -1.0, 2.0),)),
    "pow(0, y)": (lambda lib, y: lib.pow(0, y), (array(0.0, 1.0, 2.0),)),
    "max of ties": (lambda lib, x: x.max(), (TIES,)),
    "min of ties": (lambda lib, x: x.min(), (TIES,)),
    "max of ties, dim": (lambda lib, x: x.max(0)[0], (EQUAL,)),
    "amax of ties": (lambda lib, x: lib.amax(x, 1), (EQUAL,)),
    "amax of ties, all dims": (lambda lib, x: lib.amax(x, (0, 1), True), (EQUAL,)),
    "aminmax of ties": (lambda lib, x: lib.aminmax(x), (TIES,)),
    "median of ties": (lambda lib, x: x.median(), (TIES,)),
    "mode of ties": (lambda lib, x: lib.mode(x, -1)[0], (EQUAL,)),
    "maximum of equals": (lambda lib, x, y: lib.maximum(x, y), (EQUAL, EQUAL[::-1].copy())),
    "minimum of equals": (lambda lib, x, y: lib.minimum(x, y), (EQUAL, EQUAL[::-1].copy())),
    "fmax of equals": (lambda lib, x, y: lib.fmax(x, y), (EQUAL, EQUAL[::-1].copy())),
    "sort of ties": (lambda lib, x: lib.sort(x, stable=True)[0] ** 2, (TIES,)),
    "argsort used": (lambda lib, x: x[lib.argsort(x, stable=True)] ** 2, (TIES,)),
    "topk of ties": (lambda lib, x: lib.topk(x, 2)[0].sum() * 1.0, (array(1.0, 3.0, 2.0),)),
    "cummax of ties": (lambda lib, x: lib.cummax(x, 0)[0], (TIES,)),
    "relu at 0": (lambda lib, x: lib.relu(x), (ZEROS,)),
    "abs at 0": (lambda lib, x: x.abs(), (ZEROS,)),
    "complex abs at 0": (lambda lib, x: x.abs(), (np.zeros(2, COMPLEX128),)),
    "sgn at 0": (lambda lib, x: lib.sgn(x), (np.array([0, 1 + 1j], COMPLEX128),)),
    "clamp at its bounds": (lambda lib, x: x.clamp(-1, 3), (TIES,)),
    "clamp, low above high": (lambda lib, x: x.clamp(3, -1), (TIES,)),
    "clamp by tensors": (lambda lib, x, a, b: lib.clamp(x, a, b), (TIES, TIES - 1, TIES)),
    "hardtanh at its bounds": (lambda lib, x: lib.nn.functional.hardtanh(x), (TIES,)),
    "leaky_relu at 0": (lambda lib, x: lib.nn.functional.leaky_relu(x, 0.2), (ZEROS,)),
    "elu at 0": (lambda lib, x: lib.nn.functional.elu(x, 0.5), (ZEROS,)),
    "prelu": (lambda lib, x, w: lib.nn.functional.prelu(x, w), (TIES, array(0.3))),
    "norm at 0": (lambda lib, x: x.norm(), (ZEROS,)),
    "norm(1) at 0": (lambda lib, x: x.norm(1), (ZEROS,)),
    "norm(3) at 0": (lambda lib, x: x.norm(3), (ZEROS,)),
    "norm(inf) of ties": (lambda lib, x: x.norm(float("inf")), (array(3.0, -3.0, 1.0),)),
    "norm(0)": (lambda lib, x: x.norm(0), (array(3.0, 0.0, 1.0),)),
    "norm(-inf)": (lambda lib, x: x.norm(float("-inf")), (array(3.0, -1.0, 1.0),)),
    "norm(1.5)": (lambda lib, x: x.norm(1.5), (array(3.0, 0.0, 1.0),)),
    "norm(0.5)": (lambda lib, x: x.norm(0.5), (array(3.0, 2.0, 1.0),)),
    "norm(3), negative dim": (lambda lib, x: x.norm(3, -1, True), (drawn(2, 3),)),
    "vector_norm of complex": (lambda lib, x: lib.linalg.vector_norm(x, 3, -1), (drawn(2, 3, dtype=COMPLEX128),)),
    "matrix norm": (lambda lib, x: lib.linalg.matrix_norm(x, "nuc"), (drawn(2, 3),)),
    "matrix norm 2": (lambda lib, x: lib.linalg.matrix_norm(x, 2), (drawn(2, 3),)),
    "dist of equals": (lambda lib, x, y: lib.dist(x, y), (TIES, TIES.copy())),
    "std of equals": (lambda lib, x: x.std(), (array(2.0, 2.0, 2.0),)),
    "std, keepdim": (lambda lib, x: x.std(-2, keepdim=True), (drawn(3, 2),)),
    "var, no correction": (lambda lib, x: x.var((0, -1), correction=0), (drawn(3, 2),)),
    "var of complex": (lambda lib, x: x.var(0), (drawn(3, 2, dtype=COMPLEX128),)),
    "var_mean": (lambda lib, x: lib.var_mean(x, 0), (drawn(3, 2),)),
    "prod with a zero": (lambda lib, x: x.prod(), (array(2.0, 0.0, 3.0),)),
    "prod with two zeros": (lambda lib, x: x.prod(), (array(2.0, 0.0, 0.0, 3.0),)),
    "prod with a zero, dim": (lambda lib, x: x.prod(-1, True), (np.array([[2.0, 0.0, 3.0], [1.0, 2.0, 0.5]]),)),
    "cumprod with zeros": (lambda lib, x: x.cumprod(0), (array(2.0, 0.0, 3.0, 0.0, 5.0),)),
    "cumprod of complex": (lambda lib, x: x.cumprod(-1), (drawn(2, 3, dtype=COMPLEX128),)),
    "mean of 0-dim": (lambda lib, x: x.mean(0), (np.array(2.0),)),
    "sum of 0-dim": (lambda lib, x: x.sum(-1), (np.array(2.0),)),
    "sum of nothing": (lambda lib, x: x.sum(0), (np.zeros((0, 3)),)),
    "mean of nothing": (lambda lib, x: x.mean(), (np.zeros((0, 3)),)),
    "prod of nothing": (lambda lib, x: x.prod(0), (np.zeros((0, 3)),)),
    "logsumexp of -inf": (lambda lib, x: lib.logsumexp(x, 0), (array(-np.inf, 0.0, 1.0),)),
    "logsumexp, several dims": (lambda lib, x: lib.logsumexp(x, (0, -1), True), (drawn(2, 3, 2),)),
    "logaddexp of equals": (lambda lib, x, y: lib.logaddexp(x, y), (TIES, TIES.copy())),
    "softmax, negative dim": (lambda lib, x: lib.softmax(x, -2), (drawn(2, 3),)),
    "log_softmax of 0-dim": (lambda lib, x: lib.log_softmax(x, 0), (np.array(2.0),)),
    "broadcast mul": (lambda lib, x, y: x * y, (drawn(2, 1, 3), drawn(4, 1))),
    "broadcast div": (lambda lib, x, y: x / y, (drawn(2, 1, 3), drawn(4, 1))),
    "broadcast with nothing": (lambda lib, x, y: x + y, (np.zeros((0, 3)), drawn(1, 3))),
    "broadcast 0-dim": (lambda lib, x, y: x * y, (np.array(2.0), drawn(2, 3))),
    "atan2 at 0": (lambda lib, x, y: lib.atan2(x, y), (ZEROS, array(0.0, 1.0, -1.0))),
    "hypot at 0": (lambda lib, x, y: lib.hypot(x, y), (array(3.0, 1.0), array(0.0, 1.0))),
    "sqrt at 0": (lambda lib, x: x.sqrt(), (array(0.0, 4.0),)),
    "where with numbers": (lambda lib, x: lib.where(x > 0, x, 0.5), (TIES,)),
    "where with a number first": (lambda lib, x: lib.where(x > 0, 2.0, x), (TIES,)),
    "where broadcast": (lambda lib, x, y: lib.where(x > 0, x, y), (drawn(2, 3), drawn(3))),
    "xlogy at 0": (lambda lib, x, y: lib.xlogy(x, y), (array(0.0, 1.0), array(2.0, 3.0))),
    "gather twice": (lambda lib, x: x.gather(0, lib.tensor([1, 1, 0])) ** 2, (drawn(3),)),
    "index twice": (lambda lib, x: x[lib.tensor([1, 1, 0])] ** 2, (drawn(3, 2),)),
    "index by a mask": (lambda lib, x: x[x > 0] ** 2, (drawn(3, 2),)),
    "index with a gap": (lambda lib, x: x[:, lib.tensor([1, 1])] * 2, (drawn(3, 2),)),
    "negative indices": (lambda lib, x: x[lib.tensor([-1, 0])] ** 2, (drawn(3, 2),)),
    "select negative": (lambda lib, x: x.select(-1, -1) ** 2, (drawn(3, 2),)),
    "nll_loss of one score": (lambda lib, x: lib.nn.functional.nll_loss(x, lib.tensor([0])), (drawn(1),)),
    "nll_loss of one score, none": (
        lambda lib, x: lib.nn.functional.nll_loss(x, lib.tensor([0]), reduction="none"),
        (drawn(1),),
    ),
    "eigh of no matrix": (lambda lib, x: lib.linalg.eigh(x), (np.zeros((0, 3, 3)),)),
    "unfold of 0-dim": (lambda lib, x: x.unfold(0, 1, 1), (np.array(2.0),)),
    "unfold of 0-dim, size 0": (lambda lib, x: x.unfold(-1, 0, 1), (np.array(2.0),)),
    "channel_shuffle of no batch": (lambda lib, x: lib.channel_shuffle(x, 2), (np.zeros((0, 4, 3)),)),
    "avg_pool3d without a batch": (lambda lib, x: lib.nn.functional.avg_pool3d(x, 2), (drawn(1, 2, 4, 2),)),
    "logcumsumexp of equal huge values": (lambda lib, x: lib.logcumsumexp(x, 0), (array(1e20, 1e20),)),
    "_reshape_alias": (lambda lib, x: lib.ops.aten._reshape_alias(x, (3, 2), (2, 1)) ** 2, (drawn(2, 3),)),
    "_reshape_alias_copy": (lambda lib, x: lib.ops.aten._reshape_alias_copy(x, (3, 2), (2, 1)), (drawn(2, 3),)),
    "step": (lambda lib, x: x[1::2] ** 2, (drawn(5),)),
    "index_add twice": (lambda lib, x, y: x.index_add(0, lib.tensor([0, 0]), y) ** 2, (drawn(3, 2), drawn(2, 2))),
    "index_put": (lambda lib, x, y: x.index_put((lib.tensor([0, 2]),), y) ** 2, (drawn(3, 2), drawn(2, 2))),
    "index_put broadcast": (lambda lib, x, y: x.index_put((lib.tensor([0, 2]),), y) ** 2, (drawn(3, 2), drawn(2))),
    "scatter_add twice": (
        lambda lib, x, y: x.scatter_add(-1, lib.tensor([[0, 0], [1, 0]]), y) ** 2,
        (drawn(2, 3), drawn(2, 2)),
    ),
    "scatter_reduce, ties": (
        lambda lib, x, y: x.scatter_reduce(0, lib.tensor([0, 0, 1]), y, "amax"),
        (array(2.0, 1.0), array(2.0, 2.0, 1.0)),
    ),
    "scatter_reduce, zeros": (
        lambda lib, x, y: x.scatter_reduce(0, lib.tensor([0, 0, 1]), y, "prod"),
        (array(2.0, 1.0), array(0.0, 2.0, 3.0)),
    ),
    "masked_select": (lambda lib, x: lib.masked_select(x, x > 0) ** 2, (drawn(3, 2),)),
    "masked_scatter": (lambda lib, x, y: x.masked_scatter(x > 0, y) ** 2, (drawn(3, 2), drawn(8))),
    "masked_fill by a tensor": (lambda lib, x, y: x.masked_fill(x > 0, y) ** 2, (drawn(3, 2), np.array(2.0))),
    "take twice": (lambda lib, x: lib.take(x, lib.tensor([0, 0, -1])) ** 2, (drawn(3, 2),)),
    "cat with nothing": (lambda lib, x, y: lib.cat([x, y], 0) ** 2, (np.zeros((0, 2)), drawn(3, 2))),
    "cat, negative dim": (lambda lib, x, y: lib.cat([x, y, x], -1) ** 2, (drawn(3, 2), drawn(3, 1))),
    "stack of the same": (lambda lib, x: lib.stack([x, x], -1) ** 2, (drawn(3),)),
    "split, one used": (lambda lib, x: x.split(2)[1] ** 2, (drawn(5, 2),)),
    "unbind, one used": (lambda lib, x: x.unbind(-1)[1] ** 2, (drawn(5, 2),)),
    "expand": (lambda lib, x: x.expand(4, 3, 2) ** 2, (drawn(3, 1),)),
    "expand of 0-dim": (lambda lib, x: x.expand(4) ** 2, (np.array(2.0),)),
    "repeat": (lambda lib, x: x.repeat(2, 1, 3) ** 2, (drawn(3, 2),)),
    "repeat_interleave": (lambda lib, x: x.repeat_interleave(lib.tensor([2, 0, 1]), 0) ** 2, (drawn(3, 2),)),
    "unfold overlapping": (lambda lib, x: x.unfold(0, 3, 1) ** 2, (drawn(5),)),
    "as_strided overlapping": (lambda lib, x: x.as_strided((3, 3), (1, 1)) ** 2, (drawn(5),)),
    "diagonal": (lambda lib, x: x.diagonal(1, -1, -2) ** 2, (drawn(3, 4),)),
    "movedim": (lambda lib, x: x.movedim(-1, 0) ** 2, (drawn(3, 4, 2),)),
    "squeeze": (lambda lib, x: x.squeeze(-2) ** 2, (drawn(3, 1, 2),)),
    "roll flat": (lambda lib, x: x.roll(2) * lib.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=lib.float64), (drawn(2, 2),)),
    "matmul of vectors": (lambda lib, x, y: x @ y, (drawn(3), drawn(3))),
    "matmul, vector first": (lambda lib, x, y: x @ y, (drawn(3), drawn(2, 3, 4))),
    "matmul, vector last": (lambda lib, x, y: x @ y, (drawn(2, 4, 3), drawn(3))),
    "matmul of nothing": (lambda lib, x, y: x @ y, (np.zeros((2, 0)), np.zeros((0, 3)))),
    "complex matmul": (lambda lib, x, y: x @ y, (drawn(2, 3, dtype=COMPLEX128), drawn(3, 2, dtype=COMPLEX128))),
    "einsum": (lambda lib, x, y: lib.einsum("ij,jk->k", x, y), (drawn(2, 3), drawn(3, 2))),
    "complex mul by real": (lambda lib, x, y: x * y, (drawn(3, dtype=COMPLEX128), drawn(3))),
    "complex div": (lambda lib, x, y: x / y, (drawn(3), drawn(3, dtype=COMPLEX128))),
    "complex pow": (lambda lib, x, y: x**y, (drawn(3, dtype=COMPLEX128), drawn(3, dtype=COMPLEX128))),
    "conj and real": (lambda lib, x: (x.conj() * x).real, (drawn(3, dtype=COMPLEX128),)),
    "imag": (lambda lib, x: (x * x).imag, (drawn(3, dtype=COMPLEX128),)),
    "angle": (lambda lib, x: x.angle(), (drawn(3, dtype=COMPLEX128),)),
    # Of negative radii PyTorch's gradient has the wrong sign.
    "polar": (lambda lib, x, y: lib.polar(x, y), (np.abs(drawn(3)), drawn(3))),
    "view_as_real": (lambda lib, x: lib.view_as_real(x) ** 2, (drawn(3, dtype=COMPLEX128),)),
    "conv, stride that does not fit": (
        lambda lib, x, w: lib.nn.functional.conv2d(x, w, stride=2, padding=1),
        (drawn(1, 2, 6, 5), drawn(3, 2, 3, 3)),
    ),
    "conv, dilated and in groups": (
        lambda lib, x, w: lib.nn.functional.conv1d(x, w, stride=3, padding=2, dilation=2, groups=2),
        (drawn(2, 4, 9), drawn(4, 2, 3)),
    ),
    "conv transposed": (
        lambda lib, x, w: lib.nn.functional.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1),
        (drawn(1, 2, 3, 4), drawn(2, 3, 3, 3)),
    ),
    "avg_pool, ceil": (
        lambda lib, x: lib.nn.functional.avg_pool2d(x, 3, 2, 1, True, False),
        (drawn(1, 1, 6, 5),),
    ),
    "max_pool of ties": (lambda lib, x: lib.nn.functional.max_pool1d(x, 2, 1), (np.ones((1, 1, 4)),)),
    "batch_norm": (
        lambda lib, x, w, b: lib.nn.functional.batch_norm(x, None, None, w, b, True),
        (drawn(4, 2), drawn(2), drawn(2)),
    ),
    "layer_norm without weight": (lambda lib, x: lib.nn.functional.layer_norm(x, (2, 3)), (drawn(4, 2, 3),)),
    "group_norm": (
        lambda lib, x, w, b: lib.nn.functional.group_norm(x, 2, w, b),
        (drawn(2, 4, 3), drawn(4), drawn(4)),
    ),
    "cross_entropy": (
        lambda lib, x: lib.nn.functional.cross_entropy(x, lib.tensor([0, -100, 2]), label_smoothing=0.1),
        (drawn(3, 4),),
    ),
    "huber at delta": (lambda lib, x, y: lib.nn.functional.huber_loss(x, y), (array(0.0, 1.0, 3.0), ZEROS)),
    "smooth_l1 at beta": (lambda lib, x, y: lib.nn.functional.smooth_l1_loss(x, y), (array(0.0, 1.0, 3.0), ZEROS)),
    "l1 of equals": (lambda lib, x, y: lib.nn.functional.l1_loss(x, y), (TIES, TIES.copy())),
    "mse broadcast": (lambda lib, x, y: lib.nn.functional.mse_loss(x, y), (drawn(2, 3), drawn(3))),
    "cosine_similarity": (lambda lib, x, y: lib.nn.functional.cosine_similarity(x, y, -1), (drawn(2, 3), drawn(3))),
    "normalize at 0": (lambda lib, x: lib.nn.functional.normalize(x, dim=0), (array(3.0, 0.0, 4.0),)),
    "attention": (
        attended,
        (drawn(2, 3, 4), drawn(2, 3, 4), drawn(2, 3, 4)),
    ),
    "det": (lambda lib, x: lib.linalg.det(x), (drawn(2, 3, 3),)),
    "inv": (lambda lib, x: lib.linalg.inv(x), (drawn(2, 3, 3),)),
    "solve a vector": (lambda lib, x, y: lib.linalg.solve(x, y), (drawn(3, 3), drawn(3))),
    "cholesky": (lambda lib, x: lib.linalg.cholesky(x @ x.mT + 4 * lib.eye(3, dtype=lib.float64)), (drawn(3, 3),)),
    "pinv": (lambda lib, x: lib.linalg.pinv(x), (drawn(3, 2),)),
    "lu": (lambda lib, x: lib.linalg.lu(x)[1:], (drawn(3, 3),)),
    "logdet": (lambda lib, x: lib.logdet(x @ x.mT), (drawn(2, 2),)),
}


def gradients(library: Any, convert: Any, function: Function, arrays: tuple[np.ndarray, ...]) -> list[Any]:
    """First derivatives along fixed vectors, and second ones, for all inputs that can have them."""
    inputs = [convert(copied(each)) for each in arrays]
    leaves = [each.requires_grad_() for each in inputs if each.is_floating_point() or each.is_complex()]
    results = function(library, *inputs)
    found: list[Any] = []
    current = [each for each in (results if isinstance(results, list | tuple) else [results]) if each.requires_grad]
    for seed in (3, 5):
        vectors = [convert(make(tuple(each.shape), numpy_dtype(each), seed=seed, low=1, high=3)) for each in current]
        grads = library.autograd.grad(current, leaves, vectors, create_graph=True, allow_unused=True)
        found += grads
        current = [each for each in grads if each is not None and each.requires_grad]
        if not current:
            break
    return found


def array_of(theirs: Any) -> np.ndarray:
    return theirs.detach().resolve_conj().resolve_neg().numpy(force=True)


def problem(ours: Any, theirs: Any, tolerance: float) -> str | None:
    """What makes a gradient another than PyTorch's; none is as good as zeros."""
    if theirs is None or ours is None:
        given = ours if theirs is None else theirs
        if given is None:
            return None
        values = given.detach().array if isinstance(given, opwright.Tensor) else array_of(given)
        return f"{ours}, not {theirs}" if values.any() else None
    right = array_of(theirs)
    left = ours.detach().array
    if left.shape != right.shape or left.dtype != right.dtype:
        return f"{left.dtype}{left.shape}, not {right.dtype}{right.shape}"
    right = np.where(np.isnan(right), left, right)  # where PyTorch has no number, ours may be one
    same = np.allclose(left, right, rtol=tolerance, atol=tolerance, equal_nan=True)
    return None if same else f"{left.tolist()}, not {right.tolist()}"


def compare(function: Function, arrays: tuple[np.ndarray, ...], tolerance: float) -> None:
    theirs = gradients(torch, to_torch, function, arrays)
    ours = gradients(opwright, to_opwright, function, arrays)
    found = [problem(left, right, tolerance) for left, right in zip_longest(ours, theirs)]
    assert not any(found), "\n".join(str(each) for each in found)


@pytest.mark.parametrize("name", VALUES)
def test_values(name: str) -> None:
    function, arrays = VALUES[name]
    try:
        compare(function, arrays, 1e-8)
    except AssertionError as error:
        if not OLDER.covers(name, f"gradients: {error}"):
            raise


HALF, SINGLE, DOUBLE = (drawn(2, 3, dtype=dtype) for dtype in (FLOAT16, FLOAT32, FLOAT64))
SCALAR = np.array(1.5)
WHOLE = make((2, 3), INT64, low=1, high=4)
COMPLEX = drawn(2, 3, dtype=COMPLEX128)
DTYPES: dict[str, tuple[Function, tuple[np.ndarray, ...]]] = {
    "half and a double number": (lambda lib, x, y: x * y, (HALF, SCALAR)),
    "float and double": (lambda lib, x, y: x * y, (SINGLE, DOUBLE)),
    "half and float": (lambda lib, x, y: x + y, (HALF, SINGLE)),
    "double and integers": (lambda lib, x, y: x * y, (DOUBLE, WHOLE)),
    "integers and double": (lambda lib, x, y: y / x, (WHOLE, SINGLE)),
    "float and complex": (lambda lib, x, y: x * y, (SINGLE, COMPLEX)),
    "float and a complex number": (lambda lib, x: x * (1 + 2j), (SINGLE,)),
    "pow of float by double": (lambda lib, x, y: x.abs() ** y, (SINGLE, DOUBLE)),
    "atan2 of float and double": (lambda lib, x, y: lib.atan2(x, y), (SINGLE, DOUBLE)),
    "where of float and double": (lambda lib, x, y: lib.where(x > 0, x, y), (SINGLE, DOUBLE)),
    "where of float and a number": (lambda lib, x: lib.where(x > 0, x, 1.5), (SINGLE,)),
    "maximum of float and double": (lambda lib, x, y: lib.maximum(x, y), (SINGLE, DOUBLE)),
    "cat of half and double": (lambda lib, x, y: lib.cat([x, y]), (HALF, DOUBLE)),
    "stack of float and integers": (lambda lib, x, y: lib.stack([x, y]), (SINGLE, WHOLE)),
    "sum in double": (lambda lib, x: x.sum(dtype=lib.float64), (SINGLE,)),
    "mean in double": (lambda lib, x: x.mean(0, dtype=lib.float64), (SINGLE,)),
    "prod in double": (lambda lib, x: x.prod(dtype=lib.float64), (SINGLE,)),
    "cumsum in double": (lambda lib, x: x.cumsum(0, dtype=lib.float64), (SINGLE,)),
    "cumprod in double": (lambda lib, x: x.cumprod(0, dtype=lib.float64), (SINGLE,)),
    "softmax in double": (lambda lib, x: lib.softmax(x, 0, dtype=lib.float64), (SINGLE,)),
    "norm in double": (lambda lib, x: lib.linalg.vector_norm(x, dtype=lib.float64), (SINGLE,)),
    "nansum in double": (lambda lib, x: lib.nansum(x, dtype=lib.float64), (SINGLE,)),
    "to double": (lambda lib, x: x.to(lib.float64) ** 2, (SINGLE,)),
    "to half": (lambda lib, x: x.half() * 2, (SINGLE,)),
    "to complex": (lambda lib, x: x.to(lib.complex128) ** 2, (SINGLE,)),
    "complex to real": (lambda lib, x: x.to(lib.float64) ** 2, (COMPLEX,)),
    "type_as": (lambda lib, x, y: x.type_as(y) * y, (SINGLE, DOUBLE)),
    "addcmul of float and a double number": (lambda lib, x, y: lib.addcmul(x, x, y), (SINGLE, SINGLE + 1)),
    "lerp": (lambda lib, x, y: lib.lerp(x, y, 0.25), (SINGLE, SINGLE + 1)),
    "clamp by double": (lambda lib, x, y: lib.clamp(x, y), (SINGLE, DOUBLE)),
    "half softmax": (lambda lib, x: lib.softmax(x, -1), (HALF,)),
    "half layer_norm": (lambda lib, x: lib.nn.functional.layer_norm(x, (3,)), (HALF,)),
    "half mean": (lambda lib, x: x.mean(), (HALF,)),
    "half matmul": (lambda lib, x, y: x @ y, (HALF, HALF.T.copy())),
    "masked_fill by a double number": (lambda lib, x, y: x.masked_fill(x > 0, y), (SINGLE, SCALAR)),
    "index_put of float by float": (lambda lib, x, y: x.index_put((lib.tensor([0]),), y), (SINGLE, SINGLE[:1].copy())),
    "copysign by double": (lambda lib, x, y: lib.copysign(x, y), (SINGLE, DOUBLE)),
    "xlogy": (lambda lib, x, y: lib.xlogy(x, y.abs()), (SINGLE, DOUBLE)),
    "rsub of float and double": (lambda lib, x, y: lib.rsub(x, y), (SINGLE, DOUBLE)),
    "hypot of float and double": (lambda lib, x, y: lib.hypot(x, y), (SINGLE, DOUBLE)),
    "div, floor": (lambda lib, x, y: lib.div(x, y, rounding_mode="floor"), (SINGLE, DOUBLE)),
    "fmod of float and double": (lambda lib, x, y: lib.fmod(x, y), (SINGLE, DOUBLE)),
    "remainder of float and double": (lambda lib, x, y: lib.remainder(x, y), (SINGLE, DOUBLE)),
    "mse of float and double": (lambda lib, x, y: lib.nn.functional.mse_loss(x, y), (SINGLE, DOUBLE)),
}


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes(name: str) -> None:
    function, arrays = DTYPES[name]
    narrow = any(each.dtype == FLOAT16 for each in arrays)
    compare(function, arrays, 2e-2 if narrow else 1e-4)


# Where PyTorch's backward raises, and there is but one answer.
EMPTY: dict[str, tuple[Function, tuple[int, ...]]] = {
    "_linalg_eigh of no matrix": (lambda aten, x: aten._linalg_eigh(x, "L", False)[0], (0, 3, 3)),
    "_linalg_eigh of empty matrices": (lambda aten, x: aten._linalg_eigh(x, "L", False)[0], (2, 0, 0)),
    "channel_shuffle of no channels": (lambda aten, x: aten.channel_shuffle(x, 3), (2, 0, 3)),
}


@pytest.mark.parametrize("name", EMPTY)
def test_empty_gradients(name: str) -> None:
    function, shape = EMPTY[name]
    x = opwright.zeros(shape, requires_grad=True)
    function(opwright.ops.aten, x).sum().backward()
    assert x.grad is not None and tuple(x.grad.shape) == shape and x.grad.dtype == x.dtype


def test_an_nll_loss_of_several_scores_takes_a_vector_of_one_class() -> None:
    """PyTorch computes it too, but its backward refuses the target's shape."""
    x = opwright.zeros(3, requires_grad=True)
    opwright.nn.functional.nll_loss(x, opwright.tensor([1])).backward()
    assert x.grad is not None and x.grad.tolist() == [0.0, -1.0, 0.0]


# Views of other counts than the tensor's: PyTorch's backward raises for _reshape_alias, and not for as_strided.
COUNTS = [((2,), (2,)), ((2, 2), (0, 1)), ((4, 3), (0, 1)), ((0,), (1,))]


@pytest.mark.parametrize("name", ["_reshape_alias", "_reshape_alias_copy"])
@pytest.mark.parametrize(("size", "stride"), COUNTS)
def test_an_alias_of_another_count_has_the_gradient_of_as_strided(
    name: str, size: tuple[int, ...], stride: tuple[int, ...]
) -> None:
    def gradient(view: Function) -> Any:
        whole = opwright.from_numpy(drawn(3, 3)).requires_grad_()
        (view(whole[1:]) ** 2).sum().backward()
        return whole.grad

    alias = gradient(lambda x: getattr(opwright.ops.aten, name)(x, size, stride))
    assert alias.tolist() == gradient(lambda x: opwright.as_strided(x, size, stride)).tolist()
