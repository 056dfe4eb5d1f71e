"""Calls on a GPU: small ones, which only the host's work limits, long ones, which its memory does, training steps;
against PyTorch on the same GPU, CuPy's own calls and kernels launched by hand.

Small calls are measured as users have them, one after the other without waiting; each round waits at its end. There is
nothing to measure without a GPU, CuPy and a PyTorch that has CUDA.
"""

from __future__ import annotations

import importlib
import statistics
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import opwright

from . import training
from .cases import cases
from .expressions import built
from .measure import Figure, ratio

Library = Any
COUNT = 10_000_000
ROWS = (10_000, 1000)
SMALL: dict[str, Any] = {"rounds": 100, "repeats": 31}
LONG: dict[str, Any] = {"rounds": 5, "repeats": 21}


def figures() -> Iterator[Figure]:
    try:
        cupy, torch = importlib.import_module("cupy"), importlib.import_module("torch")
    except ImportError:
        return
    if not cupy.cuda.is_available() or not torch.cuda.is_available():
        return
    torch.backends.cuda.matmul.allow_tf32 = False
    yield from calls(cupy, torch, 16, (4, 4), "16 elements", SMALL)
    yield from calls(cupy, torch, COUNT, ROWS, "10⁷ floats", LONG)
    yield from products(cupy, torch)
    yield from expressions(cupy, torch)
    yield from steps(cupy, torch)
    yield from breadth(cupy, torch)


def waiting(cupy: Any, call: Callable[[], object], count: int) -> Callable[[], object]:
    """Return what makes a number of calls and waits for the GPU."""
    wait = cupy.cuda.runtime.deviceSynchronize

    def run() -> None:
        for _ in range(count):
            call()
        wait()

    return run


def compared(
    cupy: Any, work: str, ours: Callable[[], object], peer: Callable[[], object], how: dict[str, Any]
) -> Figure:
    """Compare two calls, by the time of one."""
    count = how["rounds"]
    found = ratio(work, waiting(cupy, ours, count), waiting(cupy, peer, count), rounds=1, repeats=how["repeats"])
    assert found.peer is not None
    return Figure(work, found.ours / count, found.peer / count, found.value)


def calls(
    cupy: Any, torch: Any, count: int, shape: tuple[int, int], size: str, how: dict[str, Any]
) -> Iterator[Figure]:
    """Compare calls of operators with PyTorch's."""
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(count, np.float32) for _ in range(2)]

    def made(library: Library) -> dict[str, Callable[[], object]]:
        x, y = (library.from_numpy(each).to("cuda") for each in arrays)
        rows, leaf = x.reshape(shape), x.clone().requires_grad_(True)
        nn = library.nn.functional

        def recorded() -> object:
            library.sum(leaf * y).backward()
            leaf.grad = None
            return None

        return {
            "add": lambda: library.add(x, y),
            "x + 1": lambda: x + 1,
            "in-place add": lambda: x.add_(y, alpha=1e-9),
            "exp": lambda: library.exp(x),
            "gelu": lambda: nn.gelu(x),
            "where(x > y, x, y)": lambda: library.where(x > y, x, y),
            "sum": lambda: library.sum(x),
            "sum of rows": lambda: library.sum(rows, 1),
            "max of rows, values and indices": lambda: library.max(rows, 1),
            "softmax of rows": lambda: library.softmax(rows, 1),
            "layer norm": lambda: nn.layer_norm(rows, shape[1:]),
            "cumsum of rows": lambda: library.cumsum(rows, 1),
            "sort of rows": lambda: library.sort(rows, 1),
            "transposed copy": lambda: rows.t().contiguous(),
            "x[x > 0]": lambda: x[x > 0],
            "product, sum, backward": recorded,
        }

    ours, peer = made(opwright), made(torch)
    for work, call in ours.items():
        yield compared(cupy, f"{work}, {size}", call, peer[work], how)


