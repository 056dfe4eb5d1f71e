"""`requires_grad` of the functions that make tensors, as PyTorch's take it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import opwright
from opwright.creation.factories import FACTORIES, METHODS

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from both import check, message  # noqa: E402

pytestmark = pytest.mark.oracle

ARGUMENTS: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "arange": lambda t: (3.0,),
    "empty_permuted": lambda t: ((2, 3), (1, 0)),
    "empty_strided": lambda t: ((2, 3), (3, 1)),
    "full": lambda t: ((2,), 1.0),
    "linspace": lambda t: (0, 1, 3),
    "logspace": lambda t: (0, 1, 3),
    "normal": lambda t: (0.0, 1.0, (3,)),
    "randint": lambda t: (3, (2,)),
    "tril_indices": lambda t: (2, 2),
    "triu_indices": lambda t: (2, 2),
    "full_like": lambda t: (t.ones(2), 3.0),
    "randint_like": lambda t: (t.ones(2), 3),
    "new_full": lambda t: ((2,), 1.0),
    "new_empty_strided": lambda t: ((2, 3), (3, 1)),
}

# They make no integers, or nothing else.
REFUSING = ("tri", "rand", "normal", "bartlett", "blackman", "hamming", "hann", "kaiser")


def arguments(name: str, t: Any) -> tuple[Any, ...]:
    if name in ARGUMENTS:
        return ARGUMENTS[name](t)
    return (t.ones(2),) if name.endswith("_like") else (3,)


def made(name: str, t: Any, **options: Any) -> Any:
    function = getattr(t.ones(2), name) if name in METHODS else getattr(t, name)
    return function(*arguments(name, t), **options)


@pytest.mark.parametrize("name", FACTORIES + METHODS)
def test_requires_grad(name: str) -> None:
    for wanted in (True, False, None):

        def programme(t: Any, wanted: Any = wanted) -> Any:
            found = made(name, t, requires_grad=wanted)
            return found.requires_grad, found.is_leaf, found.grad_fn, tuple(found.shape), found._version

        check(programme)
    assert check(lambda t: made(name, t, requires_grad="yes")) == ("raises", "TypeError")


@pytest.mark.parametrize("name", [name for name in FACTORIES + METHODS if not name.startswith(REFUSING)])
def test_integers_require_none(name: str) -> None:
    text = message(lambda t: made(name, t, dtype=t.int64, requires_grad=True))
    assert text == "Only Tensors of floating point and complex dtype can require gradients"


def test_in_modes() -> None:
    def programme(t: Any) -> Any:
        with t.no_grad():
            first = t.zeros(2, requires_grad=True)
        with t.inference_mode():
            second = t.zeros(2, requires_grad=True)
            inside = second.requires_grad
        return first.requires_grad, inside, second.is_inference(), t.zeros(2, 3, requires_grad=True).shape == (2, 3)

    check(programme)


def test_what_is_made_can_be_differentiated() -> None:
    x = opwright.ones(2, requires_grad=True)
    (x * 3).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [3.0, 3.0]


def test_plain_arrays_require_none() -> None:
    import numpy as np

    with pytest.raises(TypeError, match="a plain array cannot require grad"):
        opwright.zeros_like(np.ones(2), requires_grad=True)
