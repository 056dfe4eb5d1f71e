"""A program of its own: loops of expressions, built with sanitizers, are called with arrays and numbers of every kind.

`python fuzzed_loops.py CALLS [SEED] [THREADS]`. The expressions are those of the example, and some of the random
ones of `expression_samples.py`. What a call gives is what it gives for dense copies of its operands, and nothing else
changes: no operand, and nothing between the elements of a result.
"""

from __future__ import annotations

import importlib
import random
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from expression_samples import DTYPES, EXPRESSIONS, declared
from fuzzing import FLAGS, NUMBERS, OTHERS, SHAPES, Pool, run_fuzzer
from native_projects import build

EXAMPLE = Path(__file__).parents[3] / "examples" / "expressions"
BROADCAST = [(33, 70), (1, 70), (33, 1), (70,), (1, 3), (3, 1), (2, 1), (1, 1, 3), (2, 2, 1), (2, 1, 3), (5000, 1)]
Shape = tuple[int, ...]
MOST = 4000  # elements of arrays that are compared
TABLE = re.compile(r"struct loop loops_of_(\w+) = \{\s+(\d+), (\d+), (\d), \d,\s+\{(.*?)\},?\s", re.DOTALL)
CODES = {
    "B8": "?", "I8": "i1", "U8": "u1", "I16": "i2", "U16": "u2", "I32": "i4", "U32": "u4", "I64": "i8", "U64": "u8",
    "F16": "f2", "BF16": "bfloat16", "F32": "f4", "F64": "f8", "C64": "c8", "C128": "c16",
}  # fmt: skip


def make(folder: Path) -> list[str]:
    """Build the projects. Return the names of their packages."""
    shutil.copytree(EXAMPLE, folder / "example", ignore=shutil.ignore_patterns("expression_demo", "__pycache__", ".*"))
    build(folder / "example", CFLAGS=FLAGS, LDFLAGS=FLAGS)
    random_ones = folder / "random"
    random_ones.mkdir()
    entries = [entry for name, (_, entry, _) in EXPRESSIONS.items() if name.endswith(("_1", "_3"))]
    entries.append(declared("powers", "power(x, y) + alpha", DTYPES["integer"])[0])
    (random_ones / "ops.yaml").write_text("".join(entries))
    (random_ones / "pyproject.toml").write_text('[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "loops_ops"\n')
    build(random_ones, CFLAGS=f"{FLAGS} -Wall -Wextra -Werror", LDFLAGS=FLAGS)
    return ["example/expression_demo", "random/loops_ops"]


@dataclass(frozen=True)
class Loop:
    """The loops of an expression: what they are called with, as the table in C says."""

    name: str
    arrays: int
    numbers: int
    is_truth: bool
    dtypes: tuple[np.dtype[Any], ...]
    fast: Any


def loops_of(package: str) -> Iterator[Loop]:
    module = importlib.import_module(f"{package}.native")
    (text,) = (path.read_text() for path in Path(str(module.__file__)).parent.glob("*_loops.c"))
    for name, arrays, numbers, is_truth, table in TABLE.findall(text):
        dtypes = tuple(np.dtype(CODES[code]) for code in re.findall(r"\[LOOP_(\w+)\]", table))
        yield Loop(name, int(arrays), int(numbers), is_truth == "1", dtypes, getattr(module, name).fast)


def names_of(package: str) -> list[str]:
    return [loop.name for loop in loops_of(package)]


# -- calls


