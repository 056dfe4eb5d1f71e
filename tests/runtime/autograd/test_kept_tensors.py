"""Tensors that a program keeps: no later pass, call or write of the library's own changes them.

A program gets them in its own functions (backward functions, hooks, kernels, modes), and keeps them in any way that
Python has. Each place is tried with each way, over several passes.
"""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opwright
import opwright_core
import opwright_gate
import opwright_kernels
from opwright import Tensor
from opwright.autograd import Function
from opwright.library import custom_op
from opwright.utils._python_dispatch import TorchDispatchMode

Keep = Callable[[Any], None]
_numbers = itertools.count()


class Kept:
    """Values that were kept, and what they were then."""

    def __init__(self, keep: Callable[[Any], Callable[[], Any]]) -> None:
        self._keep = keep
        self.found: list[tuple[Callable[[], Any], np.ndarray]] = []

    def __call__(self, value: Any) -> None:
        for each in value if isinstance(value, tuple | list) else (value,):
            if each is not None:
                self.found.append((self._keep(each), np.array(_array(each))))

    def check(self) -> None:
        """Raise AssertionError for a kept value that changed."""
        assert self.found
        for number, (read, before) in enumerate(self.found):
            np.testing.assert_array_equal(_array(read()), before, err_msg=f"kept value {number}")


def _array(value: Any) -> Any:
    return value.detach().numpy() if isinstance(value, Tensor) else np.asarray(value)


def _in_a_local(value: Any) -> Callable[[], Any]:
    """Keep a value in a variable of a frame that is suspended."""

    def frame() -> Iterator[Any]:
        held = value
        while True:
            yield held

    running = frame()
    next(running)
    return running.__next__


def _in_a_caught_frame(value: Any) -> Callable[[], Any]:
    def fails(held: Any) -> None:
        raise ValueError

    try:
        fails(value)
    except ValueError as error:
        caught = error
    return lambda: caught.__traceback__.tb_next.tb_frame.f_locals["held"]  # type: ignore[union-attr]


class _Attribute:
    held: Any


def _in_an_attribute(value: Any) -> Callable[[], Any]:
    owner = _Attribute()
    owner.held = value
    return lambda: owner.held


def _as_memory(value: Any) -> Callable[[], Any]:
    view = memoryview(_array(value))
    return lambda: np.asarray(view)


WAYS: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "closure": lambda value: lambda: value,
    "list": lambda value: functools.partial([value].__getitem__, 0),
    "argument": lambda value: functools.partial(lambda held: held, value),
    "local": _in_a_local,
    "traceback": _in_a_caught_frame,
    "attribute": _in_an_attribute,
    "array": lambda value: functools.partial(lambda held: held, _array(value)),
    "view": lambda value: functools.partial(lambda held: held, _array(value)[:]),
    "memory": _as_memory,
    "detached": lambda value: functools.partial(lambda held: held, opwright.as_tensor(value).detach()),
}


def _leaf() -> Tensor:
    return opwright.tensor([1.0, 2.0, 3.0], dtype=opwright.float64, requires_grad=True)


