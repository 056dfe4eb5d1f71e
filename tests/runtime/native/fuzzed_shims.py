"""A program of its own: C shims, built with sanitizers, are called with arrays and numbers of every kind.

`python fuzzed_shims.py CALLS [SEED] [THREADS]`. The kernels are those of the example, and, for the schemas of
the case `native`, some that touch whatever they are handed: the outermost elements of each array, all of small ones.
They answer 77 where what they write meets anything else. After each call what is only read has the bytes that it had.
"""

from __future__ import annotations

import importlib
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from fuzzing import FLAGS, NUMBERS, OTHERS, SHAPES, Pool, run_fuzzer
from native_projects import EXAMPLE, build

CASE = Path(__file__).parents[2] / "codegen" / "cases" / "native" / "ops.yaml"
GEOMETRY = {"elementwise": 0, "contiguous": 2, "strided": 3}
TOUCH = """
#include <string.h>
#include "demo_kernels.h"

typedef struct { uintptr_t from, to; int is_written; } extent;

static extent touched(const void *data, int64_t item, int ndim, const int64_t *shape, const int64_t *strides,
                      int writes)
{
    extent found = {(uintptr_t)data, (uintptr_t)data, writes};
    int64_t count = 1, index[64] = {0}, steps[64], dense = 1;
    if (!data)
        return found;
    for (int i = ndim - 1; i >= 0; i--) {
        steps[i] = (strides ? strides[i] : dense) * item;
        dense *= strides ? 1 : shape[i];
    }
    for (int i = 0; i < ndim; i++) {
        if (!shape[i])
            return found;
        if (__builtin_mul_overflow(count, shape[i], &count))
            count = INT64_MAX;
    }
    for (int i = 0; i < ndim; i++)
        if (steps[i] < 0)
            found.from += (uintptr_t)((shape[i] - 1) * steps[i]);
        else
            found.to += (uintptr_t)((shape[i] - 1) * steps[i]);
    volatile char seen = *(const char *)found.from;
    seen = ((const char *)found.to)[item - 1];
    (void)seen;
    found.to += (uintptr_t)item;
    for (char *at = (char *)data; count <= 4096;) {
        if (writes)
            memset(at, 1, (size_t)item);
        seen = at[item - 1];
        int dim = ndim - 1;
        for (; dim >= 0; dim--) {
            at += steps[dim];
            if (++index[dim] < shape[dim])
                break;
            at -= shape[dim] * steps[dim];
            index[dim] = 0;
        }
        if (dim < 0)
            break;
    }
    return found;
}

static int checked(const extent *all, int count)
{
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            if (i != j && all[i].is_written && all[i].from < all[j].to && all[j].from < all[i].to)
                return 77;
    return 0;
}
"""


# -- the projects


def touching(header: str, kernels: dict[str, Any]) -> Iterator[str]:
    """Yield C for the prototypes of a header: functions that touch what they are handed."""
    yield TOUCH
    for name, text in re.findall(r"^int (\w+)\(([^;]*)\);", header, re.MULTILINE):
        kernel = kernels.get(name.rpartition("_")[0])
        if kernel is None:
            continue
        parameters = [" ".join(each.split()) for each in text.split(",")]
        names = iter([re.split(r"[ *]", each)[-1] for each in parameters])
        lines = ["extent all_[16]; int met = 0;"]
        if kernel._convention == "elementwise":
            next(names)
        results = [("array", False, True)] * len(getattr(kernel, "_results", ()))
        for sort, is_list, writes in [(a.sort, a.is_list, a.is_written) for a in kernel._arguments] + results:
            own = next(names)
            if sort == "array":
                told = [next(names) for _ in range(GEOMETRY[kernel._convention])] or ["1", "&n"]
                told += ["0"] * (3 - len(told))
                size = f"sizeof(*{own})"
                lines.append(f"all_[met++] = touched({own}, (int64_t){size}, {', '.join(told)}, {int(writes)});")
            elif is_list:
                count = next(names)
                lines.append(f"all_[met++] = touched({own}, (int64_t)sizeof(*{own}), 1, &{count}, 0, 0);")
            else:
                lines.append(f"volatile char seen_{own} = *(const char *){'' if sort == 'text' else '&'}{own};")
                lines.append(f"(void)seen_{own};")
        body = "\n    ".join([*lines, "return checked(all_, met);"])
        yield f"int {name}({text})\n{{\n    {body}\n}}\n"


def make(folder: Path) -> list[str]:
    """Build the projects. Return the names of their packages."""
    shutil.copytree(EXAMPLE, folder / "example", ignore=shutil.ignore_patterns("native_demo", "__pycache__", ".*"))
    build(folder / "example", CFLAGS=FLAGS, LDFLAGS=FLAGS)
    touch = folder / "touch"
    touch.mkdir()
    (touch / "ops.yaml").write_text(CASE.read_text())
    (touch / "pyproject.toml").write_text(
        '[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "touch_ops"\nnative = ["touch.c"]\n'
    )
    subprocess.run([sys.executable, "-m", "opwright_codegen.cli", "generate"], cwd=touch, check=True)
    sys.path.insert(0, str(touch))
    header = (touch / "touch_ops" / "native" / "demo_kernels.h").read_text()
    (touch / "touch.c").write_text("\n".join(touching(header, kernels_of("touch_ops"))))
    build(touch, CFLAGS=f"{FLAGS} -Wall -Wextra -Werror", LDFLAGS=FLAGS)
    return ["example/native_demo", "touch/touch_ops"]


