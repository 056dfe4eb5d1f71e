"""Expressions in C against the same expressions in NumPy: random ones, every dtype, every corner, arrays of every kind.

Without a C compiler these tests are skipped; continuous integration has one.
"""

from __future__ import annotations

import importlib
import math
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from opwright_codegen.expressions.expression import Expression, read_expression
from opwright_codegen.expressions.functions import FUNCTIONS, Result
from opwright_codegen.expressions.numpy_form import numpy_form
from opwright_codegen.expressions.typed import numbers_of
from opwright_codegen.formula.emit import Spelling, emit
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.source import Source, Text

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")
DTYPES = {"float": FLOATS, "integer": INTEGERS, "bool": ("bool",)}
# What random expressions are made of: texts over values a, b and truths p, q. Transcendental functions have tests of
# their own; of fmax and fmin NumPy gives either of two zeros.
VALUES = {
    "float": "a+b a-b a*b a/b a//b a%b -a abs(a) square(a) reciprocal(a) sign(a) where(p,a,b) "
    "floor(a) ceil(a) trunc(a) round(a) copysign(a,b) sqrt(a) fmod(a,b) maximum(a,b) minimum(a,b) clamp(a,-1.5,b)",
    "integer": "a+b a-b a*b a//b a%b -a abs(a) square(a) sign(a) maximum(a,b) minimum(a,b) fmax(a,b) fmin(a,b) "
    "fmod(a,b) where(p,a,b) a&b a|b a^b ~a a<<b a>>b clamp(a,b,3) relu(a) power(a,3)",
    "bool": "a+b a*b maximum(a,b) minimum(a,b) where(p,a,b) a&b a|b a^b ~a abs(a)",
}
TRUTHS = "a<b a<=b a==b a!=b a>b a>=b p&q p|q p^q ~p isnan(a) isinf(a) isfinite(a) signbit(a)"
LEAVES = {"float": "x y z 2 0.5 -3 alpha", "integer": "x y z 2 7 alpha", "bool": "x y z"}


def random_text(kind: str, depth: int, chance: random.Random, is_truth: bool = False) -> str:
    """A random expression in which every operation has a Tensor among its operands."""
    if depth == 0 and not is_truth:
        return chance.choice(["x", "y", "z"])
    form = chance.choice((TRUTHS if is_truth else VALUES[kind]).split())
    found = ""
    is_first = True
    for position, sign in enumerate(form):
        is_operand = sign in "abpq" and not form[position + 1 : position + 2].isalpha()
        is_operand &= position == 0 or not form[position - 1].isalpha()
        if not is_operand:
            found += sign
        elif sign in "pq":
            found += f"({random_text(kind, depth - 1, chance, True)})" if depth > 0 else "(x < y)"
        elif not is_first and chance.random() < 0.3:
            found += chance.choice(LEAVES[kind].split())
        else:
            found += f"({random_text(kind, max(depth - 1, 0), chance)})"
            is_first = False
    return found


def declared(name: str, text: str, dtypes: tuple[str, ...]) -> tuple[str, Expression]:
    """The entry of an operator, and its expression."""
    used = [each for each in ("x", "y", "z", "alpha") if re.search(rf"\b{each}\b", text)]
    arguments = ", ".join("Scalar alpha" if each == "alpha" else f"Tensor {each}" for each in used)
    schema = FunctionSchema.parse(f"loops::{name}({arguments}) -> Tensor")
    span = Source("<test>", text).whole()
    entry = f'- func: loops::{name}({arguments}) -> Tensor\n  kernel: "{text}"\n  dtypes: {", ".join(dtypes)}\n'
    return entry, read_expression(schema, Text(text, span), dtypes, span)


def random_expressions() -> dict[str, tuple[str, str, Expression]]:
    """Expressions by name: kind, entry, and what the generator makes of it."""
    chance = random.Random(13)
    found: dict[str, tuple[str, str, Expression]] = {}
    for kind, count in (("float", 12), ("integer", 10), ("bool", 4)):
        for number in range(count):
            text = random_text(kind, 3, chance, is_truth=number % 4 == 3)
            name = f"{kind}_{number}"
            found[name] = (kind, *declared(name, text, DTYPES[kind]))
    return found


