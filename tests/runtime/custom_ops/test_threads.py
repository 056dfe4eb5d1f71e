"""Custom operators from 16 threads at once: defined, called, recorded, dropped."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import opwright
from opwright import Tensor
from opwright.library import CustomOpDef, custom_op
from opwright_core.dispatch.registry.tables import registry

THREADS = 16
pytestmark = pytest.mark.usefixtures("operators_are_dropped")


@pytest.fixture(autouse=True)
def quick_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def at_once(work: Callable[[int], Any]) -> list[Any]:
    """What 16 threads return that start together. An error of one is raised here."""
    barrier = threading.Barrier(THREADS)
    found: list[Any] = [None] * THREADS
    errors: list[BaseException] = []

    def run(number: int) -> None:
        barrier.wait()
        try:
            found[number] = work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return found


def define(name: str, factor: int) -> CustomOpDef:
    def scale(x: Tensor, more: float = 1.0) -> Tensor:
        return opwright.from_numpy(x.detach().numpy() * np.float32(factor * more))

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.more = inputs[1]

    def backward(ctx: Any, grad: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return grad * factor * ctx.more * (x == x), None

    op: CustomOpDef = custom_op(name, scale, mutates_args=())
    op.register_autograd(backward, setup_context=setup_context)
    return op


def check(op: CustomOpDef, factor: int) -> None:
    leaf = opwright.ones(3, requires_grad=True)
    assert op(leaf.detach()).tolist() == [factor] * 3
    op(leaf, 2.0).sum().backward()
    assert leaf.grad is not None and leaf.grad.tolist() == [factor * 2] * 3
    with opwright.no_grad():
        assert not op(leaf).requires_grad
    assert op(np.ones(2, np.float32)).tolist() == [factor] * 2


def test_each_its_own() -> None:
    def work(number: int) -> None:
        for turn in range(12):
            op = define(f"threads::f{number}_{turn}", number + 1)
            check(op, number + 1)
            packet = getattr(opwright.ops.threads, f"f{number}_{turn}")
            assert packet(opwright.ones(1)).tolist() == [number + 1]

    at_once(work)
    gc.collect()
    assert not [name for name in registry.operators if name.startswith("threads::")]


def test_one_operator_is_called_first_by_all() -> None:
    for turn in range(10):
        op = define(f"threads::shared{turn}", 3)
        at_once(lambda _, op=op: check(op, 3))  # type: ignore[misc]


def test_kernels_and_formulas_change_while_others_call() -> None:
    op = define("threads::changing", 2)
    stop = threading.Event()

    def change(number: int) -> None:
        for turn in range(60):
            factor = np.float32(2 + turn % 2)
            op.register_kernel("cpu", lambda x, more, f=factor: opwright.from_numpy(x.detach().numpy() * f * more))
            op.register_autograd(lambda ctx, grad, f=factor: (grad * f, None))
            with op.set_kernel_enabled("cpu", enabled=False):
                pass
        stop.set()

    def call(number: int) -> None:
        while not stop.is_set():
            leaf = opwright.ones(1, requires_grad=True)
            result = op(leaf)
            result.sum().backward()
            assert result.item() in (2, 3) and leaf.grad is not None and leaf.grad.item() in (2, 3)

    at_once(lambda number: (call if number else change)(number))


def test_a_definition_that_is_repeated_by_all() -> None:
    kept: list[CustomOpDef] = []

    def work(number: int) -> None:
        for _ in range(5):
            op = define("threads::again", 4)
            kept.append(op)  # (recorded below: a definition begins without a formula)
            assert op(opwright.ones(2)).tolist() == op(np.ones(2, np.float32)).tolist() == [4, 4]

    with pytest.warns(UserWarning, match="threads::again is defined anew"):
        at_once(work)
    for op in kept:
        check(op, 4)
    assert [name for name in registry.operators if name.startswith("threads::again")] == ["threads::again"]


def test_modes_of_one_thread_are_not_those_of_another() -> None:
    op = define("threads::modes", 2)
    leaf = opwright.ones(2, requires_grad=True)

    def work(number: int) -> list[bool]:
        found = []
        for _ in range(200):
            if number % 2:
                with opwright.no_grad():
                    found.append(op(leaf).requires_grad)
            else:
                found.append(op(leaf).requires_grad)
        return found

    for number, found in enumerate(at_once(work)):
        assert set(found) == {number % 2 == 0}
