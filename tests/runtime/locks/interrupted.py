"""A program of its own: everything that registers, interrupted at random moments by real signals, and looked at after.

`python interrupted.py FOLDER ROUNDS SEED`; the folder holds a generated package and a plug-in (`test_interrupts`).
"""

from __future__ import annotations

import gc
import importlib
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import opwright
from opwright import library
from opwright.library import Library
from opwright_core import plugins
from opwright_core.dispatch.call.operator import find_operator
from opwright_core.dispatch.registry.precedence import Entry
from opwright_core.dispatch.registry.tables import registry
from opwright_core.state import active_modes

X = np.arange(3.0)


def a_library() -> None:
    made = Library("interrupted_def", "DEF")
    made.define("f(Tensor x) -> Tensor")
    made.impl("f", lambda x: x.clone(), "CPU")
    made.register_fake("f", opwright.empty_like)
    library.register_autograd(
        "interrupted_def::f", lambda ctx, grad: grad * 3, setup_context=lambda ctx, inputs, output: None, lib=made
    )
    assert np.array_equal(opwright.ops.interrupted_def.f(X), X)
    assert opwright.ops.interrupted_def.f(opwright.empty(3, device="meta")).shape == (3,)
    x = opwright.ones(2, requires_grad=True)
    opwright.ops.interrupted_def.f(x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [3, 3]
    made.destroy()
    assert "interrupted_def::f" not in registry.operators


def a_lost_library() -> None:
    made = Library("interrupted_lost", "DEF")
    made.define("f(Tensor x) -> Tensor")
    made.impl("f", lambda x: x.clone(), "CPU")
    del made
    gc.collect()
    assert "interrupted_lost::f" not in registry.operators


def a_custom_operator() -> None:
    def triple(x: np.ndarray) -> np.ndarray:
        return 3 * x

    made = library.custom_op("interrupted::triple", triple, mutates_args=())
    made.register_fake(lambda x: opwright.empty_like(x))
    made.register_autograd(lambda ctx, grad: grad * 3)
    made.register_kernel("cuda", lambda x: x)
    assert np.array_equal(made(X), 3 * X)
    x = opwright.ones(2, requires_grad=True)
    made(x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [3, 3]


def a_generated_package() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "interrupted_ops"]:
        del sys.modules[name]
    package = importlib.import_module("interrupted_ops")
    for name in ("interrupted_ops::hypotenuse", "interrupted_ops::hypotenuse.out"):
        with registry.lock:
            find_operator(name).forget_table()
    assert np.array_equal(package.ops.hypotenuse(X, X), np.hypot(X, X))
    for registered in find_operator("interrupted_ops::hypotenuse").registrations.values():
        assert len(registered) <= 1


def a_plugin() -> None:
    plugins._is_done = False  # as in a new process, but for what the plug-in's result keeps
    plugins._tried.clear()
    gc.collect()
    assert [plugin.error for plugin in opwright.plugins.load()] == [None]
    assert np.array_equal(opwright.ops.plugged.f(X), X)


def first_calls() -> None:
    for name in ("add.Tensor", "exp", "sum.dim_IntList", "softmax.int", "mul_.Tensor"):
        with registry.lock:
            find_operator(f"aten::{name}").forget_table()
    x = opwright.ones(2, 3, requires_grad=True)
    ((x + X).exp().softmax(-1).sum([0, 1]) * x).sum().backward()
    opwright.add(X, X)


ACTIONS: tuple[Callable[[], None], ...] = (
    a_library, a_lost_library, a_custom_operator, a_generated_package, a_plugin, first_calls,
)  # fmt: skip


def check() -> None:
    """Nothing is held, and nothing is half there."""
    assert active_modes() is None
    free = threading.Thread(
        target=lambda: registry.lock.__enter__() or registry.lock.__exit__(None, None, None), daemon=True
    )
    free.start()
    free.join(20)
    assert not free.is_alive(), "the lock is held"
    taken = threading.Thread(target=plugins.load, daemon=True)
    taken.start()
    taken.join(20)
    assert not taken.is_alive(), "the plug-ins' lock is held"
    with registry.lock:
        assert {name for name, known in registry.overloads.items() for _ in known.operators} == {
            f"{operator.namespace}::{operator.base}" for operator in registry.operators.values()
        }
        for name, operator in registry.operators.items():
            assert registry.kernels[name] is operator.registrations
            assert registry.overloads[f"{operator.namespace}::{operator.base}"].operators[operator.overload] is operator
            for key, entry in operator._entries.items():
                assert _parts(operator._compute_entry(key, operator.registrations)) == _parts(entry)
        for name in registry.kernels:
            assert name in registry.operators, f"{name} has kernels, and is not defined"
    assert signal.getsignal(signal.SIGINT) is signal.getsignal(signal.SIGALRM) is interrupt


def _parts(entry: Entry) -> tuple[str, object]:
    return entry.rule, None if entry.registration is None else entry.registration.kernel


came: list[int] = []  # the signals of one round


def interrupt(number: int, frame: Any) -> None:
    came.append(number)
    raise KeyboardInterrupt


def interrupted(action: Callable[[], None], delay: float, by_timer: bool) -> bool:
    """Whether the interrupt came to what called; one that comes in a finalizer, Python tells stderr of."""
    try:
        if by_timer:
            signal.setitimer(signal.ITIMER_REAL, delay)
        else:
            threading.Thread(target=_kill, args=(delay,)).start()
        action()
        while not came:
            time.sleep(0.01)  # it comes now at the latest
    except KeyboardInterrupt:
        return True
    return False


def _kill(delay: float) -> None:
    end = time.perf_counter() + delay
    while time.perf_counter() < end:
        pass
    os.kill(os.getpid(), signal.SIGINT)


def main(folder: str, rounds: int, seed: int) -> None:
    sys.path.insert(0, folder)
    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGALRM, interrupt)
    draw = random.Random(seed)
    times = {}
    count = 0
    for action in ACTIONS:
        action()
        begin = time.perf_counter()
        action()
        times[action] = time.perf_counter() - begin
    for number in range(rounds):
        action = ACTIONS[number % len(ACTIONS)]
        came.clear()
        try:
            count += interrupted(action, draw.uniform(1e-6, times[action]), by_timer=draw.random() < 0.5)
            gc.collect()
            check()
            action()  # once more, undisturbed
            check()
        except Exception as error:
            raise AssertionError(f"round {number}, {action.__name__}") from error
    print(f"{rounds} interrupts, {count} of them raised")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