EXPRESSIONS = random_expressions()
UNARY = [
    name
    for name, found in FUNCTIONS.items()
    if found.count == 1 and found.result is Result.FLOAT and name not in ("floor", "ceil", "trunc", "round")
]
BINARY = ["power", "hypot", "atan2", "logaddexp"]


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The loops of all expressions of this module, built with warnings as errors."""
    folder = tmp_path_factory.mktemp("loops")
    entries = [entry for _, entry, _ in EXPRESSIONS.values()]
    entries += [declared(f"u_{name}", f"{name}(x)", FLOATS[2:])[0] for name in UNARY]
    entries += [declared(f"b_{name}", f"{name}(x, y)", FLOATS[2:])[0] for name in BINARY]
    entries += [declared(f"f_{name}", f"{name}(x, y)", FLOATS)[0] for name in ("fmax", "fmin")]
    entries.append(declared("i_power", "power(x, y)", INTEGERS)[0])
    (folder / "ops.yaml").write_text("".join(entries))
    (folder / "pyproject.toml").write_text('[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "loops_ops"\n')
    command = [sys.executable, "-m", "opwright_codegen.cli", "build"]
    environment = os.environ | {"CFLAGS": "-Wall -Wextra -Werror"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    sys.path.insert(0, str(folder))
    yield importlib.import_module("loops_ops.native")
    sys.path.remove(str(folder))


def corners(dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Values at which something is special, and ordinary ones."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        found = [0, 1, 2, 3, 5, 7, 8, 31, 32, 63, 64, 100, info.max, info.max - 1, info.min, info.min + 1]
        return np.array([each for each in [*found, -1, -2, -7, -100] if info.min <= each <= info.max], dtype)
    info = ml_dtypes.finfo(dtype)
    found = [0.0, 1, 0.5, 1.5, 2.5, 3, 7, 1e3, float(info.max), float(info.tiny), float(info.smallest_subnormal)]
    found += [np.pi, 2.0**30 + 1, np.inf]
    with np.errstate(over="ignore"):
        return np.array([*found, *(-each for each in found), np.nan]).astype(dtype)


def triples(dtype: np.dtype[Any]) -> list[np.ndarray[Any, Any]]:
    """All pairs of corners, and a third operand at random."""
    values = corners(dtype)
    x, y = (each.ravel() for each in np.meshgrid(values, values))
    z = np.random.default_rng(5).permutation(np.resize(values, x.size))
    return [np.concatenate([each, each[::3]]) for each in (x, y, z)]


def in_numpy(expression: Expression, operands: dict[str, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The definition, computed as a plan would have it: half and bfloat16 in float32."""
    compute = np.dtype(np.float32) if dtype.name in FLOATS[:2] else dtype
    given = {
        name: value.astype(compute) if isinstance(value, np.ndarray) else value for name, value in operands.items()
    }
    text = emit(numpy_form(expression), Spelling(xp="np", constant="np."))
    with np.errstate(all="ignore"):
        found = np.asarray(eval(text, {"np": np, **given}))
        return found if expression.is_truth else found.astype(dtype)


def assert_same(found: Any, expected: Any, said: str) -> None:
    """Equal bit for bit, signs of zeros too; any NaN is any other."""
    assert found.dtype == expected.dtype, said
    assert found.shape == expected.shape, said
    if found.dtype.kind in "biu":
        np.testing.assert_array_equal(found, expected, said)
        return
    bits = np.dtype(f"u{found.dtype.itemsize}")
    is_nan = np.isnan(found) & np.isnan(expected)
    is_same = is_nan | (np.ascontiguousarray(found).view(bits) == np.ascontiguousarray(expected).view(bits))
    places = np.argwhere(~is_same)[:3]
    assert is_same.all(), f"{said}: {[(tuple(at), found[tuple(at)], expected[tuple(at)]) for at in places]}"


def called(native: ModuleType, name: str, expression: Expression, operands: dict[str, Any], out: Any) -> Any:
    numbers = [operands["alpha"] for _ in numbers_of(expression.root)]
    return getattr(native, name).fast(*(operands[each] for each in expression.tensors), *numbers, out)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_every_corner_is_numpys(native: ModuleType, name: str) -> None:
    kind, entry, expression = EXPRESSIONS[name]
    for dtype in map(np.dtype, DTYPES[kind]):
        operands: dict[str, Any] = dict(zip("xyz", triples(dtype), strict=True))
        for alpha in (3, 0.75, -2.0) if kind == "float" else (3, 0):
            operands["alpha"] = alpha
            used = {each: operands[each] for each in (*expression.tensors, "alpha")}
            expected = in_numpy(expression, used, dtype)
            out = None if dtype.name not in FLOATS[:2] else np.empty(expected.shape, expected.dtype)
            assert_same(called(native, name, expression, used, out), expected, f"{entry}{dtype} {alpha}")


