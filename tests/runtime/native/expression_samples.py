"""Random expressions of every kind, operands at every corner and of every layout, and what NumPy says of them."""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from opwright_codegen.expressions.expression import Expression, read_expression
from opwright_codegen.expressions.numpy_form import numpy_form
from opwright_codegen.formula.emit import Spelling, emit
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.source import Source, Text

sys.path.append(str(Path(__file__).parents[2]))  # programs of this folder may be started by themselves
import seeds

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")
COMPLEX = ("complex64", "complex128")
DTYPES = {"float": FLOATS, "integer": INTEGERS, "bool": ("bool",), "complex": COMPLEX}
# What random expressions are made of: texts over values a, b and truths p, q. Transcendental functions have tests of
# their own; of fmax and fmin NumPy gives either of two zeros, and on some machines it rounds complex products once.
VALUES = {
    "float": "a+b a-b a*b a/b a//b a%b -a abs(a) square(a) reciprocal(a) sign(a) where(p,a,b) "
    "floor(a) ceil(a) trunc(a) round(a) copysign(a,b) sqrt(a) fmod(a,b) maximum(a,b) minimum(a,b) clamp(a,-1.5,b)",
    "integer": "a+b a-b a*b a//b a%b -a abs(a) square(a) sign(a) maximum(a,b) minimum(a,b) fmax(a,b) fmin(a,b) "
    "fmod(a,b) where(p,a,b) a&b a|b a^b ~a a<<b a>>b clamp(a,b,3) relu(a) power(a,3)",
    "complex": "a+b a-b a/b -a reciprocal(a) where(p,a,b)",
    "bool": "a+b a*b maximum(a,b) minimum(a,b) where(p,a,b) a&b a|b a^b ~a abs(a)",
}
TRUTHS = "a<b a<=b a==b a!=b a>b a>=b p&q p|q p^q ~p isnan(a) isinf(a) isfinite(a) signbit(a)"
COMPLEX_TRUTHS = "a==b a!=b p&q p|q p^q ~p"
LEAVES = {
    "complex": "x y z 2 0.5 -3 alpha",
    "float": "x y z 2 0.5 -3 alpha",
    "integer": "x y z 2 7 alpha",
    "bool": "x y z",
}


def random_text(kind: str, depth: int, chance: random.Random, is_truth: bool = False) -> str:
    """A random expression in which every operation has a Tensor among its operands."""
    if depth == 0 and not is_truth:
        return chance.choice(["x", "y", "z"])
    form = chance.choice(((COMPLEX_TRUTHS if kind == "complex" else TRUTHS) if is_truth else VALUES[kind]).split())
    found = ""
    is_first = True
    for position, sign in enumerate(form):
        is_operand = sign in "abpq" and not form[position + 1 : position + 2].isalpha()
        is_operand &= position == 0 or not form[position - 1].isalpha()
        if not is_operand:
            found += sign
        elif sign in "pq":
            found += f"({random_text(kind, depth - 1, chance, True)})" if depth > 0 else "(x == y)"
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
    chance = seeds.generator(13)
    found: dict[str, tuple[str, str, Expression]] = {}
    for kind, count in (("float", 12), ("integer", 10), ("bool", 4), ("complex", 6)):
        for number in range(count):
            text = random_text(kind, 3, chance, is_truth=number % 4 == 3)
            name = f"{kind}_{number}"
            found[name] = (kind, *declared(name, text, DTYPES[kind]))
    return found


EXPRESSIONS = random_expressions()


def corners(dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Values at which something is special, and ordinary ones."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        found = [0, 1, 2, 3, 5, 7, 8, 31, 32, 63, 64, 100, info.max, info.max - 1, info.min, info.min + 1]
        return np.array([each for each in [*found, -1, -2, -7, -100] if info.min <= each <= info.max], dtype)
    if dtype.kind == "c":
        parts = corners(np.dtype(f"f{dtype.itemsize // 2}"))[::2]
        with np.errstate(invalid="ignore"):
            return np.stack(np.meshgrid(parts, parts), -1).view(dtype).ravel()
    info = ml_dtypes.finfo(dtype)
    found = [0.0, 1, 0.5, 1.5, 2.5, 3, 7, 1e3, float(info.max), float(info.tiny), float(info.smallest_subnormal)]
    found += [np.pi, 2.0**30 + 1, np.inf]
    with np.errstate(over="ignore"):
        return np.array([*found, *(-each for each in found), np.nan]).astype(dtype)


def triples(dtype: np.dtype[Any]) -> list[np.ndarray[Any, Any]]:
    """All pairs of corners, and a third operand at random."""
    values = seeds.numpy_generator(9).permutation(corners(dtype))[:100]
    x, y = (each.ravel() for each in np.meshgrid(values, values))
    z = seeds.numpy_generator(5).permutation(np.resize(values, x.size))
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
    if found.dtype.kind == "c":
        parts = np.dtype(f"f{found.dtype.itemsize // 2}")
        assert_same(*(np.ascontiguousarray(each)[..., None].view(parts) for each in (found, expected)), said)
        return
    bits = np.dtype(f"u{found.dtype.itemsize}")
    is_nan = np.isnan(found) & np.isnan(expected)
    is_same = is_nan | (np.ascontiguousarray(found).view(bits) == np.ascontiguousarray(expected).view(bits))
    places = np.argwhere(~is_same)[:3]
    assert is_same.all(), f"{said}: {[(tuple(at), found[tuple(at)], expected[tuple(at)]) for at in places]}"


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