def _from_a_backward(keep: Keep) -> Callable[[], None]:
    class Doubled(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x * 2.0

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            result = grad * 2.0
            keep(result)
            return result

    w = _leaf()
    return lambda: Doubled.apply(w).backward(opwright.ones(3, dtype=opwright.float64))


def _argument_of_a_backward(keep: Keep) -> Callable[[], None]:
    class Doubled(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            keep(grad)
            return grad

    w = _leaf()
    return lambda: (Doubled.apply(w) * 3.0).sum().backward()


def _two_results_of_a_backward(keep: Keep) -> Callable[[], None]:
    class Twice(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
            return x + y

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
            results = grad * 2.0, grad * 3.0
            keep(results)
            return results

    w = _leaf()
    return lambda: Twice.apply(w, w).backward(opwright.ones(3, dtype=opwright.float64))


def _hook_of_a_leaf(keep: Keep) -> Callable[[], None]:
    w = _leaf()
    w.register_hook(keep)
    return lambda: (w * 2.0).sum().backward()


def _hook_of_a_leaf_of_a_function(keep: Keep) -> Callable[[], None]:
    w = _leaf()
    w.register_hook(keep)
    run = _from_a_backward(lambda value: None)
    doubled = run.__closure__[0].cell_contents  # type: ignore[index]
    return lambda: doubled.apply(w).backward(opwright.ones(3, dtype=opwright.float64))


def _result_of_a_hook(keep: Keep) -> Callable[[], None]:
    def hook(grad: Tensor) -> Tensor:
        result = grad * 2.0
        keep(result)
        return result

    w = _leaf()
    w.register_hook(hook)
    return lambda: (w * 2.0).sum().backward()


def _hook_of_a_result(keep: Keep) -> Callable[[], None]:
    w = _leaf()

    def run() -> None:
        y = w * 2.0
        y.register_hook(keep)
        (y * 3.0).sum().backward()

    return run


def _prehook_and_hook_of_nodes(keep: Keep) -> Callable[[], None]:
    w = _leaf()

    def run() -> None:
        y = w * 2.0
        y.grad_fn.register_prehook(keep)  # type: ignore[union-attr]
        y.grad_fn.register_hook(lambda results, grads: keep((*results, *grads)))  # type: ignore[union-attr]
        (y * 3.0).sum().backward()

    return run


def _prehook_of_an_accumulating_node(keep: Keep) -> Callable[[], None]:
    """Hooks behind it see the gradient that the leaf keeps, as in PyTorch."""
    w = _leaf()
    node = (w * 2.0).grad_fn.next_functions[0][0]  # type: ignore[union-attr]
    node.register_prehook(keep)

    def run() -> None:
        assert node is not None
        (w * 2.0).sum().backward()

    return run


def _gradient_given(keep: Keep) -> Callable[[], None]:
    w = _leaf()

    def run() -> None:
        given = opwright.ones(3, dtype=opwright.float64)
        keep(given)
        w.clone().backward(given)

    return run


def _gradient_given_to_the_leaf(keep: Keep) -> Callable[[], None]:
    w = _leaf()

    def run() -> None:
        given = opwright.ones(3, dtype=opwright.float64)
        keep(given)
        w.backward(given)

    return run


def _gradients_returned(keep: Keep) -> Callable[[], None]:
    w = _leaf()

    def run() -> None:
        keep(opwright.autograd.grad((w * w).sum(), w))
        (w * w).sum().backward()

    return run


def _retained(keep: Keep) -> Callable[[], None]:
    w = _leaf()

    def run() -> None:
        y = w * 2.0
        y.retain_grad()
        (y * y).sum().backward()
        keep(y.grad)

    return run


def _saved(keep: Keep) -> Callable[[], None]:
    w = _leaf()

    def run() -> None:
        y = (w * 2.0).exp()
        keep(y.grad_fn.saved_tensors if hasattr(y.grad_fn, "saved_tensors") else y)
        y.sum().backward()

    return run


def _kernel(keep: Keep) -> Callable[[], None]:
    def kernel(x: np.ndarray) -> np.ndarray:
        result = x * 2.0
        keep((x, result))
        return result

    doubled = custom_op(f"kept{next(_numbers)}::doubled", kernel, mutates_args=())
    doubled.register_fake(lambda x: opwright.empty_like(x))
    doubled.register_autograd(lambda ctx, grad: doubled(grad))
    w = _leaf()
    return lambda: (doubled(w * 2.0) * 3.0).sum().backward()


def _kernel_of_arrays(keep: Keep) -> Callable[[], None]:
    def kernel(x: np.ndarray) -> np.ndarray:
        result = x * 2.0
        keep((x, result))
        return result

    doubled = custom_op(f"kept{next(_numbers)}::doubled", kernel, mutates_args=())

    def run() -> None:
        for _ in range(3):
            doubled(np.ones(3) + 1.0)
            opwright.add(np.ones(3), 1.0)

    return run


def _mode(keep: Keep) -> Callable[[], None]:
    class Watching(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            if func is opwright.ops.aten.mul.Scalar:  # a leaf's gradient itself is made and written by other operators
                keep(result)
            return result

    w = _leaf()

    def run() -> None:
        y = (w * 2.0).sum()
        with Watching():
            y.backward()

    return run


def _grad_of_the_leaf_before(keep: Keep) -> Callable[[], None]:
    w = _leaf()

    def run() -> None:
        (w * 2.0).sum().backward()
        keep(w.grad)
        w.grad = None

    return run


def _products(keep: Keep) -> Callable[[], None]:
    """Products are added by BLAS to gradients that wait: to none that a hook or a function saw."""
    a = opwright.ones(64, 64, dtype=opwright.float64, requires_grad=True)
    b = opwright.ones(64, 64, dtype=opwright.float64)

    def run() -> None:
        y = a * 2.0
        y.register_hook(keep)
        _seen(y @ b, keep).sum().backward()
        (_seen(a, keep) @ b + _seen(a, keep) @ b).sum().backward()

    return run


def _seen(x: Tensor, keep: Keep) -> Tensor:
    class Seen(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x.view_as(x)

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            result = grad * 1.0
            keep(result)
            return result

    seen: Tensor = Seen.apply(x)
    return seen


PLACES = {
    function.__name__.lstrip("_"): function
    for function in (
        _from_a_backward, _argument_of_a_backward, _two_results_of_a_backward, _hook_of_a_leaf,
        _hook_of_a_leaf_of_a_function, _result_of_a_hook, _hook_of_a_result, _prehook_and_hook_of_nodes,
        _prehook_of_an_accumulating_node, _gradient_given, _gradient_given_to_the_leaf, _gradients_returned, _retained,
        _saved, _kernel, _kernel_of_arrays, _mode, _grad_of_the_leaf_before, _products,
    )
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("place", PLACES)
def test_what_a_program_keeps_stays_as_it_was(place: str, way: str) -> None:
    kept = Kept(WAYS[way])
    run = PLACES[place](kept)
    for _ in range(3):
        run()
        [opwright.ones(3, dtype=opwright.float64) * 7.0 for _ in range(4)]  # memory that was freed is used again
    kept.check()


def test_a_gradient_is_the_leafs_own() -> None:
    """`.grad` is no tensor that a function of the program returned and still holds."""
    kept: list[Tensor] = []

    class Doubled(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x * 2.0

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            kept.append(grad * 2.0)
            return kept[-1]

    w = _leaf()
    for _ in range(3):
        Doubled.apply(w).backward(opwright.ones(3, dtype=opwright.float64))
    assert [each.tolist() for each in kept] == [[2.0] * 3] * 3
    assert w.grad is not None
    assert w.grad.tolist() == [6.0] * 3
    assert all(w.grad is not each for each in kept)


def test_python_code_reads_no_count_of_references() -> None:
    counting = sys.getrefcount.__name__
    packages = (opwright, opwright_core, opwright_gate, opwright_kernels)
    files = [file for each in packages for file in Path(str(each.__file__)).parent.rglob("*.py")]
    assert len(files) > 100
    assert [file.name for file in files if counting in file.read_text("utf-8")] == []