def products(cupy: Any, torch: Any) -> Iterator[Figure]:
    """Compare products of matrices and a convolution."""
    rng = np.random.default_rng(1)
    square = rng.standard_normal((2048, 2048), np.float32)
    batch = rng.standard_normal((64, 256, 256), np.float32)
    images, filters = rng.standard_normal((16, 32, 64, 64), np.float32), rng.standard_normal((32, 32, 3, 3), np.float32)

    def made(library: Library) -> dict[str, Callable[[], object]]:
        a, b, x, w = (library.from_numpy(each).to("cuda") for each in (square, batch, images, filters))
        q = b.reshape(8, 8, 256, 256)
        nn = library.nn.functional
        return {
            "product of 2048 × 2048 floats": lambda: a @ a,
            "64 products of 256 × 256": lambda: b @ b,
            "attention, 8 × 8 heads of 256 × 256": lambda: nn.scaled_dot_product_attention(q, q, q),
            "convolution, 16 × 32 images of 64 × 64": lambda: nn.conv2d(x, w, padding=1),
        }

    ours, peer = made(opwright), made(torch)
    for work, call in ours.items():
        yield compared(cupy, work, call, peer[work], LONG)


def expressions(cupy: Any, torch: Any) -> Iterator[Figure]:
    """Compare generated kernels with CuPy's and PyTorch's calls, and with a kernel of CuPy by hand."""
    rng = np.random.default_rng(2)
    with tempfile.TemporaryDirectory() as folder:
        built(Path(folder))
        fused = importlib.import_module("measured_ops.ops").fused
        for count, size, how in ((16, "16 elements", SMALL), (COUNT, "10⁷ floats", LONG)):
            arrays = [cupy.asarray(rng.standard_normal(count, np.float32)) for _ in range(4)]
            tensors = [opwright.as_tensor(each) for each in arrays]
            peers = [torch.from_dlpack(each) for each in arrays]
            by_hand = cupy.ElementwiseKernel(
                "float32 a, float32 b, float32 c, float32 d", "float32 out", "out = max((a - b) * c + d * a, 0.f)"
            )

            def by_torch(a: Any, b: Any, c: Any, d: Any) -> Any:
                return torch.relu((a - b) * c + d * a)

            for what, ours, peer in (
                ("Tensors against PyTorch", lambda: fused(*tensors), lambda: by_torch(*peers)),  # noqa: B023
                ("CuPy's arrays against CuPy's kernel by hand", lambda: fused(*arrays), lambda: by_hand(*arrays)),  # noqa: B023
                ("PyTorch's tensors against PyTorch", lambda: fused(*peers), lambda: by_torch(*peers)),  # noqa: B023
            ):
                yield compared(cupy, f"five operations, {size}: {what}", ours, peer, how)


def breadth(cupy: Any, torch: Any) -> Iterator[Figure]:
    """Compare the calls of `cases`, of 16 and of 10⁶ elements: the median, the share above 1, and the slowest."""
    for group, n, size, rounds in (("small", 4, "16 elements", 50), ("large", 1000, "10⁶ elements", 20)):
        how = {"rounds": rounds, "repeats": 5}
        found: list[Figure] = []
        for each in cases():
            if group not in each.groups:
                continue
            arrays = each.arrays(n)
            made = [[library.from_numpy(array.copy()).to("cuda") for array in arrays] for library in (opwright, torch)]
            pair = [partial(each.call, library, *given) for library, given in zip((opwright, torch), made, strict=True)]
            try:
                for call in pair:
                    call()
                found.append(compared(cupy, f"· {each.name}, {size}", pair[0], pair[1], how))
            except Exception as error:
                print(f"<!-- {group}: {each.name} is left out: {str(error).splitlines()[0][:90]} -->")
        ours, peer = (
            statistics.median(times) for times in zip(*((each.ours, each.peer) for each in found), strict=True)
        )
        what, ratios = f"{len(found)} calls, {size}", [each.value for each in found]
        yield Figure(f"{what}: median", ours, peer, statistics.median(ratios))
        yield Figure(f"{what}: share above 1", ours, peer, sum(each > 1 for each in ratios) / len(ratios))
        yield from sorted(found, key=lambda each: -each.value)[:40]


class OnGpu:
    """A library whose `from_numpy` puts arrays on the GPU, so that steps written for the CPU run there."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)

    def from_numpy(self, array: Any) -> Any:
        return self._library.from_numpy(array).to("cuda")

    def zeros(self, shape: list[int]) -> Any:
        return self._library.zeros(shape, device="cuda")


def steps(cupy: Any, torch: Any) -> Iterator[Figure]:
    """Compare training steps."""
    for step in training.steps():
        ours, peer = step.prepare(OnGpu(opwright)), step.prepare(OnGpu(torch))
        yield compared(cupy, f"training step: {step.name}", ours, peer, {"rounds": 3, "repeats": 11})
