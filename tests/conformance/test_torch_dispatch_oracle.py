"""Dispatch modes and Tensor subclasses beside PyTorch's: what their handlers see, and what comes out."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

import opwright

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
modes_of = {
    "opwright": importlib.import_module("opwright.utils._python_dispatch"),
    "torch": pytest.importorskip("torch.utils._python_dispatch"),
}

pytestmark = pytest.mark.oracle

# What PyTorch's Python functions pass to factories though nobody asked for it.
ADDED = ("device", "pin_memory")


class Side:
    """One of the two libraries, with modes and subclasses made for it, and what these saw."""

    def __init__(self, lib: Any) -> None:
        self.lib = lib
        self.seen: list[Any] = []
        side = self

        class Log(modes_of[lib.__name__].TorchDispatchMode):
            def __init__(self, name: str = "mode", answer: Callable[..., Any] | None = None) -> None:
                super().__init__()
                self.name = name
                self.answer = answer

            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                side.note(self.name, func, types, args, kwargs)
                return func(*args, **kwargs) if self.answer is None else self.answer(func, types, args, kwargs)

        class Wrapper(lib.Tensor):
            @staticmethod
            def __new__(cls: Any, *elems: Any) -> Any:
                first = elems[0]
                made = lib.Tensor._make_wrapper_subclass(
                    cls, first.size(), dtype=first.dtype, device=first.device, strides=first.stride()
                )
                made.elems = elems
                return made

            def __repr__(self) -> str:
                return f"Wrapper{self.elems}"

            @classmethod
            def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                side.note(cls.__name__, func, types, args, kwargs)
                width = max(len(each.elems) for each in flat((args, kwargs)) if isinstance(each, Wrapper))
                outs = [func(*side.part(args, n), **side.part(kwargs, n)) for n in range(width)]
                out = side.join(cls, outs)
                return modes_of[lib.__name__].return_and_correct_aliasing(func, args, kwargs, out)

        class Below(Wrapper):
            pass

        self.Log, self.Wrapper, self.Below = Log, Wrapper, Below

    def note(self, name: str, func: Any, types: Any, args: Any, kwargs: Any) -> None:
        if str(func) == "aten.detach.default" and name == "Wrapper":
            return  # PyTorch's engine detaches what it saves and accumulates
        shown = tuple(kind(each) for each in args)
        options = sorted((key, kind(value)) for key, value in kwargs.items() if key not in ADDED)
        self.seen.append((name, str(func), tuple(each.__name__ for each in types), shown, options))

    def part(self, value: Any, number: int) -> Any:
        if isinstance(value, self.Wrapper):
            return value.elems[number]
        if isinstance(value, list | tuple):
            return type(value)(self.part(each, number) for each in value)
        return {key: self.part(each, number) for key, each in value.items()} if isinstance(value, dict) else value

    def join(self, cls: Any, outs: list[Any]) -> Any:
        if isinstance(outs[0], self.lib.Tensor):
            return cls(*outs)
        if isinstance(outs[0], list | tuple):
            return type(outs[0])(self.join(cls, list(each)) for each in zip(*outs, strict=True))
        return outs[0]

    def range(self, *shape: int) -> Any:
        count = 1
        for size in shape:
            count *= size
        return self.lib.arange(count, dtype=self.lib.float64).reshape(shape) + 1

    def pair(self, *shape: int) -> Any:
        x = self.range(*shape)
        return self.Wrapper(x, x * 10)

    def values(self, result: Any) -> Any:
        """A result that can be compared: types, shapes and numbers."""
        if isinstance(result, self.Wrapper):
            return type(result).__name__, tuple(result.shape), [self.values(each) for each in result.elems]
        if isinstance(result, self.lib.Tensor):
            return type(result).__name__, tuple(result.shape), self.values(result.tolist())
        if isinstance(result, list | tuple):
            return [self.values(each) for each in result]
        return float(f"{result:.10g}") if isinstance(result, float) else result


def flat(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    return [each for item in value for each in flat(item)] if isinstance(value, list | tuple) else [value]


def kind(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [kind(each) for each in value]
    if isinstance(value, bool | int | float | str | None):
        return value
    return type(value).__name__ if isinstance(value, opwright.Tensor | torch.Tensor) else str(value).split(".")[-1]


def factories(side: Side) -> Any:
    lib = side.lib
    with side.Log():
        made = [lib.ones(2), lib.zeros(2, 3), lib.full((2,), 1.5), lib.arange(3), lib.eye(2), lib.linspace(0, 1, 3)]
        made += [lib.zeros_like(made[0]), lib.empty(0), lib.scalar_tensor(2.0)]
    return made


def calls(side: Side) -> Any:
    lib, x = side.lib, side.range(2, 3)
    with side.Log():
        results = [
            x + x,
            lib.add(x, x, alpha=2),
            x.sum(),
            x.sum(1),
            x.sum(1, True),
            x.t(),
            x[0],
            x[:, 0:2],
            x.reshape(3, 2),
        ]
        results += [lib.stack([x, x]), lib.cat([x, x], 1), lib.softmax(x, 0), x.clone(), x.detach(), x.expand(2, 2, 3)]
        results += [lib.nn.functional.linear(x, x), x.mean(), lib.matmul(x, x.t()), *x.split(1), *lib.max(x, 1)]
        results += [x.to(lib.float32), x.item() if x.numel() == 1 else x.sum().item()]
    return results


def nested(side: Side) -> Any:
    x = side.range(2)
    with side.Log("outer"), side.Log("inner"):
        return x * x


def changed(side: Side) -> Any:
    def answer(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        out = func(*args, **kwargs)
        return out + 1 if str(func) == "aten.mul.Tensor" else out

    x = side.range(2)
    with side.Log("mode", answer):
        return [x * x, x + x, (x * x).exp().log()]


def inference(side: Side) -> Any:
    x = side.range(2, 2)
    with side.lib.inference_mode(), side.Log():
        return [side.lib.nn.functional.linear(x, x), x.reshape(4)]


def in_place(side: Side) -> Any:
    x, y = side.pair(2, 3), side.pair(2, 3)
    same = [x.add_(y) is x, x.mul_(y) is x, x.zero_() is x]
    out = side.pair(2, 3)
    return [*same, side.lib.add(y, y, out=out) is out, out, x, y.unsqueeze_(0).shape == (1, 2, 3), y]


def two_tensors(side: Side) -> Any:
    lib, x = side.lib, side.pair(2, 3)
    return [x + x, x * x.t().t(), x.sum(0), lib.stack([x, x]), x @ x.t(), x[0], *x.unbind(0), lib.softmax(x, 1)]


def mixed_with_plain(side: Side) -> Any:
    x = side.range(2)
    return [side.pair(2) + x, x - side.pair(2)]


def subclasses_first(side: Side) -> Any:
    x = side.range(2)
    return [side.Wrapper(x) + side.Below(x), side.Below(x) * side.Wrapper(x)]


def mode_over_subclass(side: Side) -> Any:
    x = side.Wrapper(side.range(2))
    with side.Log():
        return x * x


def declined(side: Side) -> Any:
    def answer(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return NotImplemented if types else func(*args, **kwargs)

    x = side.Wrapper(side.range(2))
    with side.Log("mode", answer):
        return x * x


def declined_by_all(side: Side) -> Any:
    x = side.range(2)
    try:
        with side.Log("outer"), side.Log("inner", lambda *call: NotImplemented):
            x.exp()
    except TypeError as error:
        return str(error).partition(" for ")[0]


def failing(side: Side) -> Any:
    def answer(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        raise KeyError(str(func))

    x = side.range(2)
    with side.Log("outer"):
        try:
            with side.Log("inner", answer):
                x.exp()
        except KeyError as error:
            caught = error.args
        return caught, x.log()


def gradients(side: Side) -> Any:
    x = side.pair(2, 3).requires_grad_()
    y = (x * x).exp().sum()
    seen = len(side.seen)
    (grad,) = side.lib.autograd.grad(y, x)
    del side.seen[seen:]
    return [y.requires_grad, type(grad).__name__, grad]


def accumulated(side: Side) -> Any:
    x = side.pair(3).requires_grad_()
    for _ in range(2):
        (x * x + x).sum().backward()
    side.seen.clear()
    return [type(x.grad).__name__, x.grad]


def writes_to_views(side: Side) -> Any:
    x = side.pair(2, 3).requires_grad_()
    y = x * side.range(1)
    view = y[1]
    view.mul_(side.range(3))
    side.seen.clear()
    (grad,) = side.lib.autograd.grad(y.sum(), x)
    side.seen.clear()
    return [view._base is y, grad]


def recorded_under_a_mode(side: Side) -> Any:
    x = side.range(3).requires_grad_()
    with side.Log():
        y = (x * x).sum()
    y.backward()
    return [y.requires_grad, x.grad]


PROGRAMS = [
    factories, calls, nested, changed, inference, in_place, two_tensors, mixed_with_plain, subclasses_first,
    mode_over_subclass, declined, declined_by_all, failing, gradients, accumulated, writes_to_views,
    recorded_under_a_mode,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_handlers_see_and_give_what_they_do_in_pytorch(program: Callable[[Side], Any]) -> None:
    ours, theirs = Side(opwright), Side(torch)
    found, expected = program(ours), program(theirs)
    assert ours.seen == theirs.seen
    assert ours.values(found) == theirs.values(expected)