LAYOUTS = ["dense", "step", "backwards", "repeated", "transposed", "padded", "misaligned", "scalar", "row", "column"]


def laid_out(values: np.ndarray[Any, Any], layout: str) -> np.ndarray[Any, Any]:
    """A matrix of 33 x 70 of such values, or what broadcasts to one."""
    rows, columns = 33, 70
    match layout:
        case "step":
            return np.resize(values, (rows, 3 * columns))[:, ::3]
        case "backwards":
            return np.resize(values, (rows, columns))[::-1, ::-1]
        case "repeated":
            return np.broadcast_to(np.resize(values, (1, columns)), (rows, columns))
        case "transposed":
            return np.resize(values, (columns, rows)).T
        case "padded":
            return np.resize(values, (rows, columns + 5))[:, 2:-3]
        case "misaligned":
            memory = np.zeros(rows * columns * values.itemsize + 1, np.uint8)[1:].view(values.dtype)
            memory[:] = np.resize(values, rows * columns)
            return memory.reshape(rows, columns)
        case "scalar":
            return values[7:8].reshape(())
        case "row":
            return np.resize(values, columns)
        case "column":
            return np.resize(values, (rows, 1))
        case _:
            return np.resize(values, (rows, columns))


@pytest.mark.parametrize("name", [name for name in EXPRESSIONS if name.endswith(("_0", "_3", "_5"))])
def test_every_layout_is_numpys(native: ModuleType, name: str) -> None:
    """Operands and results with gaps, backwards, repeated, misaligned; sizes that blocks divide, and others."""
    kind, entry, expression = EXPRESSIONS[name]
    chance = random.Random(7)
    for dtype in map(np.dtype, DTYPES[kind]):
        values = np.random.default_rng(3).permutation(np.resize(corners(dtype), 977))
        for layout in LAYOUTS:
            operands: dict[str, Any] = {each: laid_out(values, chance.choice(LAYOUTS)) for each in "xyz"}
            operands[expression.tensors[0]] = laid_out(values, layout)
            operands["alpha"] = 2
            used = {each: operands[each] for each in (*expression.tensors, "alpha")}
            expected = in_numpy(expression, used, dtype)
            chosen = chance.choice(["dense", "step", "backwards", "transposed", "padded", "misaligned"])
            out = laid_out(np.zeros(9, expected.dtype), chosen)
            if out.shape != expected.shape:
                out = np.empty(expected.shape, expected.dtype)
            answer = called(native, name, expression, used, out)
            assert answer is out, f"{entry}{layout}"
            assert_same(out, expected, f"{entry}{dtype} {layout} {chosen}")


def test_many_dimensions(native: ModuleType) -> None:
    """As many as NumPy has, none that lies in its neighbour."""
    name = "float_0"
    _, entry, expression = EXPRESSIONS[name]
    whole = np.random.default_rng(1).normal(size=[2] * 14)
    strides = [step for own in whole.strides[::-1] for step in (0, own)] + [8] * 36
    view = np.lib.stride_tricks.as_strided(whole, (1, 2) * 14 + (1,) * 36, strides)
    operands: dict[str, Any] = dict.fromkeys("xyz", view) | {"alpha": 1.5}
    used = {each: operands[each] for each in (*expression.tensors, "alpha")}
    out = np.empty(view.shape)
    assert called(native, name, expression, used, out) is out
    assert_same(out, in_numpy(expression, used, np.dtype("f8")), entry)


def test_results_in_the_place_of_operands(native: ModuleType) -> None:
    """Exactly there, a loop writes; a little beside, or where a result lies in itself, it does not."""
    memory = np.arange(-8.0, 12.0)
    x, shifted = memory[:10], memory[1:11]
    expected = np.exp(x)
    assert native.u_exp.fast(x, shifted) is NotImplemented
    assert native.u_exp.fast(x, np.broadcast_to(np.zeros(1), 10)) is NotImplemented
    assert native.u_exp.fast(x, np.lib.stride_tricks.as_strided(np.zeros(10), (10,), (0,))) is NotImplemented
    assert native.u_exp.fast(x, x[::-1]) is NotImplemented
    assert native.u_exp.fast(x, np.empty(10, "f4")) is NotImplemented
    assert native.u_exp.fast(x, np.empty(9)) is NotImplemented
    assert native.u_exp.fast(x.astype(">f8"), None) is NotImplemented
    assert native.u_exp.fast(x, x) is x
    np.testing.assert_allclose(x, expected, rtol=1e-15)


# -- transcendental functions


