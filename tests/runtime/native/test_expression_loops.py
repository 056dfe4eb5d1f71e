"""Expressions in C against the same expressions in NumPy: random ones, every dtype, every corner, arrays of every kind.

Without a C compiler these tests are skipped; continuous integration has one.
"""

from __future__ import annotations

import importlib
import keyword
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import seeds
from expression_samples import (
    COMPLEX,
    DTYPES,
    EXPRESSIONS,
    FLOATS,
    INTEGERS,
    LAYOUTS,
    assert_same,
    corners,
    declared,
    in_numpy,
    laid_out,
    triples,
)
from native_projects import build

from opwright_codegen.cli import main
from opwright_codegen.expressions.expression import Expression
from opwright_codegen.expressions.functions import FUNCTIONS, Result
from opwright_codegen.expressions.typed import numbers_of
from opwright_codegen.views.headers import header_files, include_dir

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")

UNARY = [
    name
    for name, found in FUNCTIONS.items()
    if found.count == 1 and found.result is Result.FLOAT and name not in ("floor", "ceil", "trunc", "round")
]
BINARY = ["power", "hypot", "atan2", "logaddexp"]
OF_COMPLEX = [name for name, found in FUNCTIONS.items() if found.count == 1 and "c" in found.kinds]
# What is computed by the formula of NumPy itself, not by libm.
ALGEBRAIC = ("negative", "positive", "reciprocal")


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The loops of all expressions of this module, built with warnings as errors."""
    folder = tmp_path_factory.mktemp("loops")
    entries = [entry for _, entry, _ in EXPRESSIONS.values()]
    entries += [declared(f"u_{name}", f"{name}(x)", FLOATS[2:])[0] for name in UNARY]
    entries += [declared(f"b_{name}", f"{name}(x, y)", FLOATS[2:])[0] for name in BINARY]
    entries += [declared(f"f_{name}", f"{name}(x, y)", FLOATS)[0] for name in ("fmax", "fmin")]
    entries.append(declared("i_power", "power(x, y)", INTEGERS)[0])
    entries.append(declared("i_chosen", "where(y < 0, 0, power(x, y))", INTEGERS)[0])
    entries += [declared(f"c_{name}", f"{name}(x)", COMPLEX)[0] for name in OF_COMPLEX]
    entries += [declared("c_product", "x * y", COMPLEX)[0], declared("c_axpy", "x + alpha * y", COMPLEX)[0]]
    (folder / "ops.yaml").write_text("".join(entries))
    (folder / "pyproject.toml").write_text('[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "loops_ops"\n')
    build(folder, CFLAGS="-Wall -Wextra -Werror")
    sys.path.insert(0, str(folder))
    yield importlib.import_module("loops_ops.native")
    sys.path.remove(str(folder))


def called(native: ModuleType, name: str, expression: Expression, operands: dict[str, Any], out: Any) -> Any:
    numbers = [operands["alpha"] for _ in numbers_of(expression.root)]
    return getattr(native, name).fast(*(operands[each] for each in expression.tensors), *numbers, out)


@pytest.mark.once  # loops of a project's own C
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


@pytest.mark.parametrize("name", [name for name in EXPRESSIONS if name.endswith(("_0", "_3", "_5"))])
def test_every_layout_is_numpys(native: ModuleType, name: str) -> None:
    """Operands and results with gaps, backwards, repeated, misaligned; sizes that blocks divide, and others."""
    kind, entry, expression = EXPRESSIONS[name]
    chance = seeds.generator(7)
    for dtype in map(np.dtype, DTYPES[kind]):
        values = seeds.numpy_generator(3).permutation(np.resize(corners(dtype), 977))
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
    whole = seeds.numpy_generator(1).normal(size=[2] * 14)
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
    rng = seeds.numpy_generator(seed)
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


def widened(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Numbers as float64, or as long doubles where they are float64."""
    with np.errstate(invalid="ignore"):
        return x.astype(np.float64 if x.dtype == np.float32 else np.longdouble)


@pytest.mark.parametrize("name", [name for name in UNARY if name not in ("lgamma", "reciprocal", "sigmoid")])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_are_within_two_units(native: ModuleType, name: str, dtype: str) -> None:
    """Held against wider numbers, which NumPy has on most machines; else against its own."""
    kind = np.dtype(dtype)
    x = samples(kind, 11)
    true = defined(name, x if name in ("erf", "erfc") else widened(x))
    # (libm has its own limits: glibc's manual gives 1 or 2 units for most functions, 4 for cbrt)
    assert away(getattr(native, f"u_{name}").fast(x, None), true, kind) <= (4 if FUNCTIONS[name].is_libm else 2)


