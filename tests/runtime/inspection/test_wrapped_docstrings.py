"""Wrappers of operators (`vmap(op)`, `no_grad()(op)`) show the docstring of what they wrap, made on demand."""

from __future__ import annotations

import inspect

import pytest

import opwright

WRAPPERS = {
    "vmap": opwright.vmap,
    "grad": opwright.func.grad,
    "grad_and_value": opwright.func.grad_and_value,
    "jacrev": opwright.func.jacrev,
    "jacfwd": opwright.func.jacfwd,
    "hessian": opwright.func.hessian,
    "functionalize": opwright.func.functionalize,
    "no_grad": opwright.no_grad(),
    "enable_grad": opwright.enable_grad(),
    "inference_mode": opwright.inference_mode(),
    "autocast": opwright.autocast("cpu"),
    "twice": lambda function: opwright.vmap(opwright.func.grad(function)),
}


@pytest.mark.parametrize("name", WRAPPERS)
def test_wrappers_have_the_docstring_of_what_they_wrap(name: str) -> None:
    wrap, aten = WRAPPERS[name], opwright.ops.aten
    for wrapped in (opwright.sin, opwright.Tensor.sin, aten.sin, aten.sin.default, opwright.special.expit):
        made = wrap(wrapped)
        assert made.__doc__ == wrapped.__doc__ and inspect.unwrap(made) is wrapped
        assert inspect.getdoc(made) == inspect.getdoc(wrapped) and inspect.isfunction(made)
        assert made.__name__ == wrapped.__name__
        made.__doc__ = "My own."
        assert (made.__doc__, inspect.getdoc(wrap(made))) == ("My own.", "My own.")


def test_a_wrapped_operator_is_a_method_of_its_class() -> None:
    class Angle(opwright.Tensor):
        sine = opwright.no_grad()(opwright.ops.aten.sin)

    assert opwright.zeros(2).as_subclass(Angle).sine().tolist() == [0.0, 0.0]