def kernels_of(package: str) -> dict[str, Any]:
    module = importlib.import_module(f"{package}.native")
    return {name: value for name, value in vars(module).items() if hasattr(value, "fast")}


# -- what they are called with


FITTING: dict[str, list[Any]] = {
    "bool": [True, False], "int": [0, 1, 5, -3, 2**40], "float": [0.5, 2, float("inf")], "text": ["", "sum", "ä" * 300],
    "bool[]": [[], (True, False), [True] * 16, np.zeros(40, bool)],
    "int[]": [[], [1], (3, 4), list(range(16)), list(range(17)), np.arange(40)],
    "float[]": [[], [0.5], (1, 2.5), list(map(float, range(16))), np.arange(40.0)],
    "b": [True, False], "u": [0, 200], "i": [0, -100], "f": [1, -2.5], "c": [1, 0.5, 1j],
}  # fmt: skip


def calls(kernel: Any, pool: Pool, rng: random.Random, count: int) -> Iterator[list[Any]]:
    """Yield arguments: of most calls nearly all fit."""
    for _ in range(count):
        shape, dtype = rng.choice(SHAPES), rng.choice(kernel._dtypes)
        own = shape if rng.random() < 0.5 else shape[:1]  # (of what is shorter than the operands, as results of rows)
        rate = rng.choice([0.0, 0.02, 0.1, 0.4])
        given = [_value(argument, pool, rng, shape, own, dtype, rate) for argument in kernel._arguments]
        for known in getattr(kernel, "_results", ()):
            given.append(None if rng.random() < 0.3 else _array(pool, rng, own, known or dtype))
        if rng.random() < 0.02:
            given = given[: rng.randrange(len(given) + 1)] + [rng.choice(OTHERS)] * rng.randrange(3)
        yield given


def _array(pool: Pool, rng: random.Random, shape: Any, dtype: Any) -> Any:
    found = pool.alike.get((shape, dtype)) or pool.all
    return rng.choice(found[: rng.choice([3, 99])])


def _value(argument: Any, pool: Pool, rng: random.Random, shape: Any, own: Any, dtype: Any, rate: float) -> Any:
    if rng.random() < rate:
        return rng.choice(rng.choice([pool.all, NUMBERS, OTHERS]))
    if argument.is_optional and rng.random() < 0.3:
        return None
    if argument.is_array:
        is_other = argument.dtype is not None or argument.is_optional
        return _array(pool, rng, own if is_other else shape, argument.dtype or dtype)
    if argument.sort == "scalar":
        return rng.choice(NUMBERS if rng.random() < 0.1 else FITTING[dtype.kind])
    return rng.choice(FITTING[argument.sort + "[]" * argument.is_list])


def run(packages: list[str], count: int, seed: int, served: Counter[str]) -> None:
    """Call the shims so many times, and those that served nothing some more: few calls fit all their arguments."""
    rng = random.Random(seed)
    pool = Pool(rng)
    kernels = [kernel for package in packages for kernel in kernels_of(package).values()]
    streams = [(kernel, calls(kernel, pool, rng, count)) for kernel in kernels]
    for number in range(count):
        kernel, stream = streams[number % len(streams)]
        _try(kernel, next(stream), served)
    for kernel, stream in streams:
        while not served[kernel._operator] and (given := next(stream, None)) is not None:
            _try(kernel, given, served)


def _try(kernel: Any, given: list[Any], served: Counter[str]) -> None:
    """Make a call, and look whether what is only read has the bytes that it had."""
    reads = [
        (each, each.tobytes())
        for argument, each in zip(kernel._arguments, given, strict=False)
        if type(each) is np.ndarray and each.size < 100 and not each.dtype.hasobject and not argument.is_written
    ]
    writes = [each for argument, each in zip(kernel._arguments, given, strict=False) if argument.is_written]
    outs = given[len(kernel._arguments) :]
    try:
        answer = kernel.fast(*given)
    except RuntimeError as error:
        assert "status 77" not in str(error), (kernel._operator, given)
    else:
        served[kernel._operator] += answer is not NotImplemented
        if answer is NotImplemented:
            writes = outs = []
    for each, before in reads:
        if not any(isinstance(other, np.ndarray) and np.may_share_memory(each, other) for other in (*writes, *outs)):
            assert each.tobytes() == before, (kernel._operator, given)


def operators_of(package: str) -> list[str]:
    return [kernel._operator for kernel in kernels_of(package).values()]


if __name__ == "__main__":
    run_fuzzer(__file__, make, operators_of, run)
