"""A program over `native4_ops`, or another version's, with the library in C that was built then: loops of expressions,
kernels of each convention, what they refuse. Prints what it found."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import opwright
from opwright.library import opcheck

NAME = sys.argv[1]
sys.path.insert(0, str(Path(__file__).parent / NAME))
ops = importlib.import_module(f"{NAME}_ops").ops
overloads = getattr(opwright.ops, NAME)
library = importlib.import_module(f"{NAME}_ops.native")._LIBRARY
x = np.linspace(-2, 2, 12).reshape(3, 4)
y = x[::-1, ::-1]


def refused(call: Callable[[], object], error: type[Exception], why: str) -> None:
    try:
        call()
    except error as raised:
        assert why in str(raised), raised
    else:
        raise AssertionError(f"not refused: {why}")


def the_library_serves() -> None:
    assert library.problem == "", library.problem
    assert library.function("blend")(x, x, 2, None).tolist() == (3 * x).tolist()
    assert library.function("axpy")(x, x, 2.0, None).tolist() == (3 * x).tolist()
    assert library.function("axpy")(x, x, "text", None) is NotImplemented


def expressions_agree() -> None:
    for dtype in ("float16", "float32", "float64", "int64"):  # half has no loop here
        a, b = np.round(10 * x).astype(dtype), np.round(10 * y).astype(dtype)
        assert np.array_equal(ops.blend(a, b, alpha=3), a + 3 * b) and ops.blend(a, b).dtype == dtype
    assert np.allclose(ops.swish(x, beta=0.5), x / (1 + np.exp(-0.5 * x)), rtol=1e-15)
    assert np.array_equal(ops.within(x, -1.0 * np.ones(4), np.ones(4)), (x >= -1) & (x <= 1))
    large = np.linspace(0, 1, 100_000)
    assert np.array_equal(ops.blend(large, large[::-1], alpha=2), large + 2 * large[::-1])


def kernels_agree() -> None:
    assert np.array_equal(ops.axpy(x, y, alpha=3), 3 * x + y)
    assert np.array_equal(ops.axpy(x.astype("float32"), y), 1 * x.astype("float32") + y)
    assert ops.running_max(np.array([1, 3, 2, 5, 4])).tolist() == [1, 3, 3, 5, 5]
    out = opwright.empty(3, 4, dtype=opwright.float64)
    assert ops.axpy(opwright.tensor(x), opwright.tensor(x), out=out) is out and np.array_equal(out.numpy(), 2 * x)


def writes_reach() -> None:
    base = opwright.arange(6)
    every_second = base[::2]
    assert ops.scale_(every_second, 3) is every_second and base.tolist() == [0, 1, 6, 3, 12, 5] and base._version == 1
    assert ops.scale(base, 2).tolist() == [0, 2, 12, 6, 24, 10]
    blended = opwright.ones(3)
    assert ops.blend_(blended, blended, alpha=2) is blended and blended.tolist() == [3, 3, 3]
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    refused(lambda: ops.scale_(frozen, 2.0), ValueError, "is read-only")


def errors_are_worded() -> None:
    refused(lambda: ops.running_max(x), RuntimeError, f"{NAME}::running_max: running_max takes one dimension")
    refused(lambda: ops.running_max(np.ones(2, "float32")), Exception, "its C kernel takes int64, float64")


def gradients_flow() -> None:
    a, b = (opwright.tensor(each.copy(), requires_grad=True) for each in (x, y))
    for operator in (overloads.blend.default, overloads.axpy.default):
        opcheck(operator, (a, b))
        assert opwright.autograd.gradcheck(operator, (a, b))
    assert opwright.autograd.gradcheck(ops.swish, (a,))


for step in (the_library_serves, expressions_agree, kernels_agree, writes_reach, errors_are_worded, gradients_flow):
    step()
    print(step.__name__)
