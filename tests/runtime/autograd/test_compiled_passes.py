"""Backward passes that the compiled core runs give what the Python gives, to the bit, and leave it what is uncommon."""

from __future__ import annotations

import importlib
import math
import pkgutil
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import seeds

import opwright
import opwright_aten.autograd
from opwright.autograd import compiled
from opwright.autograd.node_formulas import gradients_for
from opwright.autograd.nodes import Recorded
from opwright.library import Library
from opwright_core.core import fast

Call = Callable[..., Any]


FORMS: dict[str, Call] = {
    "add": lambda x, y: x + y,
    "add, alpha": lambda x, y: opwright.add(x, y, alpha=2),
    "numbers": lambda x, y: (1.5 - x) * 3 + 2 / (y + 1),
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "square": lambda x, y: x * x - y * y,
    "chain": lambda x, y: (x.exp() * y.sin()).tanh().log1p(),
    "results": lambda x, y: x.tanh() + x.sqrt() * x.reciprocal() + y.exp().rsqrt() + y.relu(),
    "atan2": opwright.atan2,
    "hypot": opwright.hypot,
    "addcmul": lambda x, y: opwright.addcmul(x, y, x, value=0.5),
    "broadcast": lambda x, y: x * y[0],
    "maximum": opwright.maximum,
    "sums": lambda x, y: x.sum() * y.mean(),
    "matrices": lambda x, y: (x @ y.t()).relu(),
    "added to a product": lambda x, y: opwright.addmm(x[0], x, y.t()) + opwright.addmm(y, x.t(), y, beta=0.5, alpha=2),
    "rows broadcast": lambda x, y: (
        (x + y[0]) * (x.sum(0) + y).reshape(2, 2, 4).mean(0).repeat(2, 1) + y[0, :2].repeat(2)
    ),
    "several results": lambda x, y: opwright.cat(x.chunk(2)[::-1]) * opwright.stack(y.unbind()),
    "a fan": lambda x, y: sum((x * number + y for number in range(9)), x),
    "one twice": lambda x, y: opwright.add(x, x) + y,
    "dtypes": lambda x, y: x.double() + y,
    "views": lambda x, y: x.t().reshape(-1) * y.view(-1),
}


def leaves(dtype: Any) -> tuple[opwright.Tensor, opwright.Tensor]:
    made = seeds.numpy_generator(0)
    return tuple(opwright.from_numpy((made.random((4, 4)) + 0.1).astype(dtype)).requires_grad_() for _ in range(2))


