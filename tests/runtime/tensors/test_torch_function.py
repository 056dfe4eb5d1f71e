"""Classes that handle functions by `__torch_function__`: each program runs on Opwright, and on PyTorch where it is."""

from __future__ import annotations

import copy
import pickle
from types import SimpleNamespace
from typing import Any

import pytest

import opwright
from opwright import overrides


@pytest.mark.oracle
def _theirs() -> SimpleNamespace:
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
    return SimpleNamespace(
        lib=torch,
        overrides=torch.overrides,
        disabled=torch._C._disabled_torch_function_impl,
        block=torch._C.DisableTorchFunctionSubclass,
    )


@pytest.fixture(params=["opwright", pytest.param("torch", marks=pytest.mark.oracle)])
def of(request: pytest.FixtureRequest) -> SimpleNamespace:
    """The library, its `overrides`, and what switches classes off."""
    if request.param == "torch":
        return _theirs()
    return SimpleNamespace(
        lib=opwright,
        overrides=overrides,
        disabled=overrides.disabled_torch_function,
        block=overrides.DisableTorchFunctionSubclass,
    )


def plain_class(lib: Any) -> type:
    return type("Kept", (lib.Tensor,), {})


def logging_class(lib: Any, log: list[Any]) -> type:
    class Logged(lib.Tensor):  # type: ignore[misc]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.append((getattr(func, "__name__", str(func)), [each.__name__ for each in types], len(args)))
            return super().__torch_function__(func, types, args, kwargs or {})

    return Logged


KEPT = {
    "x + 1": lambda lib, x: x + 1,
    "1 + x": lambda lib, x: 1 + x,
    "mul": lambda lib, x: lib.mul(x, 2),
    "ones + x": lambda lib, x: lib.ones(2, 2) + x,
    "sum": lambda lib, x: x.sum(),
    "T": lambda lib, x: x.T,
    "x[0]": lambda lib, x: x[0],
    "add_": lambda lib, x: x.add_(1),
    "detach": lambda lib, x: x.detach(),
    "data": lambda lib, x: x.data,
    "to": lambda lib, x: x.to(lib.float64),
    "double": lambda lib, x: x.double(),
    "zeros_like": lambda lib, x: lib.zeros_like(x),
    "cat": lambda lib, x: lib.cat([lib.ones(2, 2), x]),
    "relu": lambda lib, x: lib.nn.functional.relu(x),
    "new_zeros": lambda lib, x: x.new_zeros(2),
    "where": lambda lib, x: lib.where(x > 0, x, x),
}


@pytest.mark.parametrize("name", KEPT)
def test_results_are_of_the_class(of: SimpleNamespace, name: str) -> None:
    kind = plain_class(of.lib)
    assert type(KEPT[name](of.lib, of.lib.ones(2, 2).as_subclass(kind))) is kind


def test_so_are_tensors_among_several_results(of: SimpleNamespace) -> None:
    kind = plain_class(of.lib)
    x = of.lib.ones(4, 2).as_subclass(kind)
    for results in (x.split(2), x.max(0), x.unbind(), list(x)):
        assert {type(each) for each in results} == {kind}
    assert x.max(0).values.tolist() == [1.0, 1.0]


def test_what_is_no_tensor_is_what_it_was(of: SimpleNamespace) -> None:
    x = of.lib.ones(2).as_subclass(plain_class(of.lib))
    assert tuple(x.shape) == (2,)
    assert x.tolist() == [1.0, 1.0]
    assert x.sum().item() == 2.0


def test_gradients_are_plain_and_pass_through(of: SimpleNamespace) -> None:
    kind = plain_class(of.lib)
    w = of.lib.ones(2, requires_grad=True)
    ((w * 1).as_subclass(kind) * 3).sum().backward()
    assert w.grad.tolist() == [3.0, 3.0]
    leaf = of.lib.ones(2).as_subclass(kind).requires_grad_()
    (leaf * leaf).sum().backward()
    assert leaf.grad.tolist() == [2.0, 2.0]
    assert type(leaf.grad) is of.lib.Tensor


def test_a_derived_class_wins_and_strangers_do_not_mix(of: SimpleNamespace) -> None:
    kind = plain_class(of.lib)
    derived = type("Derived", (kind,), {})
    other = type("Other", (of.lib.Tensor,), {})
    x, y, z = (of.lib.ones(2).as_subclass(each) for each in (kind, derived, other))
    assert type(x + y) is derived
    assert type(y + x) is derived
    with pytest.raises(TypeError):
        x + z
    with pytest.raises(TypeError, match="all __torch_function__ handlers returned NotImplemented"):
        of.lib.stack([x, z])


