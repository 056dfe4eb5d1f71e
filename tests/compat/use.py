"""A program over `earlier_ops`, whose folder it is given: every way into a generated package, loops of expressions, C
kernels of each convention, and what they refuse. Prints the steps that went well."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import opwright
from opwright import Tensor
from opwright.func import vmap
from opwright.library import opcheck

sys.path[:0] = [sys.argv[1], str(Path(__file__).parents[1])]
ops = importlib.import_module("earlier_ops").ops
overloads = opwright.ops.earlier
library = importlib.import_module("earlier_ops.native")._LIBRARY
x = np.linspace(-2, 2, 12).reshape(3, 4)
y = x[::-1, ::-1]
DTYPES = ("uint8", "int64", "float16", "bfloat16", "float32", "float64", "complex64")


def values(dtype: str, *shape: int) -> Tensor:
    numbers = np.arange(1, 1 + int(np.prod(shape))).reshape(shape)
    return opwright.tensor(numbers.tolist()).to(getattr(opwright, dtype))


def same(found: Tensor, wanted: Tensor) -> None:
    assert (found.shape, found.stride(), found.dtype) == (wanted.shape, wanted.stride(), wanted.dtype), (found, wanted)
    assert opwright.equal(found, wanted), (found, wanted)


def refused(call: Callable[[], object], error: type[Exception], why: str) -> None:
    try:
        call()
    except error as raised:
        assert why in str(raised), raised
    else:
        raise AssertionError(f"not refused: {why}")


def values_agree() -> None:
    for one in DTYPES:
        for other in DTYPES:
            x, y = values(one, 2, 3), values(other, 2, 3)
            same(ops.sum_of(x, y), opwright.add(x, y))
            same(ops.sum_of(x, y.t().contiguous().t(), alpha=3), opwright.add(x, y.t().contiguous().t(), alpha=3))
            same(ops.total(x, [1], keepdim=True), opwright.sum(x, [1], keepdim=True))
    x, y = values("float32", 3), values("float64", 3)
    same(ops.hyper(x, y), opwright.sqrt(x * x + y * y))
    same(opwright.tensor(ops.sum_of(x.numpy(), x.numpy())), x + x)


def writes_count() -> None:
    x, y = values("float32", 4), values("float32", 4)
    assert ops.sum_of_(x, y) is x and x._version == 1 and x.tolist() == [2, 4, 6, 8]
    out = opwright.empty(4)
    assert ops.sum_of(x, y, alpha=2, out=out) is out and out._version == 1 and out.tolist() == [4, 8, 12, 16]
    with opwright.inference_mode():
        frozen = opwright.zeros(4)
    refused(lambda: ops.sum_of_(frozen, y), RuntimeError, "inference tensor")
    refused(lambda: ops.sum_of(x, y, out=frozen), RuntimeError, "inference tensor")


def views_are_views() -> None:
    x = values("float32", 4)
    flipped = ops.flipped(x)
    assert flipped._base is x and flipped.tolist() == [4, 3, 2, 1]
    base = values("float32", 4).requires_grad_() * 1
    with opwright.no_grad():
        made = ops.flipped(base)
    refused(lambda: ops.sum_of_(made, x), RuntimeError, "was created in no_grad mode")


def gradients_flow() -> None:
    x, y = (values("float64", 3).requires_grad_() for _ in range(2))
    ops.sum_of(x, y, alpha=3).sum().backward()
    assert x.grad.tolist() == [1, 1, 1] and y.grad.tolist() == [3, 3, 3]
    z = ops.sum_of_(x * 1, y)
    z.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
    assert opwright.autograd.gradcheck(ops.sum_of, (x, y))
    opcheck(overloads.sum_of.default, (x, y))
    for operator in (overloads.blend.default, overloads.axpy.default):
        opcheck(operator, (x, y))
        assert opwright.autograd.gradcheck(operator, (x, y))
    assert opwright.autograd.gradcheck(ops.swish, (x,))


def fakes_agree() -> None:
    x = opwright.empty(2, 3, device="meta")
    assert ops.sum_of(x, x).shape == (2, 3) and ops.sum_of(x, x, alpha=2).device.type == "meta"
    assert ops.total(x, [0]).shape == (3,) and ops.flipped(x).shape == (2, 3)
    assert vmap(ops.sum_of)(values("float32", 2, 3), values("float32", 2, 3)).tolist() == [[2, 4, 6], [8, 10, 12]]


def cuda_serves() -> None:
    """Make the same calls for CUDA, where CuPy is installed: without a GPU by the stand-in."""
    if importlib.util.find_spec("cupy") is None:
        return
    importlib.import_module("cupy_stand_in").cupy_for_tests()
    for dtype in ("float32", "int64"):
        x, y = values(dtype, 2, 3), values("float32", 2, 3)
        on_cuda = [each.to("cuda") for each in (x, y)]
        same(ops.sum_of(*on_cuda).cpu(), ops.sum_of(x, y))
        same(ops.sum_of(*on_cuda, alpha=3).cpu(), ops.sum_of(x, y, alpha=3))
        same(ops.total(on_cuda[0], [1]).cpu(), ops.total(x, [1]))
        assert ops.flipped(on_cuda[0]).tolist() == ops.flipped(x).tolist()
        same(ops.sum_of_(on_cuda[1], on_cuda[1]).cpu(), y + y)


def the_library_serves() -> None:
    assert library.problem == "", library.problem
    assert library.function("blend")(x, x, 2, None).tolist() == (3 * x).tolist()
    assert library.function("axpy")(x, x, 2.0, None).tolist() == (3 * x).tolist()
    assert library.function("axpy")(x, x, "text", None) is NotImplemented
    assert np.array_equal(overloads.blend.ufunc(x, y), x + y)


def expressions_agree() -> None:
    for dtype in ("float16", "float32", "float64", "int64"):  # half has no loop here
        a, b = np.round(10 * x).astype(dtype), np.round(10 * y).astype(dtype)
        assert np.array_equal(ops.blend(a, b, alpha=3), a + 3 * b) and ops.blend(a, b).dtype == dtype
    assert np.allclose(ops.swish(x, beta=0.5), x / (1 + np.exp(-0.5 * x)), rtol=1e-15)
    assert np.array_equal(ops.within(x, -1.0 * np.ones(4), np.ones(4)), (x >= -1) & (x <= 1))
    large = np.linspace(0, 1, 100_000)
    assert np.array_equal(ops.blend(large, large[::-1], alpha=2), large + 2 * large[::-1])


def kernels_agree() -> None:
    assert np.array_equal(ops.axpy(x, y, alpha=3), 3 * x + y)
    assert np.array_equal(ops.axpy(x.astype("float32"), y), 1 * x.astype("float32") + y)
    assert ops.running_max(np.array([1, 3, 2, 5, 4])).tolist() == [1, 3, 3, 5, 5]
    out = opwright.empty(3, 4, dtype=opwright.float64)
    assert ops.axpy(opwright.tensor(x), opwright.tensor(x), out=out) is out and np.array_equal(out.numpy(), 2 * x)


def writes_reach() -> None:
    base = opwright.arange(6)
    every_second = base[::2]
    assert ops.scale_(every_second, 3) is every_second and base.tolist() == [0, 1, 6, 3, 12, 5] and base._version == 1
    assert ops.scale(base, 2).tolist() == [0, 2, 12, 6, 24, 10]
    blended = opwright.ones(3)
    assert ops.blend_(blended, blended, alpha=2) is blended and blended.tolist() == [3, 3, 3]
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    refused(lambda: ops.scale_(frozen, 2.0), ValueError, "is read-only")


def errors_are_worded() -> None:
    refused(lambda: ops.running_max(x), RuntimeError, "earlier::running_max: running_max takes one dimension")
    refused(lambda: ops.running_max(np.ones(2, "float32")), Exception, "its C kernel takes int64, float64")


def modules_import() -> None:
    """Import what was not needed yet; that for CUDA needs CuPy."""
    package = importlib.import_module("earlier_ops")
    for found in pkgutil.walk_packages(package.__path__, "earlier_ops."):
        if "cuda" not in found.name:
            importlib.import_module(found.name)


STEPS = (
    values_agree, writes_count, views_are_views, gradients_flow, fakes_agree, cuda_serves, the_library_serves,
    expressions_agree, kernels_agree, writes_reach, errors_are_worded, modules_import,
)  # fmt: skip
for step in STEPS:
    step()
    print(step.__name__)
