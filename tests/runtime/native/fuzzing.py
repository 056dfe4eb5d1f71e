"""Fuzzers of functions in C: arrays, numbers and other things of every kind, and calls under sanitizers.

A fuzzer is a program, `python FUZZER CALLS [SEED] [THREADS]`: it builds packages with sanitizers, and starts itself
again in a process that has theirs loaded. A report of a sanitizer ends it.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

sys.path.append(str(Path(__file__).parents[2]))  # the helpers of all tests, which pytest finds without this

FLAGS = "-g -fsanitize=address,undefined -fno-sanitize-recover=all"

SHAPES = [(), (0,), (1,), (2,), (3,), (4,), (3, 2), (2, 0, 3), (2, 2, 3), (20_000,), (1,) * 64, (2, 3, *(1,) * 20)]
DTYPES = [
    "bool", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8", "c8", "c16", "longlong", "ulonglong", "f2",
    ml_dtypes.bfloat16, "longdouble", ">f8", ">i4", "O", "S3", "U2", "M8[s]", "m8[s]", [("x", "f8"), ("y", "i4")],
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


class Pool:
    """Arrays of every kind; those of one shape and dtype are found together."""

    def __init__(self, rng: random.Random, shapes: Sequence[tuple[int, ...]] = SHAPES) -> None:
        self.alike: dict[tuple[Any, Any], list[Any]] = {}
        self.all: list[Any] = []
        for shape in shapes:
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


# -- the program


def run_fuzzer(program: str, make: Callable[[Path], list[str]], names: Callable[[str], Sequence[str]],
               run: Callable[[list[str], int, int, Counter[str]], None]) -> None:  # fmt: skip
    """Run the program of a fuzzer: `make` builds packages in a folder, `run` makes calls of them."""
    numbers = [*map(int, sys.argv[1:]), *(0, 1)[len(sys.argv) - 2 :]]
    if "FUZZED" in os.environ:
        _call(names, run, *numbers)
        return
    with tempfile.TemporaryDirectory() as made:
        found = make(Path(made))
        library = subprocess.run(["cc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
        environment = os.environ | {
            "FUZZED": ",".join(str(Path(made, each)) for each in found),
            "LD_PRELOAD": library.stdout.strip(),
            "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
            "UBSAN_OPTIONS": "print_stacktrace=1",
        }
        sys.exit(subprocess.run([sys.executable, program, *map(str, numbers)], env=environment).returncode)


def _call(names: Callable[[str], Sequence[str]], run: Any, count: int, seed: int, threads: int) -> None:
    """Make the calls, in so many threads. Each kernel must have served some."""
    served: Counter[str] = Counter()
    packages = [Path(each) for each in os.environ["FUZZED"].split(",")]
    sys.path[:0] = [str(each.parent) for each in packages]
    errors: list[BaseException] = []

    def work(place: int) -> None:
        try:
            run([each.name for each in packages], count // threads, seed + place, served)
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=work, args=(place,)) for place in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if errors:
        raise errors[0]
    silent = [name for each in packages for name in names(each.name) if not served[name]]
    assert not silent, f"no call was served of {silent}"
    print(f"{count} calls of {len(served)} kernels, {sum(served.values())} served")
