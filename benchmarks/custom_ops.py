"""Custom operators: a call and a recorded call beyond the kernel, defining, and first calls; against PyTorch's.

The operators and their kernels run in turn, in many short rounds; of each counts its best round, which nothing else
on the machine disturbed. What a kernel itself takes is taken off: a difference of medians would be mostly noise.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import opwright
from opwright.library import custom_op

from .measure import Call, Figure, budget, per_call, ratio

COUNT = 1000


def figures() -> Iterator[Figure]:
    yield from calls()
    yield defined()
    yield arrays()
    yield defining()
    yield first_calls()
    yield checking()


NumPyArray = np.ndarray[Any, Any]


def sin(x: opwright.Tensor, scale: float = 1.0) -> opwright.Tensor:
    return opwright.from_numpy(np.sin(x.array))


def peer_sin(x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
    return torch.from_numpy(np.sin(x.detach().numpy()))


def array_sin(x: NumPyArray, scale: float = 1.0) -> NumPyArray:
    return np.sin(x)


def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(inputs[0])


def backward(ctx: Any, grad: Any) -> Any:
    return grad * ctx.saved_tensors[0].cos(), None


def calls() -> Iterator[Figure]:
    own, peer = custom_op("bench::sin", sin, mutates_args=()), torch_op("bench::sin", peer_sin)
    for op in (own, peer):
        op.register_autograd(backward, setup_context=setup_context)
    x, p = opwright.ones(4), torch.ones(4)
    leaf, peer_leaf = opwright.ones(4, requires_grad=True), torch.ones(4, requires_grad=True)
    yield beyond("call of a custom operator, beyond the kernel", own, sin, x, peer, peer_sin, p, budget(0.08, 0.05))
    yield beyond("the same recorded", own, sin, leaf, peer, peer_sin, peer_leaf, budget(0.12, 0.08))


def torch_op(name: str, function: Callable[..., Any]) -> Any:
    return torch.library.custom_op(name, function, mutates_args=())


def beyond(
    work: str, op: Any, kernel: Any, x: Any, peer: Any, peer_kernel: Any, p: Any, limit: float | None, rounds: int = 100
) -> Figure:
    """The ratio of what two operators take beyond their kernels."""
    timed: list[Call] = [
        lambda: op(x, 1.0), lambda: kernel(x, 1.0), lambda: peer(p, 1.0), lambda: peer_kernel(p, 1.0)
    ]  # fmt: skip
    for call in timed:
        per_call(call, 5 * rounds)
    gc.collect()
    taken = [[per_call(call, rounds) for call in timed] for _ in range(401)]
    best = [min(column) for column in zip(*taken, strict=True)]
    ours, theirs = best[0] - best[1], best[2] - best[3]
    return Figure(work, ours, theirs, ours / theirs, limit)


def defined() -> Figure:
    """A call of an operator that a Library defines, whose kernel does nothing."""
    ops = []
    for library in (opwright, torch):
        namespace: Any = library.library.Library("benchdefined", "DEF")
        namespace.define("first(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor")
        namespace.impl("first", lambda x, y, *, alpha=1.0: x, "CPU")
        ops.append((library.ops.benchdefined.first, library.ones(4), namespace))
    (op, x, _), (peer, p, _) = ops
    work = "call of an operator of `Library.define` and `impl`"
    return ratio(work, lambda: op(x, x), lambda: peer(p, p), budget(0.6, 0.3))


def arrays() -> Figure:
    """Plain arrays through an operator whose function takes and returns arrays, beyond the function itself."""
    op = custom_op("bench::array_sin", array_sin, mutates_args=())
    x = np.ones(4)
    timed: list[Call] = [lambda: op(x, 1.0), lambda: array_sin(x, 1.0)]
    taken = [[per_call(call, 100) for call in timed] for _ in range(401)]
    best = [min(column) for column in zip(*taken, strict=True)]
    return Figure("plain arrays through a custom operator, beyond the function", *best, best[0] - best[1], None, "s")


def defining() -> Figure:
    ours, theirs = define("own", custom_op, opwright.Tensor), define("peer", torch.library.custom_op, torch.Tensor)
    return Figure(f"define {COUNT:,} custom operators", ours, theirs, ours / theirs, 0.1)


def define(namespace: str, custom_op: Callable[..., Any], tensor: type) -> float:
    """Seconds."""
    functions = []
    for _ in range(COUNT):

        def function(x: tensor, scale: float = 1.0) -> tensor:  # type: ignore[valid-type]
            return x

        function.__annotations__ = {"x": tensor, "scale": float, "return": tensor}  # not quoted
        functions.append(function)
    start = time.perf_counter()
    kept = [custom_op(f"{namespace}::f{n}", function, mutates_args=()) for n, function in enumerate(functions)]
    seconds = time.perf_counter() - start
    del kept
    return seconds


def first_calls() -> Figure:
    """Of operators whose declarations differ, so that code is rendered for each; the first of all loads the
    generator."""
    x = opwright.ones(4)
    taken = []
    for n in range(41):
        op = custom_op(f"bench::first{n}", lambda x, y, k=n: x + y, mutates_args=(), schema=declaration(n))
        start = time.perf_counter()
        op(x, x)
        taken.append(time.perf_counter() - start)
    seconds = statistics.median(taken[1:])
    return Figure("first call of a custom operator", seconds, None, seconds, 1e-3, "s")


def declaration(n: int) -> str:
    return f"(Tensor x, Tensor y, SymInt k={n}) -> Tensor"


def checking() -> Figure:
    """A warm opcheck of an operator with a fake kernel, best of several."""
    taken = []
    for library in (opwright, torch):
        op = library.library.custom_op(
            "bench::checked", lambda x: x.clone(), mutates_args=(), schema="(Tensor x) -> Tensor"
        )
        op.register_fake(lambda x: x.clone())
        x = library.ones(3, 4)
        taken.append(
            min(_seconds(lambda op=op, x=x, library=library: library.library.opcheck(op, (x,))) for _ in range(20))
        )
    return Figure("opcheck of a custom operator", *taken, taken[0], 2e-3, "s")


def _seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
