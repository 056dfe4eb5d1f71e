"""A program over `version4_ops`, or another version's: every way into a generated package, in one process. Prints what
it found."""

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

FOLDER = Path(__file__).parent
VERSION = sys.argv[1]
sys.path[:0] = [str(FOLDER / VERSION), str(FOLDER.parent)]
ops = importlib.import_module(f"{VERSION}_ops").ops
DTYPES = ("uint8", "int64", "float16", "bfloat16", "float32", "float64", "complex64")


def values(dtype: str, *shape: int) -> Tensor:
    numbers = np.arange(1, 1 + int(np.prod(shape))).reshape(shape)
    return opwright.tensor(numbers.tolist()).to(getattr(opwright, dtype))


def same(found: Tensor, wanted: Tensor) -> None:
    assert (found.shape, found.stride(), found.dtype) == (wanted.shape, wanted.stride(), wanted.dtype), (found, wanted)
    assert opwright.equal(found, wanted), (found, wanted)


def refused(call: Callable[[], object], why: str) -> None:
    try:
        call()
    except RuntimeError as error:
        assert why in str(error), error
    else:
        raise AssertionError(f"not refused: {why}")


def values_agree() -> None:
    for one in DTYPES:
        for other in DTYPES:
            x, y = values(one, 2, 3), values(other, 2, 3)
            same(ops.axpy(x, y), opwright.add(x, y))
            same(ops.axpy(x, y.t().contiguous().t(), alpha=3), opwright.add(x, y.t().contiguous().t(), alpha=3))
            same(ops.total(x, [1], keepdim=True), opwright.sum(x, [1], keepdim=True))
    x, y = values("float32", 3), values("float64", 3)
    same(ops.hyper(x, y), opwright.sqrt(x * x + y * y))
    same(opwright.tensor(ops.axpy(x.numpy(), x.numpy())), x + x)


def writes_count() -> None:
    x, y = values("float32", 4), values("float32", 4)
    assert ops.axpy_(x, y) is x and x._version == 1 and x.tolist() == [2, 4, 6, 8]
    out = opwright.empty(4)
    assert ops.axpy(x, y, alpha=2, out=out) is out and out._version == 1 and out.tolist() == [4, 8, 12, 16]
    with opwright.inference_mode():
        frozen = opwright.zeros(4)
    refused(lambda: ops.axpy_(frozen, y), "inference tensor")
    refused(lambda: ops.axpy(x, y, out=frozen), "inference tensor")


def views_are_views() -> None:
    x = values("float32", 4)
    flipped = ops.flipped(x)
    assert flipped._base is x and flipped.tolist() == [4, 3, 2, 1]
    base = values("float32", 4).requires_grad_() * 1
    with opwright.no_grad():
        made = ops.flipped(base)
    refused(lambda: ops.axpy_(made, x), "was created in no_grad mode")


def gradients_flow() -> None:
    x, y = (values("float64", 3).requires_grad_() for _ in range(2))
    ops.axpy(x, y, alpha=3).sum().backward()
    assert x.grad.tolist() == [1, 1, 1] and y.grad.tolist() == [3, 3, 3]
    z = ops.axpy_(x * 1, y)
    z.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
    assert opwright.autograd.gradcheck(ops.axpy, (x, y))
    opcheck(getattr(opwright.ops, VERSION).axpy.default, (x, y))


def fakes_agree() -> None:
    x = opwright.empty(2, 3, device="meta")
    assert ops.axpy(x, x).shape == (2, 3) and ops.axpy(x, x, alpha=2).device.type == "meta"
    assert ops.total(x, [0]).shape == (3,) and ops.flipped(x).shape == (2, 3)
    assert vmap(ops.axpy)(values("float32", 2, 3), values("float32", 2, 3)).tolist() == [[2, 4, 6], [8, 10, 12]]


def cuda_serves() -> None:
    """Make the same calls for CUDA, where CuPy is installed: without a GPU by the stand-in."""
    if importlib.util.find_spec("cupy") is None:
        return
    importlib.import_module("cupy_stand_in").cupy_for_tests()
    for dtype in ("float32", "int64"):
        x, y = values(dtype, 2, 3), values("float32", 2, 3)
        on_cuda = [each.to("cuda") for each in (x, y)]
        same(ops.axpy(*on_cuda).cpu(), ops.axpy(x, y))
        same(ops.axpy(*on_cuda, alpha=3).cpu(), ops.axpy(x, y, alpha=3))
        same(ops.total(on_cuda[0], [1]).cpu(), ops.total(x, [1]))
        assert ops.flipped(on_cuda[0]).tolist() == ops.flipped(x).tolist()
        same(ops.axpy_(on_cuda[1], on_cuda[1]).cpu(), y + y)


def modules_import() -> None:
    """Import what was not needed yet; that for CUDA needs CuPy."""
    package = importlib.import_module(f"{VERSION}_ops")
    for found in pkgutil.walk_packages(package.__path__, f"{VERSION}_ops."):
        if "cuda" not in found.name:
            importlib.import_module(found.name)


for step in (values_agree, writes_count, views_are_views, gradients_flow, fakes_agree, cuda_serves, modules_import):
    step()
    print(step.__name__)
