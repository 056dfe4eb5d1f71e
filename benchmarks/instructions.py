"""Instruction budgets: `python -m benchmarks instructions [--write]` counts the most common calls by callgrind.

Callgrind shows every program the same processor and counts repeatably, so that a budget of a call can be 3 % above the
count in `instructions.json`. Counts depend on versions of Python, NumPy and compilers: the file has a table for each
build. With another build each call may take twice the recorded ratio to `np.add`, which shows that a fast path is lost.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .counted_calls import FEW, MANY, NOTHING, PEER
from .measure import Figure

BUDGETS = Path(__file__).with_suffix(".json")
UNIT = "instructions"
MARGIN = 1.03  # of the recorded count, with the same build
MARGIN_OF_OTHERS = 2.0  # of the recorded ratio to the peer, with another build
Counts = dict[str, float]
# Nothing else of the user's environment: its size and the seed of hashes move objects.
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0"} | dict.fromkeys(
    ("OPWRIGHT_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"
)


def figures() -> Iterator[Figure]:
    """Yield the figure of each call; none without valgrind."""
    valgrind = find_valgrind()
    if valgrind is None:
        return
    build, counts = count(valgrind)
    tables: dict[str, Counts] = json.loads(BUDGETS.read_text(encoding="utf-8"))
    if build not in tables:
        print(f"instructions: no budgets of this build ({build}), only ratios to {PEER}", file=sys.stderr)
    yield from compare(counts, tables.get(build), next(iter(tables.values())))


def write() -> None:
    """Write the counts of this build into the table of budgets."""
    valgrind = find_valgrind()
    if valgrind is None:
        return
    build, counts = count(valgrind)
    tables = json.loads(BUDGETS.read_text(encoding="utf-8")) if BUDGETS.exists() else {}
    BUDGETS.write_text(json.dumps(tables | {build: counts}, indent=2) + "\n", encoding="utf-8")


def find_valgrind() -> str | None:
    """Return the path of valgrind; None, after a line that says so, if it is not installed."""
    found = shutil.which("valgrind")
    if found is None:
        print("instructions: not counted, since valgrind is not installed", file=sys.stderr)
    return found


def compare(counts: Counts, own: Counts | None, other: Counts) -> Iterator[Figure]:
    """Yield a figure for each call: against the table of the same build, or against the ratios of another build."""
    peer = counts[PEER]
    for name, ours in counts.items():
        if own is not None:
            value, margin = ours / own.get(name, float("inf")), MARGIN
        else:
            value, margin = ours / peer / (other.get(name, float("inf")) / other[PEER]), MARGIN_OF_OTHERS
        # The peer is not our code, and a call without a recorded count has no budget.
        limit = None if name == PEER or name not in (own or other) else margin
        yield Figure(name, ours, peer, value, limit, amounts=UNIT)


def count(valgrind: str) -> tuple[str, Counts]:
    """Return the build, and the instructions of each call."""
    environment = ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment |= {name: os.environ[name] for name in ("OPWRIGHT_PURE",) if os.environ.get(name)}
    program = [sys.executable, "-m", "benchmarks.counted_calls"]
    subprocess.run(program, env=environment, check=True, stdout=subprocess.DEVNULL)  # writes bytecode
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "counts")
        callgrind = ["--tool=callgrind", "--dump-before=sched_yield", f"--callgrind-out-file={out}", "--quiet"]
        run = subprocess.run([valgrind, *callgrind, *program], env=environment, check=True, stdout=subprocess.PIPE)
        build, names = json.loads(run.stdout)
        dumps = [out.with_name(f"{out.name}.{number + 1}").read_text() for number in range(3 * len(names))]
    version = subprocess.run([valgrind, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return f"{build}, {version.strip().replace('-', ' ')}", per_call(names, [total(dump) for dump in dumps])


def total(dump: str) -> int:
    """Return the instructions of a dump of callgrind."""
    found = re.search(r"^totals: (\d+)$", dump, re.MULTILINE)
    assert found is not None
    return int(found[1])


def per_call(names: list[str], totals: list[int]) -> Counts:
    """Return the instructions of each call less those of an empty one, from three totals for each: the last two are
    of `FEW` and of `MANY` calls."""
    few, many = totals[1::3], totals[2::3]
    each = {name: (b - a) / (MANY - FEW) for name, a, b in zip(names, few, many, strict=True)}
    return {name: round(taken - each[NOTHING]) for name, taken in each.items() if name != NOTHING}
