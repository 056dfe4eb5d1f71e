"""Breadth: every call of `cases`, small, large, and forward with backward; every operator by its samples; training.

A figure is the least of several rounds, ours and PyTorch's in turn, each on as many threads as OPWRIGHT_NUM_THREADS
says, or one. What is measured is drawn too:
`breadth.svg` has a dot for each call, by the compiled core and in Python alone.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits

import opwright

from .cases import Case, cases
from .chart import drawn
from .measure import Figure, budget
from .training import Step, steps

Call = Callable[[], object]
SIZES = {"small": 4, "large": 1000}
MODES = ("small", "gradients", "large", "every")
# The least time of a round, and how many rounds there are.
ROUNDS = {"small": (5e-4, 15), "gradients": (5e-4, 12), "large": (2e-3, 5), "every": (3e-4, 7), "training": (2e-3, 11)}
BUDGETS: dict[str, tuple[float | None, float | None]] = {
    "small": (budget(1.4, 0.5), budget(0.4, 0.9)),
    "gradients": (budget(1.2, 0.5), budget(None, 0.9)),
    "large": (budget(1.0, 0.9), budget(None, 0.75)),
    "every": (None, None),
}
# How long a thread of PyTorch's waits at work for the next loop, and NumPy's BLAS, before it sleeps: nobody has its
# processor meanwhile. Measured: 4 ms, and 25 ms.
SPINNING = 0.04
THREADS = int(os.environ.get("OPWRIGHT_NUM_THREADS", "1"))
CHART = Path(__file__).with_name("breadth.svg")
# The ratios of the last run of either core, of which the chart is drawn.
RATIOS = Path(__file__).parents[1] / "build" / "benchmarks"
CORES = {"fast": "compiled core", "python": "Python alone"}
TITLES = {
    "small": "16 elements",
    "gradients": "16 elements, forward and backward",
    "large": "10⁶ elements",
    "every": "a sample of every operator",
}


@dataclass(frozen=True)
class Measured:
    """A call in a mode: seconds of ours and of the peer's."""

    mode: str
    name: str
    ours: float
    peer: float

    @property
    def ratio(self) -> float:
        """What ours takes of the peer's time."""
        return self.ours / self.peer


def measured(modes: tuple[str, ...] = MODES, threads: int = THREADS) -> Iterator[Measured]:
    """Every call in every mode. A call that either library refuses is left out, with a line that says why."""
    torch.set_num_threads(threads)
    opwright.set_num_threads(threads)
    threadpool_limits(threads, "blas")
    for mode in modes:
        for name, ours, peer in _calls(mode):
            pair = []
            for library, prepare in ((opwright, ours), (torch, peer)):
                try:
                    call = prepare()
                    call()
                except Exception as error:
                    print(f"<!-- {mode}: {name} is left out: {library.__name__}: {str(error).splitlines()[0][:90]} -->")
                    break
                pair.append(call)
            else:
                yield Measured(mode, name, *least(pair, *ROUNDS[mode], SPINNING if threads > 1 else 0))


def figures() -> Iterator[Figure]:
    """Medians, shares and training steps."""
    found = list(measured())
    for mode in MODES:
        own = [each for each in found if each.mode == mode]
        ratios = [each.ratio for each in own]
        median, share = BUDGETS[mode]
        ours, peer = (statistics.median(times) for times in zip(*((each.ours, each.peer) for each in own), strict=True))
        what = f"{len(own)} calls, {TITLES[mode]}"
        yield Figure(f"{what}: median", ours, peer, statistics.median(ratios), median)
        slower = sum(ratio > 1 for ratio in ratios) / len(ratios)
        yield Figure(f"{what}: share above 1", ours, peer, slower, None if share is None else 1 - share)
        for each in sorted(own, key=lambda each: -each.ratio)[:20]:
            yield Figure(f"· {each.name}, {mode}", each.ours, each.peer, each.ratio)
    for step in steps():
        yield _training(step)
    keep(found)
    CHART.write_text(drawn(bands()), encoding="utf-8")


