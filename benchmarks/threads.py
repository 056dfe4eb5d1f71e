"""Long loops over two threads: against one thread, against PyTorch with two, and what that costs small calls.

What memory allows is measured by a copy that two threads of Python share: work that only moves bytes gains no more.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import opwright
from opwright.nn import functional

from .breadth import least, measured
from .expressions import built
from .measure import Figure, ratio

COUNT = 10_000_000
ROWS = (10_000, 1000)
ROUNDS = 15
# At most: of what computes, of what moves bytes, of small calls.
COMPUTED, MOVED, SMALL = 0.6, 0.8, 1.02
THREADS = 2


def figures() -> Iterator[Figure]:
    rng = np.random.default_rng(0)
    x, y = (opwright.from_numpy(rng.standard_normal(COUNT)) for _ in range(2))
    yield copied(x.numpy(), y.numpy())
    yield from expressions(*(rng.standard_normal(COUNT) for _ in range(4)))
    rows = x.reshape(*ROWS)
    for what, call, most in (
        ("exp", lambda: opwright.exp(x), COMPUTED),
        ("gelu", lambda: functional.gelu(x), COMPUTED),
        ("softmax of rows", lambda: opwright.softmax(rows, 1), COMPUTED),
        ("softmax of one row", lambda: opwright.softmax(x, 0), COMPUTED),
        ("layer norm", lambda: functional.layer_norm(rows, ROWS[1:]), MOVED),
        ("sum", lambda: opwright.sum(x), MOVED),
        ("add", lambda: opwright.add(x, y), MOVED),
    ):
        yield with_two(f"{what}, 10⁷ doubles", call, most)
    small = opwright.ones(16)
    for what, call in (("exp", lambda: opwright.exp(small)), ("add", lambda: opwright.add(small, small))):
        yield ratio(f"{what} of 16 elements: two threads against one", on(THREADS, call), on(1, call), SMALL)
    yield breadth()


def on(threads: int, call: Callable[[], object]) -> Callable[[], object]:
    """Return the call on so many threads."""

    def run() -> object:
        opwright.set_num_threads(threads)
        return call()

    return run


def with_two(work: str, call: Callable[[], object], most: float) -> Figure:
    """Compare a long call on two threads with the same on one."""
    return long(f"{work}: two threads against one", on(THREADS, call), on(1, call), most)


def long(work: str, ours: Callable[[], object], peer: Callable[[], object], most: float | None = None) -> Figure:
    """Compare the least times of long calls: two threads need both processors, so that a round beside other work says
    what that takes, and a median of such rounds was once 1.4."""
    seconds = least([ours, peer], 0, ROUNDS)
    return Figure(work, *seconds, seconds[0] / seconds[1], most)


def copied(source: Any, target: Any) -> Figure:
    """Compare a copy by two threads of Python, each of one half, with that by one."""
    half = COUNT // 2
    with ThreadPoolExecutor(THREADS) as pool:

        def by_two() -> None:
            parts = [pool.submit(np.copyto, target[part], source[part]) for part in (slice(half), slice(half, None))]
            for each in parts:
                each.result()

        return long("a copy by NumPy, 10⁷ doubles: two threads against one", by_two, lambda: np.copyto(target, source))


def expressions(*operands: Any) -> Iterator[Figure]:
    """Compare loops of expressions on two threads with the same on one."""
    with tempfile.TemporaryDirectory() as folder:
        native, _ = built(Path(folder))
        for name, count, most in (("fused", 4, MOVED), ("swish", 1, COMPUTED), ("gelu", 1, COMPUTED)):
            run, given = getattr(native, name).fast, operands[:count]
            yield with_two(f"expression {name}, 10⁷ doubles", lambda: run(*given, None), most)  # noqa: B023


def breadth() -> Figure:
    """Return the median of the large calls of breadth, with two threads on either side."""
    found = list(measured(("large",), THREADS))
    ours, peer = (statistics.median(times) for times in zip(*((each.ours, each.peer) for each in found), strict=True))
    middle = statistics.median(each.ratio for each in found)
    return Figure(
        f"{len(found)} calls, 10⁶ elements, two threads each: median against PyTorch", ours, peer, middle, 0.9
    )
