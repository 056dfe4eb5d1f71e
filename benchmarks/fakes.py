"""Tensors without data: small calls, and a transformer's forward pass; against PyTorch's fake tensors."""

from __future__ import annotations

import importlib.util
import statistics
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch._subclasses.fake_tensor
from torch.fx.experimental.symbolic_shapes import ShapeEnv as PeerShapeEnv

import opwright
from opwright.fake import FakeTensorMode
from opwright.symbolic import ShapeEnv

from .measure import Figure, ratio, seconds_of

PeerMode = torch._subclasses.fake_tensor.FakeTensorMode
EXAMPLE = Path(__file__).parents[1] / "examples" / "fake_transformer.py"


def figures() -> Iterator[Figure]:
    yield from small()
    yield from symbolic()
    yield from transformer()
    yield imports()


def small() -> Iterator[Figure]:
    mode, peer = FakeTensorMode(), PeerMode()
    x, row, square = (mode.from_tensor(opwright.ones(*shape)) for shape in ((3, 4), (4,), (8, 8)))
    p, line, block = (peer.from_tensor(torch.ones(*shape)) for shape in ((3, 4), (4,), (8, 8)))
    yield fast("fake add", lambda: opwright.add(x, x), lambda: torch.add(p, p), 0.02)
    yield fast("fake add that broadcasts", lambda: opwright.add(x, row), lambda: torch.add(p, line), 0.03)
    yield fast("fake view: t()", lambda: x.t(), lambda: p.t(), 0.03)
    yield fast("fake sum(0)", lambda: x.sum(0), lambda: p.sum(0), 0.03)
    yield fast("fake matmul", lambda: square @ square, lambda: block @ block, 0.06)


def symbolic() -> Iterator[Figure]:
    mode, peer = FakeTensorMode(shape_env=ShapeEnv()), PeerMode(shape_env=PeerShapeEnv())
    x, p = mode.from_tensor(opwright.ones(5, 7)), peer.from_tensor(torch.ones(5, 7))
    yield fast("add of symbolic sizes", lambda: opwright.add(x, x), lambda: torch.add(p, p), 0.06)
    yield fast("t() and matmul of symbolic sizes", lambda: x.t() @ x, lambda: p.t() @ p, 0.06)


def fast(work: str, ours: Callable[[], object], peer: Callable[[], object], budget: float) -> Figure:
    """Shorter rounds than real tensors get: the peer takes its time."""
    return ratio(work, ours, peer, budget, rounds=10, repeats=201)


def transformer() -> Iterator[Figure]:
    ours, theirs = model(opwright), model(torch)

    def run(library: ModuleType, mode: Callable[[], Any]) -> Callable[[], object]:
        def forward() -> object:
            with mode():
                return library.forward(library.BATCH, library.LENGTH, library.LAYERS)

        return forward

    forward, peer = run(ours, FakeTensorMode), run(theirs, PeerMode)
    yield ratio("12-layer transformer, fake forward pass", forward, peer, 0.2, rounds=1, repeats=15)
    own, other = (statistics.median(bytes_of(call) for _ in range(3)) for call in (forward, peer))
    yield Figure("memory it takes in Python, at most", own, other, own / other, 1.0, amounts="B")


def model(library: ModuleType) -> Any:
    """The example, over Opwright or PyTorch: they have the same names."""
    spec = importlib.util.spec_from_file_location(EXAMPLE.stem, EXAMPLE)
    assert spec is not None and spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.ow, module.F = library, library.nn.functional
    return module


def bytes_of(call: Callable[[], object]) -> float:
    """The most memory of Python objects that a call has at one time."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def imports() -> Figure:
    """Fakes and sympy are loaded when they are first needed."""
    loaded = "assert not {'sympy', 'opwright.fake', 'opwright_aten.fakes'} & set(sys.modules)"
    own = seconds_of(f"import sys, opwright; {loaded}")
    everything = seconds_of("import opwright, opwright_aten.fakes; from opwright.symbolic import ShapeEnv; ShapeEnv()")
    return Figure("import opwright against that with fakes and sympy", own, everything, own / everything, 0.7)