def keep(found: list[Measured]) -> None:
    """Write the ratios of this run where the chart, and the run of the other core, find them."""
    ratios = {mode: [each.ratio for each in found if each.mode == mode] for mode in MODES}
    RATIOS.mkdir(parents=True, exist_ok=True)
    (RATIOS / f"breadth-{opwright.dispatch.core().name}.json").write_text(json.dumps(ratios), encoding="utf-8")


def bands() -> dict[str, list[float]]:
    """Return the ratios of the last run of each core, by the title of their band."""
    kept = {core: RATIOS / f"breadth-{core}.json" for core in CORES}
    ratios = {core: json.loads(path.read_text(encoding="utf-8")) for core, path in kept.items() if path.exists()}
    return {f"{TITLES[mode]}, {CORES[core]}": ratios[core][mode] for mode in MODES for core in ratios}


def least(calls: list[Call], seconds: float, rounds: int, pause: float = 0) -> list[float]:
    """Return the least time of each call, in rounds that take them in turn, after a pause each."""
    counts = []
    for call in calls:
        once = min(timed(call, 1) for _ in range(3))
        counts.append(max(1, min(2000, int(seconds / max(once, 1e-9)))))
    best = [float("inf")] * len(calls)
    gc.collect()
    gc.freeze()  # the next collection passes over what is there by now: of both libraries it takes 100 ms else
    gc.disable()
    try:
        for _ in range(rounds):
            for place, call in enumerate(calls):
                if pause:
                    time.sleep(pause)
                    call()
                best[place] = min(best[place], timed(call, counts[place]))
    finally:
        gc.enable()
    return best


def timed(call: Call, count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def _calls(mode: str) -> Iterator[tuple[str, Callable[[], Call], Callable[[], Call]]]:
    """The calls of a mode: a name, and what prepares the call in each library."""
    if mode == "every":
        from .every import operators

        yield from operators()
        return
    for case in cases():
        if mode == "gradients":
            if _is_differentiable(case):
                arrays = case.arrays(SIZES["small"])
                yield case.name, _recorded(case, arrays, opwright), _recorded(case, arrays, torch)
        elif mode in case.groups:
            arrays = case.arrays(SIZES[mode])
            yield case.name, _prepared(case, arrays, opwright), _prepared(case, arrays, torch)


def _prepared(case: Case, arrays: list[Any], library: Any) -> Callable[[], Call]:
    def prepare() -> Call:
        tensors = [library.from_numpy(array.copy()) for array in arrays]
        return lambda: case.call(library, *tensors)

    return prepare


def _is_differentiable(case: Case) -> bool:
    """Whether the case writes to no leaf, and PyTorch records it with one result."""
    if case.name.endswith("_") or "out=" in case.name or case.name.startswith(("x[0] = ", "batch_norm")):
        return False
    tensors = [_leaf(torch, array) for array in case.arrays(SIZES["small"])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result: Any = case.call(torch, *tensors)
    return isinstance(result, torch.Tensor) and result.requires_grad and case.name != "floor_divide"


def _leaf(library: Any, array: Any) -> Any:
    tensor = library.from_numpy(array.copy())
    return tensor.requires_grad_(True) if array.dtype in (np.float32, np.float64) else tensor


def _recorded(case: Case, arrays: list[Any], library: Any) -> Callable[[], Call]:
    def prepare() -> Call:
        tensors = [_leaf(library, array) for array in arrays]
        result: Any = case.call(library, *tensors)
        grad = library.ones_like(result.detach())

        def step() -> None:
            call: Any = case.call(library, *tensors)
            call.backward(grad)

        return step

    return prepare


def _training(step: Step) -> Figure:
    ours, peer = least([step.prepare(opwright), step.prepare(torch)], *ROUNDS["training"])
    return Figure(f"training step: {step.name}", ours, peer, ours / peer, step.budget)