def gradients(form: Call, dtype: Any) -> list[bytes]:
    """Return the gradients of two passes, which are added."""
    x, y = leaves(dtype)
    found = []
    for _ in range(2):
        result = form(x, y)
        result.backward(opwright.full_like(result.detach(), 0.3))
        for leaf in (x, y):
            assert leaf.grad is not None
            array = leaf.grad.numpy()
            found += [str((array.dtype, array.shape, array.strides, leaf.grad.keys)).encode(), array.tobytes()]
    return found


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
@pytest.mark.parametrize("name", FORMS)
def test_gradients_are_those_of_the_python(name: str, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if dtype is np.complex64 and name not in ("add", "add, alpha", "mul", "div", "numbers", "square", "a fan"):
        dtype = np.float32
    here = gradients(FORMS[name], dtype)
    monkeypatch.setattr(compiled, "fast", None)
    assert here == gradients(FORMS[name], dtype)


@pytest.mark.skipif(fast is None, reason=opwright.dispatch.core().reason)
def test_common_passes_are_the_cores() -> None:
    x, y = leaves(np.float32)
    assert compiled.run((x * y).sum(), None, False)
    assert compiled.run(x * y, opwright.ones(4, 4), False)
    with opwright.no_grad():
        assert not compiled.run(x, None, False)
    assert not compiled.run(x * y, None, False)  # the Python says that it is no scalar
    assert not compiled.run((x * y).sum(), opwright.ones(2), False)


def classes() -> list[type[Recorded]]:
    for part in pkgutil.iter_modules(opwright_aten.autograd.__path__):  # which are imported when they are first needed
        importlib.import_module(f"opwright_aten.autograd.{part.name}")
    package = opwright_aten.__name__  # and no package that another test has generated
    found = [each for each in Recorded.__subclasses__() if each.formulas and each.__module__.startswith(f"{package}.")]
    assert len(found) > 100
    return found


@pytest.mark.skipif(fast is None, reason=opwright.dispatch.core().reason)
def test_formulas_are_read() -> None:
    assert [each.__name__ for each in classes() if gradients_for(each) is None] == []


@pytest.mark.skipif(fast is None, reason=opwright.dispatch.core().reason)
def test_formulas_are_read_of_modules_that_are_no_longer_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    one = next(each for each in classes() if each.__name__ == "AddBackward0")
    monkeypatch.delitem(sys.modules, one.__module__)
    assert gradients_for(one) is not None


def test_the_graph_is_freed_unless_it_is_kept() -> None:
    x, y = leaves(np.float32)
    result = (x * y).exp().sum()
    result.backward(retain_graph=True)
    result.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        result.backward()


def test_writes_to_saved_tensors_are_found() -> None:
    x, y = leaves(np.float32)
    for saved in (x * 1.0, (x * 1.0).exp()):
        result = (saved * y if saved.grad_fn.name() == "MulBackward0" else saved).sum()
        saved.detach().add_(1.0)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            result.backward()


def test_hooks_are_run() -> None:
    x, y = leaves(np.float32)
    seen: list[str] = []
    middle = x * y
    middle.register_hook(lambda grad: seen.append("tensor") or grad * 2)
    middle.retain_grad()
    assert middle.grad_fn is not None
    middle.grad_fn.register_prehook(lambda grads: seen.append("before"))
    middle.grad_fn.register_hook(lambda inputs, outputs: seen.append("after"))
    opwright.autograd.graph.register_multi_grad_hook([middle], lambda grads: seen.append("all"))
    middle.sum().backward()
    assert seen == ["tensor", "all", "before", "after"]
    assert x.grad is not None
    assert x.grad.tolist() == (y * 2).tolist()
    assert middle.grad is not None
    assert middle.grad.tolist() == [[2.0] * 4] * 4


def events_of_a_pass_with_hooks_of_leaves() -> list[str]:
    """Return in what order a pass tells what happens: `x` is complete before the node `older` runs, `y` is not."""
    x, y = leaves(np.float32)
    seen: list[str] = []
    older = y.exp()
    older.grad_fn.register_prehook(lambda grads: seen.append("older"))
    x.register_hook(lambda grad: seen.append("x"))
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(f"x has {leaf.grad is not None}"))
    y.register_hook(lambda grad: seen.append("y") or grad * 2)
    result = (older * 3.0 + x.sin() * x + y.cos() * x[0]).sum()
    result.backward(retain_graph=True)
    first = [leaf.grad.clone() for leaf in (x, y)]
    result.backward()
    for leaf, grad in zip((x, y), first, strict=True):
        assert opwright.allclose(leaf.grad, 2 * grad)
    return [*seen, str([grad.tolist() for grad in first])]


def test_hooks_of_leaves_are_run_when_their_gradients_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    here = events_of_a_pass_with_hooks_of_leaves()
    assert here[:-1] == ["x", "x has True", "older", "y"] * 2
    monkeypatch.setattr(compiled, "fast", None)
    assert here == events_of_a_pass_with_hooks_of_leaves()


@pytest.mark.skipif(fast is None, reason=opwright.dispatch.core().reason)
def test_hooks_of_leaves_leave_passes_to_the_core() -> None:
    x, y = leaves(np.float32)
    seen: list[opwright.Tensor] = []
    y.register_hook(seen.append)
    assert compiled.run((x * x).sum(), None, False)
    assert seen == []
    assert compiled.run((x * y).sum(), None, False)
    assert len(seen) == 1