CALLS = {
    "x + 1": (lambda lib, x: x + 1, [("add", ["Logged"], 2)]),
    "1 + x": (lambda lib, x: 1 + x, [("add", ["Logged"], 2)]),
    "shape": (lambda lib, x: x.shape, [("__get__", ["Logged"], 1)]),
    "grad": (lambda lib, x: x.grad, [("__get__", ["Logged"], 1)]),
    "grad =": (lambda lib, x: setattr(x, "grad", None), [("__set__", ["Logged"], 2)]),
    "T": (lambda lib, x: x.T, [("__get__", ["Logged"], 1)]),
    "size": (lambda lib, x: x.size(), [("size", ["Logged"], 1)]),
    "x[0]": (lambda lib, x: x[0], [("__getitem__", ["Logged"], 2)]),
    "x[0] =": (lambda lib, x: x.__setitem__(0, 1), [("__setitem__", ["Logged"], 3)]),
    "len": (lambda lib, x: len(x), [("__len__", ["Logged"], 1)]),
    "bool": (lambda lib, x: bool(x.sum()), [("sum", ["Logged"], 1), ("__bool__", ["Logged"], 1)]),
    "==": (lambda lib, x: x == x, [("__eq__", ["Logged"], 2)]),
    "item": (lambda lib, x: x.sum().item(), [("sum", ["Logged"], 1), ("item", ["Logged"], 1)]),
    "tolist": (lambda lib, x: x.tolist(), [("tolist", ["Logged"], 1)]),
    "matmul": (lambda lib, x: x @ x, [("matmul", ["Logged"], 2)]),
    "cat": (lambda lib, x: lib.cat([x, x]), [("cat", ["Logged"], 1)]),
    "softmax": (lambda lib, x: lib.softmax(x, 0), [("softmax", ["Logged"], 2)]),
    "linear": (lambda lib, x: lib.nn.functional.linear(x, lib.ones(3, 2)), [("linear", ["Logged"], 2)]),
    "repr": (lambda lib, x: repr(x), [("__repr__", ["Logged"], 1)]),
    "add_": (lambda lib, x: x.add_(1), [("add_", ["Logged"], 2)]),
    "requires_grad_": (lambda lib, x: x.requires_grad_(), [("requires_grad_", ["Logged"], 1)]),
    "numpy": (lambda lib, x: x.numpy(), [("numpy", ["Logged"], 1)]),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_class_is_asked_once_for_what_the_program_calls(of: SimpleNamespace, name: str) -> None:
    log: list[Any] = []
    x = of.lib.ones(2).as_subclass(logging_class(of.lib, log))
    call, expected = CALLS[name]
    call(of.lib, x)
    assert log == expected


def test_a_function_is_the_one_that_the_program_calls(of: SimpleNamespace) -> None:
    seen: list[Any] = []

    class Table(of.lib.Tensor):  # type: ignore[misc, name-defined]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return "handled"

    x = of.lib.ones(2).as_subclass(Table)
    assert of.lib.mean(x) == of.lib.linalg.inv(x) == x.dtype == "handled"
    assert seen == [of.lib.mean, of.lib.linalg.inv, of.lib.Tensor.dtype.__get__]


def test_a_class_that_switched_it_off_gives_plain_tensors(of: SimpleNamespace) -> None:
    off = type("Off", (of.lib.Tensor,), {"__torch_function__": of.disabled})
    x = of.lib.ones(2).as_subclass(off)
    assert type(x + 1) is of.lib.Tensor
    assert not of.overrides.has_torch_function((x,))


def test_a_block_switches_all_off(of: SimpleNamespace) -> None:
    kind = plain_class(of.lib)
    x = of.lib.ones(2).as_subclass(kind)
    with of.block():
        assert type(x + 1) is of.lib.Tensor
        assert not of.overrides.has_torch_function((x,))
    assert of.overrides.has_torch_function((1, x))
    assert of.overrides.has_torch_function_unary(x)
    assert of.overrides.has_torch_function_variadic(None, x)
    assert not of.overrides.has_torch_function((of.lib.ones(1), 3))
    assert of.overrides.is_tensor_like(x)


def test_a_class_that_handles_operators_alone_is_not_asked(of: SimpleNamespace) -> None:
    class Wrapper(of.lib.Tensor):  # type: ignore[misc, name-defined]
        @staticmethod
        def __new__(cls: Any, inner: Any) -> Any:
            made = of.lib.Tensor._make_wrapper_subclass(cls, inner.size(), dtype=inner.dtype)
            made.inner = inner
            return made

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*[each.inner if isinstance(each, Wrapper) else each for each in args], **(kwargs or {}))

    assert type(Wrapper(of.lib.ones(2)) + 1) is of.lib.Tensor


def test_functions_of_a_program_ask_too(of: SimpleNamespace) -> None:
    log: list[Any] = []
    x = of.lib.ones(2).as_subclass(logging_class(of.lib, log))

    def doubled(value: Any) -> Any:
        if of.overrides.has_torch_function((value,)):
            return of.overrides.handle_torch_function(doubled, (value,), value)
        return value * 2

    assert doubled(x).tolist() == [2.0, 2.0]
    assert log[0] == ("doubled", ["Logged"], 1)


def test_modes_are_asked_first(of: SimpleNamespace) -> None:
    seen: list[str] = []

    class Mode(of.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    x = of.lib.ones(2)
    with Mode():
        y = of.lib.add(x, 1)
        with Mode():
            y.mul(2)
    y.add(1)
    assert seen == ["add", "mul", "mul"]


def test_attributes_and_copies_stay() -> None:
    """PyTorch's `deepcopy` asks for a `new_empty` of the class; here it needs none."""
    kind = Copied
    x = opwright.ones(2).as_subclass(kind)
    for made in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(made) is kind
        assert type(made + 1) is kind


class Copied(opwright.Tensor):
    pass


def test_backward_passes_ask_nobody(of: SimpleNamespace) -> None:
    log: list[Any] = []
    kind = logging_class(of.lib, log)
    x = of.lib.ones(2).as_subclass(kind).requires_grad_()
    loss = (x * x).sum()
    del log[:]
    loss.backward()
    assert [name for name, *_ in log] in ([], ["backward"])
