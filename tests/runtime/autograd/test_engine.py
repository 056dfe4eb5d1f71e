"""What the engine promises beyond values: depth, threads, memory, anomaly mode, generated wrappers left out."""

from __future__ import annotations

import gc
import threading
import warnings
import weakref
from typing import Any

import pytest
from wrappers import recorded  # noqa: F401

import opwright
from opwright.autograd import Function, detect_anomaly, set_detect_anomaly
from opwright.autograd.nodes import AccumulateGrad, Node
from opwright.registering.kernels import register
from opwright_core.core import fast
from opwright_core.dispatch.registry.kernel_kinds import Wrapper
from opwright_core.tensors.tensor import Tensor


def leaf(*values: float) -> Tensor:
    return opwright.tensor(list(values or (1.0, 2.0, 3.0)), requires_grad=True)


@pytest.mark.parametrize("together", [False, True])
def test_a_graph_of_100000_nodes(together: bool) -> None:
    x = leaf(1.0)
    one = opwright.ones(1)
    y = x
    for number in range(100_000):
        y = y + (x if together and number % 1000 == 0 else one)
    y.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [101.0 if together else 1.0]
    del y  # dropping it must not recurse either


def test_a_deep_graph_is_dropped_without_a_backward() -> None:
    y = leaf(1.0)
    one = opwright.ones(1)
    for _ in range(300_000):
        y = y + one
    del y


def test_a_deep_graph_of_saved_tensors() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(50_000):
        y = y * y
    y.sum().backward()
    assert x.grad is not None


def test_threads_that_share_leaves_lose_nothing() -> None:
    x = leaf(0.0)
    rounds, workers = 200, 8
    barrier = threading.Barrier(workers)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            barrier.wait()
            for _ in range(rounds):
                (x * 1.0 + x).sum().backward()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert x.grad is not None
    assert x.grad.tolist() == [2.0 * rounds * workers]


def test_threads_with_graphs_of_their_own() -> None:
    def gradient(seed: int) -> list[float]:
        opened = opwright.tensor([float(seed), 2.0, 3.0], requires_grad=True)
        y = opened
        for _ in range(20):
            y = y * 1.01 + opened
        (found,) = opwright.autograd.grad(y.sum(), opened)
        assert found is not None
        return found.tolist()  # type: ignore[no-any-return]

    alone = [gradient(seed) for seed in range(8)]
    together: dict[int, list[float]] = {}
    threads = [threading.Thread(target=lambda s=seed: together.update({s: gradient(s)})) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [together[seed] for seed in range(8)] == alone


class Kept(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        result = x * 2.0
        ctx.save_for_backward(x, result)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad * 2.0


def test_nothing_waits_for_the_garbage_collector() -> None:
    gc.collect()
    gc.disable()
    try:
        x = leaf()
        y = x.exp() * x
        z = Kept.apply(y)
        z.mul_(x.detach())
        z.select(0, 0).mul_(opwright.tensor(2.0, requires_grad=True))
        (z + y).exp_().sum().backward()
        watched = [weakref.ref(tensor) for tensor in (x, y, z)]
        del x, y, z
        assert [reference() for reference in watched] == [None, None, None]
    finally:
        gc.enable()


def test_a_leaf_that_is_gone_is_found_through_the_graph() -> None:
    y = leaf() * 2.0
    (accumulate, _), *_ = y.grad_fn.next_functions  # type: ignore[union-attr]
    assert isinstance(accumulate, AccumulateGrad)
    variable = accumulate.variable
    assert variable.tolist() == [1.0, 2.0, 3.0]
    y.sum().backward()
    assert variable.grad is not None
    assert variable.grad.tolist() == [2.0, 2.0, 2.0]


made: list[weakref.ref[Tensor]] = []


class Doubled(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2.0

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        result = grad * 2.0
        made.append(weakref.ref(result))
        return result


def test_a_gradient_that_nobody_else_holds_is_not_copied_by_the_core() -> None:
    x = leaf()
    Doubled.apply(x).backward(opwright.ones(3))
    assert x.grad is not None
    assert (x.grad is made[-1]()) == (fast is not None)  # Note [Ownership of gradients]
    w = leaf()
    kept: list[Tensor] = []
    w.register_hook(kept.append)
    Doubled.apply(w).backward(opwright.ones(3))
    assert w.grad is not kept[0]
    assert w.grad is not None
    w.grad.add_(opwright.ones(3))
    assert kept[0].tolist() == [2.0, 2.0, 2.0]


def test_a_leaf_keeps_its_accumulate_node() -> None:
    x = leaf()
    first, second = x * 1.0, x * 1.0
    assert first.grad_fn.next_functions[0][0] is second.grad_fn.next_functions[0][0]  # type: ignore[union-attr]


class Failing(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 1.0

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        raise ValueError("broken")


def test_anomaly_mode_points_at_the_forward_line() -> None:
    x = leaf()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with detect_anomaly():
            y = Failing.apply(x)  # the forward line
            with pytest.raises(ValueError, match="broken") as caught:
                y.sum().backward()
    assert "the forward line" in "".join(caught.value.__notes__)
    assert any("FailingBackward" in str(warning.message) for warning in seen)


def test_anomaly_mode_knows_the_line_of_an_operator() -> None:
    x = leaf()
    with set_detect_anomaly(True):
        y = x * 1.0
        z = y * y.detach()  # this very line
        y.detach().add_(opwright.ones(3))
        with pytest.raises(RuntimeError, match="modified by an inplace") as caught, pytest.warns(UserWarning):
            z.sum().backward()
    assert "this very line" in "".join(caught.value.__notes__)


class NotANumber(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 1.0

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad * float("nan")


def test_anomaly_mode_refuses_nan() -> None:
    x = leaf()
    with set_detect_anomaly(True), pytest.raises(RuntimeError, match="returned nan"), pytest.warns(UserWarning):
        NotANumber.apply(x).sum().backward()
    with set_detect_anomaly(True, check_nan=False):
        NotANumber.apply(x).sum().backward()
    assert opwright.autograd.anomaly.is_on() is False


def test_generated_wrappers_are_left_out_where_nothing_is_recorded() -> None:
    calls: list[str] = []

    def noting(name: str) -> Any:
        def make(below: Any) -> Any:
            def kernel(*args: Any) -> Any:
                calls.append(name)
                return below(*args)

            return kernel

        return make

    handles = [register("aten::neg", "AutogradCPU", Wrapper(noting("generated"), is_generated=True))]
    try:
        x, y = leaf(), opwright.ones(3)
        opwright.neg(y)
        with opwright.no_grad():
            opwright.neg(x)
        opwright.neg(y.view(3))
        assert calls == []
        opwright.neg(x)
        assert calls == ["generated"]
        handles.append(register("aten::neg", "AutogradCPU", Wrapper(noting("by hand"))))
        opwright.neg(y)
        with opwright.no_grad():
            opwright.neg(x)
        assert calls == ["generated", "by hand", "by hand"]
        with opwright.inference_mode():
            opwright.neg(x)
        assert calls == ["generated", "by hand", "by hand"]
    finally:
        for handle in reversed(handles):
            handle.remove()


def test_a_node_without_apply_says_so() -> None:
    with pytest.raises(NotImplementedError, match="Node has no apply"):
        Node().apply(None)
