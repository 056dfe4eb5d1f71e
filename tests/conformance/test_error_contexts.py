"""Errors come alone: none shows the miss of a table, or another step on the way to it, as "during handling of …"."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import sweeps
from declared import functional_of
from declared import operators as declared_operators
from samples import SAMPLES
from sampling import Sample
from sweeps import share

import opwright
from opwright_core.dispatch.call.operator import find_operator
from opwright_core.dispatch.registry.tables import registry

_WRONG: tuple[Any, ...] = (
    "nonsense", None, object(), -7, 1.5, [], [[]], ["x"], np.zeros((2, 3, 5, 7)), np.zeros(11, np.complex64),
    np.array(["x"]), opwright.empty(3, 7, device="meta"),
)  # fmt: skip


def _mistakes(sample: Sample) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Calls with one thing wrong, or, some of them, nothing."""
    args, kwargs = sample.args, sample.kwargs
    yield args, kwargs
    yield args[:-1], kwargs
    yield (*args, 1, 2, 3), kwargs
    yield args, {**kwargs, "no_such_argument": 1}
    for wrong in _WRONG:
        for place in range(len(args)):
            yield (*args[:place], wrong, *args[place + 1 :]), kwargs
        for name in kwargs:
            yield args, {**kwargs, name: wrong}


def _given(value: Any, form: str) -> Any:
    """An argument as plain arrays, Tensors, or Tensors that are recorded."""
    if isinstance(value, list):
        return [_given(each, form) for each in value]
    if not isinstance(value, np.ndarray):
        return value
    if form == "arrays" or value.dtype.kind == "U":
        return value.copy()
    tensor = opwright.from_numpy(value.copy())
    return tensor.requires_grad_() if form == "recorded" and tensor.dtype.kind in "fc" else tensor


def _shown_beside(error: BaseException) -> BaseException | None:
    """The error that a traceback shows before this one, or before what it was deliberately raised from."""
    while error.__cause__ is not None:
        error = error.__cause__
    return None if error.__suppress_context__ else error.__context__


def _called(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], form: str) -> str:
    """What is wrong with the error of a call; '' where all is well."""
    try:
        function(*(_given(each, form) for each in args), **{name: _given(each, form) for name, each in kwargs.items()})
    except Exception as error:
        beside = _shown_beside(error)
        if beside is not None:
            return f"{form} {Sample(args, kwargs)}: {type(error).__name__} {error} shown after {beside!r}"
    return ""


@sweeps.over([name for name in declared_operators() if name in SAMPLES or functional_of(name) in SAMPLES])
@pytest.mark.calls
def test_an_error_is_shown_alone(name: str) -> None:
    operator = find_operator(f"aten::{name}")
    sample = next(iter((SAMPLES.get(name) or SAMPLES[functional_of(name)])()))
    functions = [operator, getattr(opwright.ops.aten, operator.base), getattr(opwright.Tensor, operator.base, operator)]
    ways = list(itertools.product(functions, ("arrays", "recorded")))
    problems = []
    for number, (args, kwargs) in share([*enumerate(_mistakes(sample))], 18, name):
        for function, form in share(ways, 1, f"{name} {number}"):
            with registry.lock:
                operator.forget_table()  # so that the call is a first one
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                problems.append(_called(function, args, kwargs, form))
    assert [problem for problem in problems if problem] == []


@pytest.mark.parametrize("form", ["arrays", "tensors", "recorded"])
@pytest.mark.parametrize("symbol", ["+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", "<", "=="])
def test_an_error_of_a_python_operator_is_shown_alone(symbol: str, form: str) -> None:
    compute = eval(f"lambda x, y: x {symbol} y")
    for other in (np.zeros((3, 5, 7)), np.zeros(11, np.complex64), np.zeros((2, 3), np.float16)):
        with registry.lock:
            for operator in registry.operators.values():
                operator.forget_table()
        assert _called(compute, (opwright.zeros(2, 3), _given(other, form)), {}, form) == ""


@pytest.mark.parametrize("form", ["arrays", "tensors", "recorded"])
@pytest.mark.parametrize("annotation", [np.ndarray, opwright.Tensor])
def test_an_error_of_a_custom_operators_function_is_shown_alone(annotation: type, form: str) -> None:
    def fail(x: Any, n: int = 1) -> Any:
        raise ValueError("as the user wrote it")

    fail.__annotations__ = {"x": annotation, "n": int, "return": annotation}
    with opwright.library.scoped_library("shown_alone", "FRAGMENT"):
        operator = opwright.library.custom_op("shown_alone::fail", fail, mutates_args=())
        for args in ((np.zeros(3),), (np.zeros(3), "x"), ("x",), (np.array(["x"]),)):
            assert _called(operator, args, {}, form) == ""
