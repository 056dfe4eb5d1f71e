"""Operators without formulas: what serves them by default, and the fallbacks to register."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import opwright
from opwright.autograd.fallbacks import autograd_not_implemented_fallback, inplace_or_view_fallback
from opwright.dispatch import fallthrough_kernel
from opwright.errors import AutogradError
from opwright.library import Library

NAMESPACE = "fallback_tests"


@pytest.fixture
def lib() -> Iterator[Library]:
    library = Library(NAMESPACE, "FRAGMENT")
    yield library
    library.destroy()


def op(name: str) -> Any:
    return getattr(getattr(opwright.ops, NAMESPACE), name)


def leaf(*values: float) -> opwright.Tensor:
    return opwright.tensor(list(values or (1.0, 2.0)), requires_grad=True)


def by_numpy(x: opwright.Tensor) -> opwright.Tensor:
    return opwright.from_numpy(x.detach().numpy() * 2)


def doubling(x: opwright.Tensor) -> None:
    x.detach().numpy()[...] *= 2


def test_a_backward_warns_and_finds_no_gradient(lib: Library) -> None:
    lib.define("double(Tensor x) -> Tensor")
    lib.impl("double", by_numpy, "CPU")
    x = leaf()
    y = op("double")(x)
    assert y.requires_grad and y.grad_fn.name() == "WarnNotImplemented"
    with pytest.warns(UserWarning, match=f"{NAMESPACE}::double: a backward pass went through it and found no gradient"):
        y.sum().backward()
    assert x.grad is None
    assert not op("double")(x.detach()).requires_grad
    with opwright.no_grad():
        assert not op("double")(x).requires_grad


def test_integers_require_no_grad(lib: Library) -> None:
    lib.define("sizes(Tensor x) -> (Tensor, Tensor[])")
    lib.impl("sizes", lambda x: (opwright.tensor([x.numel()]), [by_numpy(x), opwright.tensor([1])]), "CPU")
    count, (made, one) = op("sizes")(leaf())
    assert (count.requires_grad, made.requires_grad, one.requires_grad) == (False, True, False)


def test_operators_that_the_kernel_calls_are_recorded(lib: Library) -> None:
    lib.define("double(Tensor x) -> Tensor")
    lib.impl("double", lambda x: x * 2, "CPU")
    x = leaf()
    with pytest.warns(UserWarning, match="through the operators that its kernel called"):
        op("double")(x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 2.0]


def test_a_write_to_a_leaf_is_an_error_before_it_happens(lib: Library) -> None:
    lib.define("double_(Tensor(a!) x) -> ()")
    lib.impl("double_", doubling, "CPU")
    x = leaf()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        op("double_")(x)
    assert x.tolist() == [1.0, 2.0]
    with opwright.no_grad():
        op("double_")(x)
    assert (x.tolist(), x._version) == ([2.0, 4.0], 1)


def test_a_write_to_what_was_recorded_is_an_error_in_the_backward_pass(lib: Library) -> None:
    lib.define("double_(Tensor(a!) x) -> ()")
    lib.impl("double_", doubling, "CPU")
    y = leaf() * 3
    op("double_")(y)
    with pytest.raises(AutogradError, match="no autograd formula was registered"):
        y.sum().backward()
    y = leaf() * 3
    z = y * y
    op("double_")(y[0])
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        z.sum().backward()


def test_a_fallthrough_leaves_results_without_history(lib: Library) -> None:
    lib.define("double(Tensor x) -> Tensor")
    lib.impl("double", by_numpy, "CPU")
    lib.impl("double", fallthrough_kernel, "Autograd")
    assert not op("double")(leaf()).requires_grad


def test_the_fallback_that_raises(lib: Library) -> None:
    lib.define("pair(Tensor x, Tensor? y) -> (Tensor, Tensor[])")
    lib.impl("pair", lambda x, y=None: (by_numpy(x), [x * 2, opwright.tensor([1])]), "CPU")
    lib.impl("pair", autograd_not_implemented_fallback, "Autograd")
    first, (second, third) = op("pair")(leaf(), None)
    assert [each.requires_grad for each in (first, second, third)] == [True, True, False]
    assert first.grad_fn.name() == second.grad_fn.name() == "NotImplemented"
    for result in (first, second):
        with pytest.raises(AutogradError, match=f"{NAMESPACE}::pair.*register_autograd"):
            result.sum().backward()
    assert not op("pair")(opwright.ones(2), None)[0].requires_grad


def test_the_fallback_that_raises_for_writes(lib: Library) -> None:
    lib.define("double_(Tensor(a!) x) -> Tensor(a!)")
    lib.impl("double_", lambda x: (doubling(x), x)[1], "CPU")
    lib.impl("double_", autograd_not_implemented_fallback, "Autograd")
    with pytest.raises(RuntimeError, match="a leaf Variable"):
        op("double_")(leaf())
    y = leaf() * 1
    assert op("double_")(y) is y
    assert y.grad_fn.name() == "NotImplemented"
    base = opwright.ones(2, 2) * leaf()
    op("double_")(base[0])
    with pytest.raises(AutogradError, match="no autograd formula"):
        base.sum().backward()


def test_out_arguments_refuse_gradients(lib: Library) -> None:
    lib.define("double(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
    lib.impl("double", lambda x, *, out: out.copy_(x * 2), "CPU")
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        op("double")(leaf(), out=opwright.empty(2))


@pytest.mark.parametrize("is_registered", [False, True])
def test_writes_count(is_registered: bool, lib: Library) -> None:
    lib.define("double_(Tensor(a!) x, Tensor(b!)[] others, Tensor y, Tensor(c!)? z=None) -> ()")
    lib.impl("double_", lambda x, others, y, z=None: doubling(x), "CPU")
    if is_registered:
        lib.impl("double_", inplace_or_view_fallback, "ADInplaceOrView")
    x, first, second, y = (opwright.ones(2) for _ in range(4))
    op("double_")(x, [first, second], y)
    assert [each._version for each in (x, first, second, y)] == [1, 1, 1, 0]
    op("double_")(x[0], [first, first], y, second)
    assert [each._version for each in (x, first, second, y)] == [2, 3, 2, 0]


def test_views_are_marked(lib: Library) -> None:
    lib.define("first(Tensor(a) x) -> Tensor(a)")
    lib.define("both(Tensor(a) x) -> Tensor(a)[]")
    lib.impl("first", lambda x: opwright.from_numpy(x.detach().numpy()[0:1]), "CPU")
    lib.impl("both", lambda x: [x[0], x[1]], "CPU")
    for name in ("first", "both"):
        lib.impl(name, inplace_or_view_fallback, "ADInplaceOrView")
    x = opwright.ones(2)
    y = op("first")(x)
    y.add_(1)
    assert y._base is x and x._version == 1 and x.tolist() == [2.0, 1.0]
    with opwright.no_grad():
        inside = op("first")(x)
    x.mul_(leaf())
    with pytest.raises(RuntimeError, match="no_grad"):
        inside.add_(1)
    with pytest.raises(RuntimeError, match="multiple views"):
        op("both")(opwright.ones(2) * leaf())[0].mul_(leaf()[0])


def test_fallbacks_of_a_key(lib: Library) -> None:
    lib.define("double(Tensor x) -> Tensor")
    lib.impl("double", by_numpy, "CPU")
    every = Library("_", "IMPL")
    every.fallback(autograd_not_implemented_fallback, "AutogradCPU")
    try:
        assert op("double")(leaf()).grad_fn.name() == "NotImplemented"
    finally:
        every.destroy()
    assert op("double")(leaf()).grad_fn.name() == "WarnNotImplemented"


def test_composites_need_nothing(lib: Library) -> None:
    lib.define("double_(Tensor(a!) x) -> Tensor(a!)")
    lib.impl("double_", lambda x: x.mul_(2), "CompositeImplicitAutograd")
    x = leaf()
    y = x * 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        op("double_")(y).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 2.0] and y._version == 1