@pytest.mark.parametrize("name", [*BINARY, "lgamma", "sigmoid", "reciprocal"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_are_near_their_definitions(native: ModuleType, name: str, dtype: str) -> None:
    """Corners are those of the definition, too. Others are held against wider ones: NumPy's are 4 units off."""
    kind = np.dtype(dtype)
    x, y = samples(kind, 11), seeds.numpy_generator(2).permutation(samples(kind, 12))
    operands = (x, y) if name in BINARY else (x,)
    found = getattr(native, f"{'b' if name in BINARY else 'u'}_{name}").fast(*operands, None)
    if name == "lgamma":
        from opwright_kernels.special_functions.gamma import lgamma

        with np.errstate(all="ignore"):
            expected = lgamma(np, x)
        found, expected = (each[(np.abs(x) > 1e-30) & (np.abs(x) < 1e6)] for each in (found, expected))
        np.testing.assert_allclose(found, expected, rtol=4e-6 if dtype == "float32" else 1e-12, atol=1e-6)
    elif name == "logaddexp":  # where its terms cancel each other, little is left
        step = float(np.finfo(kind).eps)
        np.testing.assert_allclose(found, defined(name, *operands), rtol=4 * step, atol=4 * step)
    else:
        true = defined(name, *map(widened, operands))
        if name == "sigmoid":  # which is 0 where exp(-x) is infinite, though a wider one is not
            with np.errstate(all="ignore"):
                true[np.isinf(np.exp(-x))] = 0
        assert away(found, true, kind) <= 3


def test_negative_exponents_of_integers_are_numpys_error(native: ModuleType) -> None:
    """C refuses them, and the expression in NumPy words the error."""
    x = np.arange(4)
    np.testing.assert_array_equal(native.i_power.fast(x, x, None), x**x)
    assert native.i_power.fast(x, x - 1, None) is NotImplemented
    assert native.i_power.fast(x, -x, np.empty_like(x)) is NotImplemented
    y = np.array([3, 2, -1, 0])
    assert native.i_power.fast(x, y, y) is NotImplemented
    assert y.tolist() == [3, 2, -1, 0]
    assert native.i_chosen.fast(x, y, None) is NotImplemented  # what is not chosen is computed, too
    ops = importlib.import_module("loops_ops.ops")
    with pytest.raises(ValueError, match="Integers to negative integer powers are not allowed"):
        ops.i_power(x, x - 1)


# -- complex numbers


def complex_samples(dtype: str) -> np.ndarray[Any, Any]:
    """Corners of both parts, and ordinary numbers."""
    kind = np.dtype(dtype)
    ordinary = seeds.numpy_generator(5).normal(size=(500, 2), scale=3).astype(parts_of(kind))
    return np.concatenate([corners(kind), ordinary.view(kind).ravel()])


def parts_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(f"f{dtype.itemsize // 2}")


@pytest.mark.parametrize("name", [name for name in OF_COMPLEX if name != "square"])
@pytest.mark.parametrize("dtype", COMPLEX)
def test_functions_of_complex_numbers_are_numpys(native: ModuleType, name: str, dtype: str) -> None:
    """Part by part, at every corner: those of libm nearly, since NumPy may have been built with another."""
    x = complex_samples(dtype)
    expected, found = defined(name, x), getattr(native, f"c_{name}").fast(x, None)
    if name in ALGEBRAIC:
        assert_same(found, expected, name)
    else:
        found, expected = (each.view(parts_of(x.dtype)) for each in (found, expected))
        np.testing.assert_allclose(found, expected, rtol=64 * float(np.finfo(dtype).eps))


@pytest.mark.parametrize("dtype", COMPLEX)
def test_products_of_complex_numbers_are_rounded_part_by_part(native: ModuleType, dtype: str) -> None:
    """NumPy rounds a product and a sum at once where the processor can, which tells nothing of what is infinite."""
    x, y = complex_samples(dtype), seeds.numpy_generator(2).permutation(complex_samples(dtype))
    with np.errstate(all="ignore"):
        expected = np.empty_like(x)
        expected.real, expected.imag = x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real
        assert_same(native.c_product.fast(x, y, None), expected, dtype)
        expected.real, expected.imag = x.real * x.real - x.imag * x.imag, x.real * x.imag + x.imag * x.real
        assert_same(native.c_square.fast(x, None), expected, dtype)
        for alpha in (2j, -1, 0.5, True):
            a = complex(alpha)
            expected.real = x.real + (a.real * y.real - a.imag * y.imag)
            expected.imag = x.imag + (a.real * y.imag + a.imag * y.real)
            assert_same(native.c_axpy.fast(x, y, alpha, None), expected, f"{dtype} {alpha}")
    first, second = x[-500:], x[-500:][::-1].copy()
    error = np.abs(native.c_product.fast(first, second, None) - first * second)
    assert (error <= 4 * np.finfo(dtype).eps * np.abs(first) * np.abs(second)).all()
    assert native.c_axpy.fast(x, y, np.complex128(2j), None) is NotImplemented  # which is not weak
    assert native.u_exp.fast(np.ones(3), 1j) is NotImplemented


@pytest.mark.parametrize("name", ["fmax", "fmin"])
def test_fmax_and_fmin_leave_nan_out(native: ModuleType, name: str) -> None:
    x, y = (corners(np.dtype("f4"))[:, None], corners(np.dtype("f4")))
    np.testing.assert_array_equal(getattr(native, f"f_{name}").fast(x, y, None), getattr(np, name)(x, y))


def test_any_name_of_an_operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No loop is called as what loops are built upon: operators may have all names that stand there."""
    monkeypatch.chdir(tmp_path)
    headers = [path.read_text() for path in header_files()]
    words = {word for text in headers for word in re.findall(r"\b[a-z]\w+\b", text)}
    names = words | {part for word in words for part in (word.partition("_")[2], word.rpartition("_")[0])}
    known = sorted(name for name in names if re.fullmatch(r"[a-z](\w*[a-z0-9])?", name) and not keyword.iskeyword(name))
    entry = "- func: names::{0}(Tensor x) -> Tensor\n  kernel: x + 1\n  dtypes: float32\n"
    Path("ops.yaml").write_text("".join(map(entry.format, known)))
    assert main(["generate", "ops.yaml", "-o", "names_ops"]) == 0
    command = ["cc", "-std=c11", "-fsyntax-only", "-Wall", f"-I{include_dir()}", "names_ops/native/names_loops.c"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
