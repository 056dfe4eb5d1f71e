"""Registration while other threads call: no call that begins after a registration sees what was there before it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import sweeps
from conftest import Maker

from opwright import dispatch
from opwright.errors import DispatchError
from opwright.library import Library
from opwright.registering.kernels import Handle, register
from opwright.user_kernels.registering import register_fallback
from opwright_core.dispatch.call.operator import Operator
from opwright_core.tensors.tensor import Tensor, wrap

CALLERS = 3
REGISTRATIONS = 1500


@pytest.fixture(autouse=True)
def _switch_often() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


class Callers:
    """Threads that call until told to stop. What they raise is kept."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.call = call
        self.errors: list[BaseException] = []
        self.stopped = threading.Event()
        self.threads = [threading.Thread(target=self._run) for _ in range(CALLERS)]

    def _run(self) -> None:
        try:
            while not self.stopped.is_set():
                self.call()
        except BaseException as error:
            self.errors.append(error)

    def __enter__(self) -> Callers:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stopped.set()
        for thread in self.threads:
            thread.join()
        assert not self.errors


def returning(number: int) -> Callable[[Tensor], int]:
    return lambda x: number


def test_a_registration_is_seen_at_once(define: Maker) -> None:
    operator = define("f(Tensor x) -> int")
    x, array = wrap(np.ones(1)), np.ones(1)
    handles = [register(operator, "CPU", returning(0))]

    def call() -> None:
        assert operator.call(x) >= 0
        assert operator.call(array) >= 0

    with Callers(call):
        for number in range(1, REGISTRATIONS):
            handles.append(register(operator, "CPU", returning(number)))
            assert operator.call(x) == number
            assert operator.call(array) == number
            if len(handles) > 3:
                handles.pop().remove()
                assert operator.call(x) == number - 1
                handles.append(register(operator, "CPU", returning(number)))
                handles.pop(0).remove()
                assert operator.call(x) == number


def test_a_fallback_is_seen_at_once(define: Maker) -> None:
    operators = [define(f"f{number}(Tensor x) -> int") for number in range(3)]
    x = wrap(np.ones(1))
    for operator in operators:
        register(operator, "CPU", returning(-1))

    def boxed(number: int) -> Callable[..., int]:
        return lambda op, keyset, args, kwargs: number

    def call() -> None:
        for operator in operators:
            operator.call(x)

    with Callers(call):
        for number in range(sweeps.count(100, 300)):
            handle = register_fallback("AutogradCPU", boxed(number))
            assert [operator.call(x) for operator in operators] == [number] * 3
            handle.remove()
            assert [operator.call(x) for operator in operators] == [-1] * 3


def test_threads_that_register_leave_nothing(define: Maker) -> None:
    """Every thread registers and removes its own kernels; in the end the table is as it was."""
    operator = define("f(Tensor x) -> int")
    register(operator, "CompositeImplicitAutograd", returning(0))
    x = wrap(np.ones(1))
    before = dispatch.table(operator)

    def churn(name: int) -> None:
        for key in ("CPU", "AutogradCPU", "CompositeExplicitAutograd"):
            held: list[Handle] = [register(operator, key, returning(name)) for _ in range(3)]
            assert 0 <= operator.call(x) <= CALLERS
            for handle in held:
                handle.remove()

    def run(name: int) -> None:
        try:
            for _ in range(REGISTRATIONS // 30):
                churn(name)
        except BaseException as error:
            errors.append(error)

    errors: list[BaseException] = []
    threads = [threading.Thread(target=run, args=(name,)) for name in range(1, CALLERS + 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert dispatch.table(operator) == before
    assert operator.call(x) == 0


def test_libraries_come_and_go(define: Maker) -> None:
    """A call meets the operator, or the error that says it is gone; never half of it."""
    namespace = define.namespace
    x = wrap(np.ones(1))
    current: list[Operator] = [define("f(Tensor x) -> int")]
    register(current[0], "CPU", returning(7))

    def call() -> None:
        try:
            assert current[-1].call(x) in (7, 8)
        except DispatchError as error:
            assert "no longer defined" in str(error)

    from opwright_core.dispatch.call.operator import find_operator

    with Callers(call):
        for _ in range(REGISTRATIONS // 10):
            library = Library(namespace, "FRAGMENT")
            library.define("g(Tensor x) -> int")
            library.impl("g", returning(8), "CPU")
            current[-1] = find_operator(f"{namespace}::g")
            assert current[-1].call(x) == 8
            library.destroy()
            with pytest.raises(DispatchError, match="no longer defined"):
                current[-1].call(x)
