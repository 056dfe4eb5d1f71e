"""Modes of a thread, and the guards that set them."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import Maker

from opwright import dispatch
from opwright.context_managers.keys import below_autograd, exclude_keys, include_keys
from opwright.fake import FakeTensorMode
from opwright.registering.kernels import register
from opwright_core.state import active_modes
from opwright_core.tensors.tensor import Tensor, wrap


@pytest.fixture
def seen(define: Maker) -> list[str]:
    """Calls `f` of the fixture below; which of its kernels ran, in order."""
    ran: list[str] = []
    operator = define("f(Tensor x) -> Tensor")

    def at(name: str, below: str | None = None) -> None:
        def kernel(keyset: dispatch.KeySet, x: Tensor) -> Tensor:
            ran.append(name)
            return x if below is None else operator.redispatch(keyset & dispatch.KeySet.after(below), x)

        register(operator, name, dispatch_kernel(kernel))

    at("CPU")
    at("AutogradCPU", "AutogradOther")
    at("Tracer", "Tracer")
    return ran


def dispatch_kernel(kernel):  # type: ignore[no-untyped-def]
    from opwright_core.dispatch.registry.kernel_kinds import UserKernel

    return UserKernel(kernel, with_keyset=True)


def call(define: Maker) -> None:
    define.made[-1](wrap(np.ones(2)))


def test_include_and_exclude(define: Maker, seen: list[str]) -> None:
    call(define)
    with include_keys("Tracer"):
        call(define)
        with exclude_keys("Tracer", "AutogradCPU"):
            call(define)
    assert seen == ["AutogradCPU", "CPU", "Tracer", "AutogradCPU", "CPU", "CPU"]


def test_below_autograd(define: Maker, seen: list[str]) -> None:
    with below_autograd():
        call(define)
    assert seen == ["CPU"]


def test_exclude_wins_over_include_in_either_order(define: Maker, seen: list[str]) -> None:
    with exclude_keys("Tracer"), include_keys("Tracer"):
        call(define)
    with include_keys("Tracer"), exclude_keys("Tracer"):
        call(define)
    assert "Tracer" not in seen


def test_alias_keys_stand_for_what_they_cover(define: Maker, seen: list[str]) -> None:
    with exclude_keys("Autograd"):
        call(define)
    assert seen == ["CPU"]


def test_restored_after_an_exception() -> None:
    with pytest.raises(ZeroDivisionError), exclude_keys("AutogradCPU"), include_keys("Tracer"):
        _ = 1 // 0
    assert active_modes() is None


def test_guards_can_be_entered_again() -> None:
    guard = include_keys("Tracer")
    with guard, guard:
        assert active_modes() is not None
    assert active_modes() is None


def test_per_thread(define: Maker, seen: list[str]) -> None:
    with below_autograd():
        thread = threading.Thread(target=call, args=(define,))
        thread.start()
        thread.join()
    assert seen == ["AutogradCPU", "CPU"]


def test_a_copied_context_keeps_its_modes() -> None:
    with include_keys("Tracer"):
        context = contextvars.copy_context()
    assert active_modes() is None
    assert context.run(active_modes) is not None


def test_unknown_key() -> None:
    with pytest.raises(ValueError, match="could not parse dispatch key 'Tracre'"):
        include_keys("Tracre")


@pytest.mark.parametrize("make", [lambda: exclude_keys("Tracer"), FakeTensorMode])
def test_one_block_in_two_threads(make: Callable[[], Any]) -> None:
    """Each leaves it with what was on before in that thread, whichever comes first."""
    block = make()
    both_are_in, one_is_out = threading.Barrier(2, timeout=20), threading.Event()
    left = []

    def other() -> None:
        with include_keys("Tracer"):
            before = active_modes()
            with block:
                both_are_in.wait()
                one_is_out.wait(20)
            left.append(active_modes() is before)

    thread = threading.Thread(target=other)
    thread.start()
    with block:
        both_are_in.wait()
    left.append(active_modes() is None)
    one_is_out.set()
    thread.join()
    assert left == [True, True]


def test_blocks_are_left_in_the_reverse_order() -> None:
    outer, inner = exclude_keys("Tracer"), include_keys("Tracer")
    with outer, inner, pytest.raises(RuntimeError, match="is not the innermost block"):
        outer.__exit__(None, None, None)
    assert active_modes() is None