def away(found: Any, true: Any, dtype: np.dtype[Any]) -> float:
    """How many units in the last place results are from what is true."""
    true = true.astype(np.longdouble)
    with np.errstate(all="ignore"):
        rounded = true.astype(dtype)
        exponent = np.maximum(np.where(rounded == 0, -9999, np.frexp(true)[1] - 1), np.finfo(dtype).minexp)
        unit = np.ldexp(np.longdouble(1), exponent - np.finfo(dtype).nmant)
        apart = np.abs(found.astype(np.longdouble) - true) / unit
    is_same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
    return float(np.where(is_same, 0, apart).max())


def samples(dtype: np.dtype[Any], seed: int) -> np.ndarray[Any, Any]:
    """Ordinary numbers, numbers of every size, and corners."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2 ** (8 * dtype.itemsize) - 1, 4000, np.uint64).astype(f"u{dtype.itemsize}").view(dtype)
    near = [rng.uniform(-low, low, 4000).astype(dtype) for low in (1, 6, 100)]
    return np.concatenate([bits, *near, corners(dtype), (1 + rng.normal(size=500) / 1000).astype(dtype)])


def defined(name: str, *operands: Any) -> Any:
    """The function in NumPy, or CPython's where NumPy has none."""
    math_functions = {"erf": math.erf, "erfc": math.erfc}
    with np.errstate(all="ignore"):
        if name in math_functions:
            return np.array([math_functions[name](float(x)) for x in operands[0]])
        text = FUNCTIONS[name].array
        return eval(text, {"xp": np, **dict(zip("xy", operands, strict=False))})


@pytest.mark.parametrize("name", [name for name in UNARY if name not in ("lgamma", "reciprocal", "sigmoid")])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_are_within_two_units(native: ModuleType, name: str, dtype: str) -> None:
    """Held against wider numbers, which NumPy has on most machines; else against its own."""
    kind = np.dtype(dtype)
    x = samples(kind, 11)
    is_own = name in ("erf", "erfc")
    with np.errstate(invalid="ignore"):
        wide = x if is_own else x.astype(np.float64 if dtype == "float32" else np.longdouble)
    true = defined(name, wide)
    # (libm has its own limits, of 1 to 3 units)
    assert away(getattr(native, f"u_{name}").fast(x, None), true, kind) <= (3 if FUNCTIONS[name].is_libm else 2)


@pytest.mark.parametrize("name", [*BINARY, "lgamma", "sigmoid", "reciprocal"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_are_near_their_definitions(native: ModuleType, name: str, dtype: str) -> None:
    """Corners are those of the definition, too."""
    kind = np.dtype(dtype)
    x, y = samples(kind, 11), np.random.default_rng(2).permutation(samples(kind, 12))
    operands = (x, y) if name in BINARY else (x,)
    found = getattr(native, f"{'b' if name in BINARY else 'u'}_{name}").fast(*operands, None)
    if name == "lgamma":
        from opwright_kernels.gamma import lgamma

        with np.errstate(all="ignore"):
            expected = lgamma(np, x)
        found, expected = (each[(np.abs(x) > 1e-30) & (np.abs(x) < 1e6)] for each in (found, expected))
        np.testing.assert_allclose(found, expected, rtol=4e-6 if dtype == "float32" else 1e-12, atol=1e-6)
    elif name == "logaddexp":  # where its terms cancel each other, little is left
        step = float(np.finfo(kind).eps)
        np.testing.assert_allclose(found, defined(name, *operands), rtol=4 * step, atol=4 * step)
    else:
        assert away(found, defined(name, *operands), kind) <= 3


def test_negative_exponents_of_integers_are_numpys_error(native: ModuleType) -> None:
    """C refuses them, and the expression in NumPy words the error."""
    x = np.arange(4)
    np.testing.assert_array_equal(native.i_power.fast(x, x, None), x**x)
    assert native.i_power.fast(x, x - 1, None) is NotImplemented
    assert native.i_power.fast(x, -x, np.empty_like(x)) is NotImplemented
    ops = importlib.import_module("loops_ops.ops")
    with pytest.raises(ValueError, match="Integers to negative integer powers are not allowed"):
        ops.i_power(x, x - 1)


@pytest.mark.parametrize("name", ["fmax", "fmin"])
def test_fmax_and_fmin_leave_nan_out(native: ModuleType, name: str) -> None:
    x, y = (corners(np.dtype("f4"))[:, None], corners(np.dtype("f4")))
    np.testing.assert_array_equal(getattr(native, f"f_{name}").fast(x, y, None), getattr(np, name)(x, y))