def test_kernels_registered_later_serve_backward_passes() -> None:
    x, y = leaves(np.float32)
    (x * y).sum().backward()
    library = Library("aten", "IMPL")
    called: list[int] = []

    def mul(self: opwright.Tensor, other: opwright.Tensor) -> opwright.Tensor:
        called.append(1)
        return self.clone()

    try:
        with pytest.warns(UserWarning, match="mul"):
            library.impl("mul.Tensor", mul, "CPU")
        (x * y).sum().backward()
        assert len(called) == 3
    finally:
        library._destroy()


def test_what_a_backward_pass_leaves() -> None:
    x, _ = leaves(np.float32)
    grad = opwright.ones(4, 4)
    y = x + 1.0
    alive = weakref.ref(y)
    y.backward(grad)
    assert x.grad is not None
    assert x.grad is not grad
    assert x.grad.array is not grad.array
    grad.add_(1.0)
    assert x.grad.tolist() == [[1.0] * 4] * 4
    kept, version = x.grad, x.grad._version
    (x + 1.0).backward(grad)
    assert x.grad is kept
    assert x.grad._version == version + 1
    del y
    assert alive() is None


def test_leaves_take_the_memory_of_views_that_nobody_has() -> None:
    """The gradient of a weight that was transposed is not copied, unless somebody else has it."""
    x = opwright.ones(3, 2)
    weight = opwright.ones(4, 2).requires_grad_()
    opwright.mm(x, weight.t()).sum().backward()
    assert weight.grad is not None and weight.grad.array.base is None and weight.grad.stride() == (2, 1)
    weight.grad, turned = None, weight.t()
    turned.retain_grad()
    opwright.mm(x, turned).sum().backward()
    assert turned.grad is not None and not np.shares_memory(weight.grad.array, turned.grad.array)
    assert turned.grad.stride() == (1, 2)
    kept: list[Any] = []
    weight.grad, turned = None, weight.t()
    turned.register_hook(lambda grad: kept.append(grad.array))
    opwright.mm(x, turned).sum().backward()
    assert kept and not np.shares_memory(weight.grad.array, kept[0])


@pytest.mark.parametrize("large", [3e38, np.inf])
def test_sums_that_overflow_are_told_as_ever(large: float) -> None:
    """A bias whose gradient is too large warns as the operator does."""
    bias = opwright.zeros(2).requires_grad_()
    grad = opwright.from_numpy(np.full((3, 2), large, np.float32))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        (bias + opwright.zeros(3, 2)).backward(grad)
    assert [str(each.message) for each in told] == (["overflow encountered in reduce"] if large < np.inf else [])
    assert bias.grad is not None and bias.grad.tolist() == [np.inf, np.inf]


def test_threads_add_to_one_leaf() -> None:
    x, y = leaves(np.float32)

    def work() -> None:
        for _ in range(100):
            (x * y).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), y.detach().numpy() * 1600, rtol=1e-4)


def test_errors_leave_no_mode_behind() -> None:
    x, _ = leaves(np.float32)
    y = x * 2.0
    y.register_hook(lambda grad: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()
    assert opwright.is_grad_enabled()
    assert not opwright.autograd.engine.is_running()
    assert math.isclose((x * 2.0).sum().item(), 2 * x.sum().item(), rel_tol=1e-5)


def test_wide_graphs() -> None:
    """Many nodes wait at once, in the order in which they were made."""
    x, _ = leaves(np.float32)
    parts = [x * float(number) for number in range(3000)]
    seeds.numpy_generator(1).shuffle(parts)
    result = opwright.stack([part.sum() for part in parts]).sum()
    result.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[float(sum(range(3000)))] * 4] * 4
