"""A program of its own: C shims, built with sanitizers, are called with arrays and numbers of every kind.

`python fuzzed_shims.py CALLS [SEED] [THREADS]`. The kernels are those of the example, and, for the schemas of the
golden case, some that touch whatever they are handed: the outermost elements of each array, all of small ones. They
answer 77 where what they write meets anything else. After each call what is only read has the bytes that it had.
"""

from __future__ import annotations

import importlib
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from native_projects import EXAMPLE, build

CASE = Path(__file__).parents[1] / "codegen" / "cases" / "native" / "ops.yaml"
FLAGS = "-g -fsanitize=address,undefined -fno-sanitize-recover=all"
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


SHAPES = [(), (0,), (1,), (2,), (3,), (4,), (3, 2), (2, 0, 3), (2, 2, 3), (20_000,), (1,) * 64, (2, 3, *(1,) * 20)]
DTYPES = [
    "bool", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8", "c8", "c16", "longlong", "ulonglong", "f2",
    "longdouble", ">f8", ">i4", "O", "S3", "U2", "M8[s]", "m8[s]", [("x", "f8"), ("y", "i4")],
]  # fmt: skip
NUMBERS: list[Any] = [
    None, 0, 1, -1, 2, 300, -300, 2**31, 2**63, -(2**63), 2**64 - 1, 2**70, 10**400, 0.0, 1.5, -2.5, 1e300,
    float("inf"), float("nan"), 1j, complex(1e300, 0), True, False, np.float64(2), np.int8(3), np.bool_(True),
]  # fmt: skip
OTHERS: list[Any] = [
    "", "sum", "a\0b", "\ud800", "ä" * 300, b"bytes", (), [], [1], [1, 2], (3, 4), [0.5, 2], [True, False], [None],
    list(range(16)), list(range(17)), [2**70], np.arange(40), np.arange(40.0), np.zeros(3, bool), np.arange(8)[::2],
    {}, object(), int, memoryview(b"abc"), range(3), [np.int64(1)], [[1]], Ellipsis,
]  # fmt: skip
FITTING: dict[str, list[Any]] = {
    "bool": [True, False], "int": [0, 1, 5, -3, 2**40], "float": [0.5, 2, float("inf")], "text": ["", "sum", "ä" * 300],
    "bool[]": [[], (True, False), [True] * 16, np.zeros(40, bool)],
    "int[]": [[], [1], (3, 4), list(range(16)), list(range(17)), np.arange(40)],
    "float[]": [[], [0.5], (1, 2.5), list(map(float, range(16))), np.arange(40.0)],
    "b": [True, False], "u": [0, 200], "i": [0, -100], "f": [1, -2.5], "c": [1, 0.5, 1j],
}  # fmt: skip


class Pool:
    """Arrays of every kind; those of one shape and dtype are found together."""

    def __init__(self, rng: random.Random) -> None:
        self.alike: dict[tuple[Any, Any], list[Any]] = {}
        self.all: list[Any] = []
        for shape in SHAPES:
            for dtype in DTYPES:
                made = [each for each in self._kinds(shape, np.dtype(dtype), rng) if isinstance(each, np.ndarray)]
                self.all += made
                self.alike.setdefault((shape, np.dtype(dtype)), made)  # (`longlong` is equal to `i8`)
        self.all += [
            np.lib.stride_tricks.as_strided(np.zeros(1, d), (2**38, 2**19), (0, 0)) for d in ("f4", "i8", "b1")
        ]
        self.all += [
            np.lib.stride_tricks.as_strided(np.zeros(9), (2**30, 3, 3), (0, 24, 8)),
            np.empty((2**40, 0, 2**15)),
        ]

    def _kinds(self, shape: tuple[int, ...], dtype: np.dtype[Any], rng: random.Random) -> Iterator[Any]:
        memory = np.zeros(shape, dtype)
        yield from (memory, np.zeros(shape, dtype), np.zeros(shape, dtype), np.asfortranarray(memory))
        frozen = np.zeros(shape, dtype)
        frozen.flags.writeable = False
        yield frozen
        yield np.lib.stride_tricks.as_strided(np.zeros(1, dtype), shape, (0,) * len(shape))
        yield np.zeros(shape, dtype).view(type("Sub", (np.ndarray,), {}))
        if 0 < len(shape) < 20:
            steps = tuple(slice(None, None, rng.choice([1, 2, -1, -2])) for _ in shape)
            wide = np.zeros([2 * size for size in shape], dtype)
            yield wide[steps][tuple(slice(0, size) for size in shape)]
            yield np.zeros(shape, dtype)[(slice(None, None, -1),) * len(shape)]
            shared = np.zeros(memory.size + 2, dtype)
            yield from (shared[at : at + memory.size].reshape(shape) for at in range(3))
        if not dtype.hasobject and memory.size:
            yield np.zeros(memory.nbytes + 1, np.uint8)[1:].view(dtype).reshape(shape)
            if not dtype.fields and len(shape) == 1:
                fields = np.zeros(shape, [("before", "i1"), ("own", dtype)])
                yield fields["own"]


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
    """Call the shims so many times."""
    rng = random.Random(seed)
    pool = Pool(rng)
    kernels = [kernel for package in packages for kernel in kernels_of(package).values()]
    streams = [(kernel, calls(kernel, pool, rng, count)) for kernel in kernels]
    for number in range(count):
        kernel, stream = streams[number % len(streams)]
        given = next(stream)
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
            if not any(
                isinstance(other, np.ndarray) and np.may_share_memory(each, other) for other in (*writes, *outs)
            ):
                assert each.tobytes() == before, (kernel._operator, given)


def main(count: int, seed: int, threads: int) -> None:
    served: Counter[str] = Counter()
    packages = os.environ["FUZZED"].split(",")
    for each in packages:
        sys.path.insert(0, str(Path(each).parent))
    names = [Path(each).name for each in packages]
    errors: list[BaseException] = []

    def work(place: int) -> None:
        try:
            run(names, count // threads, seed + place, served)
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=work, args=(place,)) for place in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if errors:
        raise errors[0]
    silent = [k._operator for name in names for k in kernels_of(name).values() if not served[k._operator]]
    assert not silent, f"no call was served of {silent}"
    print(f"{count} calls of {len(served)} kernels, {sum(served.values())} served")


if __name__ == "__main__":
    numbers = [*map(int, sys.argv[1:]), *(0, 1)[len(sys.argv) - 2 :]]
    if "FUZZED" in os.environ:
        main(*numbers)
    else:
        with tempfile.TemporaryDirectory() as made:
            found = make(Path(made))
            library = subprocess.run(["cc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
            environment = os.environ | {
                "FUZZED": ",".join(str(Path(made, each)) for each in found),
                "LD_PRELOAD": library.stdout.strip(),
                "ASAN_OPTIONS": "detect_leaks=0",
                "UBSAN_OPTIONS": "print_stacktrace=1",
            }
            sys.exit(subprocess.run([sys.executable, __file__, *map(str, numbers)], env=environment).returncode)
