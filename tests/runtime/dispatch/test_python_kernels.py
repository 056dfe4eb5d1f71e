"""Kernels that run only while the Python dispatcher is enabled."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from conftest import Maker

from opwright import dispatch
from opwright.errors import DispatchError, RegistrationError
from opwright.registering.kernels import register
from opwright.user_kernels.registering import register_fallback
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.registry.kernel_kinds import ArrayKernel, Boxed, Wrapper
from opwright_core.keys import ARRAYS
from opwright_core.tensors.tensor import Tensor, wrap

X = wrap(np.ones(2))


@pytest.fixture
def calls() -> list[str]:
    return []


@pytest.fixture
def operator(define: Maker, calls: list[str]) -> Operator:
    made = define("f(Tensor x, int n=1) -> int")
    register(made, "CPU", lambda x, n=1: calls.append("CPU") or n)
    return made


def test_they_run_only_while_it_is_enabled(operator: Operator, calls: list[str]) -> None:
    assert operator(X) == 1

    @operator.py_impl("CPU")
    def kernel(x: Tensor, n: int = 1) -> int:
        calls.append("Python")
        return n + 1

    assert operator(X, 5) == 5
    with dispatch.enable_python_dispatcher():
        assert operator(X, 5) == 6
        assert operator(np.ones(2)) == 2
    assert operator(np.ones(2)) == 1
    assert calls == ["CPU", "CPU", "Python", "Python", "CPU"]
    assert ARRAYS in operator.table


def test_one_for_a_key(operator: Operator) -> None:
    operator.py_impl("CPU")(lambda x, n=1: 2)
    with pytest.raises(RegistrationError, match=r"has a Python kernel for CPU already, .*test_python_kernels\.py:\d+"):
        operator.py_impl(dispatch.DispatchKey.CPU)(lambda x, n=1: 3)
    with pytest.raises(RegistrationError, match="could not parse dispatch key 'CPPU'"):
        operator.py_impl("CPPU")
    with pytest.raises(TypeError, match="callable"):
        operator.py_impl("CUDA")(3)  # type: ignore[arg-type]
    with dispatch.enable_python_dispatcher():
        assert operator(X) == 2


def test_they_take_part_by_the_rules_of_the_table(operator: Operator, define: Maker) -> None:
    operator.py_impl("CompositeImplicitAutograd")(lambda x, n=1: 2)
    operator.py_impl("AutogradCPU")(lambda x, n=1: operator.redispatch(dispatch.KeySet("CPU"), x, n) + 10)
    with dispatch.enable_python_dispatcher():
        assert operator(X) == 11  # the kernel at CPU hides the composite one
        with dispatch.below_autograd():
            assert operator(X) == 1
    alone = define("g(Tensor x) -> int")
    alone.py_impl("CompositeImplicitAutograd")(lambda x: 7)
    with dispatch.enable_python_dispatcher():
        assert alone(X) == 7
    with pytest.raises(DispatchError, match="has no kernel"):
        alone(X)


def test_it_stays_enabled_below_a_kernel(operator: Operator, calls: list[str]) -> None:
    register(operator, "AutogradCPU", Wrapper(lambda below: lambda *args: calls.append("Wrapper") or below(*args)))
    register_tracer = register_fallback(
        "Tracer", Boxed(lambda op, keys, args, kwargs: op.redispatch(keys - dispatch.KeySet("Tracer"), *args, **kwargs))
    )
    operator.py_impl("CPU")(lambda x, n=1: calls.append("Python") or n)
    with dispatch.enable_python_dispatcher(), dispatch.include_keys("Tracer"):
        operator(X)
    register_tracer.remove()
    assert calls == ["Wrapper", "Python"]


def test_factories(define: Maker) -> None:
    made = define("ones(int n, *, Device? device=None) -> Tensor")
    register(made, "CPU", ArrayKernel(lambda n, device: np.ones(n)))
    made.py_impl("CPU")(lambda n, *, device=None: wrap(np.zeros(n)))
    assert made(1).item() == 1
    with dispatch.enable_python_dispatcher():
        assert made(1).item() == 0


def test_per_thread(operator: Operator) -> None:
    operator.py_impl("CPU")(lambda x, n=1: 2)
    seen: list[Any] = []
    with dispatch.enable_python_dispatcher():
        thread = threading.Thread(target=lambda: seen.append(operator(X)))
        thread.start()
        thread.join()
        seen.append(operator(X))
    assert seen == [1, 2]


def test_what_is_no_mode_shows_no_python_kernels(operator: Operator) -> None:
    before = dispatch.table(operator)["CPU"]
    operator.py_impl("CPU")(lambda x, n=1: 2)
    assert dispatch.table(operator)["CPU"] == before
    assert operator.has_kernel_for_dispatch_key("CPU")
    assert not operator.has_kernel_for_dispatch_key("AutogradCPU")
