"""The generator on PyTorch's own native_functions.yaml, beside torchgen; whole processes where a user waits for one."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import torchgen
import torchgen.gen

from opwright_codegen.read.files import read

from .measure import ENVIRONMENT, Figure, ratio, seconds_of

PACKAGED = Path(torchgen.__file__).parent / "packaged" / "ATen"
FUNCTIONS, TAGS = PACKAGED / "native" / "native_functions.yaml", PACKAGED / "native" / "tags.yaml"


def figures() -> Iterator[Figure]:
    yield ratio("read, check, autogen PyTorch's 2,584 functions", ours, theirs, 1.0, rounds=1, repeats=9)
    with tempfile.TemporaryDirectory() as folder:
        yield from whole_runs(Path(folder))
    yield imports()


def ours() -> object:
    return read([FUNCTIONS], tags=TAGS)


def theirs() -> object:
    torchgen.gen._GLOBAL_PARSE_NATIVE_YAML_CACHE.clear()
    return torchgen.gen.parse_native_yaml(str(FUNCTIONS), str(TAGS))


def whole_runs(folder: Path) -> Iterator[Figure]:
    generate = [sys.executable, "-m", "opwright_codegen.cli", "generate", str(FUNCTIONS)]
    generate += ["--namespace", "aten", "--tags", str(TAGS), "-o"]
    cold = [timed([*generate, str(folder / f"package{number}")], folder) for number in range(3)]
    again = [timed([*generate, str(folder / "package0")], folder) for _ in range(7)]
    sources = ["-m", "torchgen.gen", "--source-path", str(PACKAGED), "--install-dir"]
    peer = timed([sys.executable, *sources, str(folder / "torchgen")], folder)
    seconds = statistics.median(cold)
    yield Figure("generate everything for them, cold", seconds, peer, seconds / peer, 0.1)
    seconds = statistics.median(again)
    yield Figure("regenerate with nothing changed", seconds, None, seconds, 0.25, "s")


def timed(command: list[str], folder: Path) -> float:
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def imports() -> Figure:
    own, peer = seconds_of("import opwright"), seconds_of("import torch")
    return Figure("import opwright against import torch", own, peer, own / peer, 0.35)
