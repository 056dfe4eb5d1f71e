"""Calls with more positional arguments than an operator takes: the message names the keyword."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import opwright

X = opwright.ones(3)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        # (Python's own text once the function is loaded)
        (lambda: opwright.ops.aten.special_xlogy(X, X, X), "2 positional arguments but 3 were given"),
        (lambda: opwright.gelu(X, "tanh"), r"'approximate' is keyword-only: gelu\(self, approximate='tanh'\)"),
        (lambda: opwright.ops.aten.gelu(X, "tanh"), r"'approximate' is keyword-only: gelu\(self, approximate='tanh'\)"),
        (
            lambda: opwright.ops.aten.gelu.default(X, "tanh"),
            r"'approximate' is keyword-only: gelu\(self, approximate='tanh'\)",
        ),
        (lambda: opwright.gelu(X, 1, 2), "takes 1 positional argument but 3 were given; keyword-only: approximate"),
    ],
)
def test_a_keyword_given_by_position_is_named(call: Callable[[], object], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        call()