class Caller:
    """The calls of one thread, with arrays of its own."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._shapes = [*SHAPES, *BROADCAST]
        self._pool = Pool(self._rng, self._shapes)
        values = np.random.default_rng(seed)
        for array in self._pool.all:
            if array.dtype.kind in "biufc" and array.size < 2**20 and array.flags.writeable:
                array[...] = values.integers(0, 9, array.shape) - 4 * (array.dtype.kind in "ifc")
        self._fitting = {shape: [each for each in self._shapes if _fits(each, shape)] for shape in self._shapes}

    def call(self, loop: Loop) -> bool:
        """Make one call. Return whether C served it."""
        given, rng = self._given(loop), self._rng
        if rng.random() < 0.02:
            given = given[: rng.randrange(len(given) + 1)] + [rng.choice(OTHERS)] * rng.randrange(3)
            return loop.fast(*given) is not NotImplemented
        *operands, out = given
        plain = [each for each in (*operands[: loop.arrays], out) if isinstance(each, np.ndarray)]
        if any(each.size > MOST for each in plain) and rng.random() < 0.95:
            return loop.fast(*given) is not NotImplemented
        copies = [_dense(each) for each in operands]
        kept = Kept(out) if isinstance(out, np.ndarray) and out.size <= MOST else None
        answer = loop.fast(*given)
        if answer is NotImplemented:
            assert kept is None or kept.is_whole(), (loop.name, given)
            return False
        expected = loop.fast(*copies, None)
        assert answer is out or out is None, loop.name
        assert answer.dtype == expected.dtype, (loop.name, given)
        assert answer.shape == expected.shape, (loop.name, given)
        assert _same(answer, expected), (loop.name, given, answer, expected)
        assert kept is None or kept.is_whole_between(), (loop.name, given)
        for each, copy in zip(operands[: loop.arrays], copies, strict=False):
            assert _overlaps(each, out) or _same(each, copy), (loop.name, given)
        return True

    def _given(self, loop: Loop) -> list[Any]:
        """Return arguments: of most calls nearly all fit."""
        rng = self._rng
        shape, dtype = rng.choice(self._shapes), rng.choice(loop.dtypes)
        rate, is_one = rng.choice([0.0, 0.02, 0.1, 0.4]), rng.random() < 0.5
        given = []
        for _ in range(loop.arrays):
            own = shape if is_one else rng.choice(self._fitting[shape])
            is_any = rng.random() < rate
            given.append(
                rng.choice(rng.choice([self._pool.all, NUMBERS, OTHERS])) if is_any else self._array(own, dtype)
            )
        given += [rng.choice(NUMBERS if rng.random() < rate + 0.1 else [0, 1, 3, 2]) for _ in range(loop.numbers)]
        result = np.dtype(bool) if loop.is_truth else dtype
        whole = _broadcast([each.shape for each in given[: loop.arrays] if isinstance(each, np.ndarray)])
        whole = shape if whole is None or rng.random() < 0.1 else whole
        chance = rng.random()
        out = None if chance < 0.3 else self._array(whole, result)
        return [*given, given[0] if chance > 0.9 else out]

    def _array(self, shape: Shape, dtype: np.dtype[Any]) -> Any:
        found = self._pool.alike.get((shape, dtype)) or self._pool.all
        return self._rng.choice(found[: self._rng.choice([3, 99])])


class Kept:
    """The memory of an array before a call, and the array's own elements."""

    def __init__(self, array: Any) -> None:
        self._array = array
        self._base = array
        while isinstance(self._base.base, np.ndarray):
            self._base = self._base.base
        self._own = np.array(array)
        self._before = self._base.tobytes()

    def is_whole(self) -> bool:
        return bool(self._base.tobytes() == self._before)

    def is_whole_between(self) -> bool:
        """Whether nothing but the array's elements changed."""
        now = np.array(self._array)
        self._array[...] = self._own
        is_whole = self.is_whole()
        self._array[...] = now
        return is_whole


def _fits(shape: Shape, whole: Shape) -> bool:
    return _broadcast([shape, whole]) == whole


def _broadcast(shapes: Sequence[Shape]) -> Shape | None:
    """Return the shape that all broadcast to (NumPy's function takes no more than 32 dimensions)."""
    sizes = [set(each) - {1} for each in zip_longest(*(shape[::-1] for shape in shapes), fillvalue=1)]
    if any(len(each) > 1 for each in sizes):
        return None
    return tuple(min(each, default=1) for each in reversed(sizes))


def _dense(each: Any) -> Any:
    return np.array(each, order="C") if isinstance(each, np.ndarray) and each.size <= 10 * MOST else each


def _overlaps(first: Any, second: Any) -> bool:
    return isinstance(second, np.ndarray) and np.may_share_memory(first, second)


def _same(first: Any, second: Any) -> bool:
    """Whether elements are the same; any NaN is any other."""
    if first is second or first.dtype.kind not in "fcV":  # (bfloat16 is one of V)
        return bool(np.array_equal(first, second))
    return bool(((first == second) | ((first != first) & (second != second))).all())


def run(packages: list[str], count: int, seed: int, served: Counter[str]) -> None:
    """Call the loops so many times."""
    caller = Caller(seed)
    loops = [loop for package in packages for loop in loops_of(package)]
    with np.errstate(all="ignore"):
        for number in range(count):
            loop = loops[number % len(loops)]
            served[loop.name] += caller.call(loop)


if __name__ == "__main__":
    run_fuzzer(__file__, make, names_of, run)
