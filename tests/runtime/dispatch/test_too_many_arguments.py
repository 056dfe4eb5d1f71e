"""Calls with more positional arguments than an operator takes: one error, whichever form of call, loaded or not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

import opwright
from opwright.errors import ArgumentError

X = opwright.ones(3)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: opwright.ops.aten.special_xlogy(X, X, X), r"takes 2 positional arguments but 3 were given"),
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
    with pytest.raises(ArgumentError, match=said):
        call()


# Packets first, before the functions of their names are loaded; then the functions, and the packets once more.
EVERY_FORM = """
import opwright, opwright_aten
from opwright.errors import ArgumentError

X = opwright.ones(3)

def said(function):
    try:
        function(*[X] * 40)
    except ArgumentError as error:
        return str(error)
    except TypeError as error:
        return f"TypeError: {error}"

ops, aten = opwright_aten.ops, opwright.ops.aten
names = [name for name in dir(ops) if not name.startswith("__") and hasattr(aten, name)]
before = {name: said(getattr(aten, name)) for name in names}
methods = 0
for name in names:
    forms = {"function": getattr(ops, name), "packet": getattr(aten, name)}
    for where in (opwright, opwright.Tensor):
        method = getattr(where, name, None)
        if getattr(method, "__module__", "").startswith("opwright_aten"):
            forms[f"{where.__name__}.{name}"] = method
            methods += where is opwright.Tensor
    found = {"before": before[name]} | {form: said(called) for form, called in forms.items()}
    if len({*found.values()}) > 1 or not before[name] or before[name].startswith("TypeError"):
        print(name, {form: str(text)[:150] for form, text in found.items()})
print(len(names), methods)
"""


def test_every_form_of_call_says_the_same_before_and_after_it_is_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", EVERY_FORM], capture_output=True, text=True, check=True)
    *wrong, counts = done.stdout.splitlines()
    names, methods = map(int, counts.split())
    assert names > 900 and methods > 400
    assert wrong == []


def test_overloads_say_it_too() -> None:
    wrong, count = [], 0
    for name in dir(opwright.ops.aten):
        packet = getattr(opwright.ops.aten, name)
        for overload in packet.overloads() if hasattr(packet, "overloads") else ():
            count += 1
            with pytest.raises(TypeError) as raised:
                getattr(packet, overload)(*[X] * 40)
            if not isinstance(raised.value, ArgumentError):
                wrong.append(f"{name}.{overload}: {raised.value}")
    assert count > 1500
    assert wrong == []
