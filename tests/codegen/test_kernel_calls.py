"""Mistakes that only a call would show, found when code is generated: each at its place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pipeline import assert_refused, generate, imported

KERNELS = """
import numpy as np

def one(x): ...
def two(x, n): ...
def swapped(n, x): ...
def with_module(xp, x, n): ...
def with_out(x, n, out=None): ...
def with_default(x, n, more=3): ...
def three(x, n, more): ...
def by_name(x, n, *, more): ...
def any_number(*args): ...
"""
ENTRY = "- func: NS::f({arguments}) -> {returns}\n{meta}  dispatch:\n    CPU: {kernel}\n"
LIKE = "  meta: like(x)\n"
CASES = {
    "too few parameters": ({"kernel": "one"}, 4, "kernel-arguments", "f: hostile_kernels.one(x) takes another number"),
    "too many parameters": ({"kernel": "three"}, 4, "kernel-arguments", "than the 2 passed"),
    "by path": ({"kernel": "hostile_kernels:three"}, 4, "kernel-arguments", "than the 2 passed"),
    "another order": ({"kernel": "swapped"}, 4, "kernel-arguments", "takes the arguments in another order"),
    "needs a keyword": ({"kernel": "by_name"}, 4, "kernel-arguments", "needs more by name"),
    "no module": ({"kernel": "no_such_module:f"}, 4, "unknown-module", "there is no module 'no_such_module'"),
    "no function": ({"kernel": "hostile_kernels:tow"}, 4, "unknown-kernel", "has no function 'tow'"),
    "tuple for one result": ({"kernel": "x, x"}, 4, "kernel-count", "f has 1 result, and 2 are given"),
    "three for two results": (
        {"kernel": "x, x, x", "returns": "(Tensor, Tensor)", "meta": "  meta: like(x), like(x)\n"},
        4,
        "kernel-count",
        "f has 2 results, and 3 are given",
    ),
    "one plan for two results": (
        {"kernel": "two", "returns": "(Tensor, Tensor)"},
        2,
        "meta-count",
        "like() gives one plan, and a plan for each",
    ),
    "plans for one result": (
        {"kernel": "two", "meta": '  meta: qr(x, "reduced")\n'},
        2,
        "meta-count",
        "and one plan for each formula is needed",
    ),
    "three plans for two results": (
        {"kernel": "two", "returns": "(Tensor, Tensor)", "meta": "  meta: lu_factors(x, True)\n"},
        2,
        "meta-count",
        "gives 3 plans, and a plan for each of its 2 results is needed",
    ),
    "meta of what returns nothing": (
        {"kernel": "two", "arguments": "Tensor(a!) x, int n", "returns": "()"},
        2,
        "meta-kind",
        "f returns none that it writes",
    ),
    "a ufunc with another number of operands": (
        {"kernel": "xp.tanh(x, n)"},
        4,
        "kernel-arguments",
        "xp.tanh() takes 1 operand, and 2 are given",
    ),
    "numbers for a tensor": (
        {"kernel": "two", "arguments": "Tensor x, int[] n", "meta": "  meta: like(n)\n"},
        2,
        "rule-operands",
        "like() takes tensors one by one, and 'n' is declared int[]",
    ),
    "a function in an expression": (
        {"kernel": "xp.tanh(x) if n == 1 else two(x)"},
        4,
        "kernel-arguments",
        "f: two() takes other arguments than it is given",
    ),
    "a function in an expression, by another name": (
        {"kernel": "xp.tanh(two(x, m=n))"},
        4,
        "kernel-arguments",
        "f: two() takes other arguments than it is given",
    ),
    "view without alias": ({"kernel": "(x)", "meta": "  meta: view\n"}, 2, "meta-view", "and the schema says of none"),
    "view of no argument": (
        {"kernel": "two", "arguments": "Tensor(a) x, int n", "returns": "Tensor(b)", "meta": "  meta: view\n"},
        2,
        "meta-view",
        "f: a result is marked (b), and no argument is",
    ),
    "alias without view": (
        {"kernel": "two", "arguments": "Tensor(a) x, int n", "returns": "Tensor(a)"},
        2,
        "meta-view",
        "'meta' that it is new",
    ),
    "a list as an operand": (
        {"kernel": "two", "arguments": "Tensor[] x, int n", "meta": "  meta: pointwise(x)\n"},
        2,
        "rule-operands",
        "pointwise() takes tensors one by one, and 'x' is a Tensor[]",
    ),
    "a tensor for a list": (
        {"kernel": "two", "meta": "  meta: cat(x, n)\n"},
        2,
        "rule-operands",
        "cat() takes a list of tensors, and 'x' is one",
    ),
}


def entry(parts: dict[str, str]) -> str:
    return ENTRY.format(**{"arguments": "Tensor x, int n", "returns": "Tensor", "meta": LIKE, **parts})


@pytest.mark.parametrize("case", CASES)
def test_refused_when_generated(case: str, tmp_path: Path) -> None:
    parts, line, code, message = CASES[case]
    run = generate(tmp_path, entry(parts), kernels=KERNELS)
    assert_refused(run)
    assert f"ops.yaml:{line}:" in run.stderr and f"[{code}]" in run.stderr and message in run.stderr, run.stderr
    assert "^" in run.stderr


CALLED = """
def scaled(xp, x, n, out=None):
    return xp.multiply(x, n, out=out)

def doubled(x, more=2):
    return x * more
"""


@pytest.mark.parametrize("arguments", ["Tensor x, int n", "Tensor(a!) x, int n"])
def test_functions_in_expressions(arguments: str, tmp_path: Path) -> None:
    """An expression calls functions of kernel modules, which get the array module and `out` where they take them."""
    is_written = "!" in arguments
    name = "writing" if is_written else "calling"
    text = ENTRY.replace("f(", "f_(" if is_written else "f(").format(
        arguments=arguments,
        returns="Tensor(a!)" if is_written else "Tensor",
        meta=LIKE,
        kernel="doubled(xp.tanh(x), more=3) if n == 1 else scaled(x, n)",
    )
    with imported(generate(tmp_path, text.replace("NS", name), kernels=CALLED)) as package:
        x = np.array([1.0, 2.0])
        call = package.ops.f_ if is_written else package.ops.f
        np.testing.assert_array_equal(call(x.copy(), 3), [3.0, 6.0])
        np.testing.assert_array_equal(call(x.copy(), 1), np.tanh(x) * 3)


@pytest.mark.parametrize("kernel", ["two", "with_module", "with_out", "with_default", "any_number"])
def test_accepted(kernel: str, tmp_path: Path) -> None:
    with imported(generate(tmp_path, entry({"kernel": kernel}).replace("NS", f"accepted_{kernel}"), kernels=KERNELS)):
        pass
