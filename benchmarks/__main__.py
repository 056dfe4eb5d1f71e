"""`python -m benchmarks [PART] … [--runs N] [--threads N]`: print the table of budgets, or of the parts that are named.

Each part is measured in a process of its own, with one thread, or as many as `--threads` says. With `--runs` it is
measured so often, and a row shows the middle figure. Where the compiled core runs, parts whose calls it serves are
measured in Python alone, too: its figure, budget and verdict are the last columns. Instructions do not depend on the
machine: if the budget of one is missed, the exit status is 1. `instructions --write` records the counts as budgets.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator

import opwright

from . import instructions
from .measure import ENVIRONMENT, Figure

PARTS = (
    "breadth", "dispatch", "autograd", "transforms", "custom_ops", "fakes", "tracing", "generation", "native",
    "expressions", "threads", "torch_binding", "jax_binding", "other_arrays", "cuda",
    "instructions",
)  # fmt: skip
# Those whose calls the compiled core serves.
SERVED = ("breadth", "dispatch", "autograd", "transforms", "custom_ops")
# NumPy and PyTorch may have threads for products of matrices, and not as many.
THREADS = ("OPWRIGHT_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
HEADER = """\
| work | ours | peer | measured | budget | | Python alone | budget | |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure the budgets against PyTorch.")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="which tables; all when none is named")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each figure, of what runs here alone")
    parser.add_argument("--runs", type=int, default=1, help="how often each part is measured")
    parser.add_argument("--threads", type=int, default=1, help="how many threads ours and the peer have, each")
    parser.add_argument(
        "--write", action="store_true", help="record the counts of `instructions` as this build's budgets"
    )
    options = parser.parse_args()
    if options.write:
        instructions.write()
        return
    if options.json:
        for part in options.parts or PARTS:
            for figure in figures_of(part):
                print(json.dumps(dataclasses.asdict(figure)), flush=True)
        return
    threads = dict.fromkeys(THREADS, str(options.threads))
    misses = False
    print(HEADER)
    for part in options.parts or PARTS:
        has_two = part in SERVED and opwright.dispatch.core().name == "fast"
        alone = middle_figures(part, options.runs, threads | {"OPWRIGHT_PURE": "1"}) if has_two else {}
        for work, figure in middle_figures(part, options.runs, threads).items():
            print(row(figure, alone.get(work)), flush=True)
            misses |= figure.amounts == instructions.UNIT and figure.verdict == "misses"
    if misses:
        sys.exit(1)


def figures_of(part: str) -> Iterator[Figure]:
    module = importlib.import_module(f".{part}", __package__)
    yield from module.figures()


def middle_figures(part: str, runs: int, environment: dict[str, str]) -> dict[str, Figure]:
    """Return each figure of a part by its work: of several runs the one in the middle."""
    found: dict[str, list[Figure]] = {}
    for _ in range(runs):
        for figure in measured_apart(part, environment):
            found.setdefault(figure.work, []).append(figure)
    return {work: sorted(figures, key=lambda each: each.value)[len(figures) // 2] for work, figures in found.items()}


def measured_apart(part: str, environment: dict[str, str]) -> Iterator[Figure]:
    """Measure a part in a process of its own."""
    command = [sys.executable, "-m", "benchmarks", part, "--json"]
    whole = ENVIRONMENT | environment | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    run = subprocess.run(command, env=whole, check=True, stdout=subprocess.PIPE, text=True)
    for line in run.stdout.splitlines():
        if line.startswith("{"):
            yield Figure(**json.loads(line))


def row(figure: Figure, alone: Figure | None) -> str:
    amount = {"B": size, instructions.UNIT: lambda count: f"{count:,.0f}"}.get(figure.amounts, duration)
    peer = "–" if figure.peer is None else amount(figure.peer)
    last = " | ".join(measured(alone)) if alone else " | | "
    return f"| {figure.work} | {amount(figure.ours)} | {peer} | {' | '.join(measured(figure))} | {last} |"


def measured(figure: Figure) -> tuple[str, str, str]:
    """What was measured, its budget, and whether that holds."""
    if figure.unit == "s":
        value = duration(figure.value)
    else:
        value = f"{figure.value:.3f}" if figure.value < 0.1 else f"{figure.value:.2f}"
    return value, bound(figure), figure.verdict


def bound(figure: Figure) -> str:
    if figure.budget is None:
        return "–"
    return f"≤ {duration(figure.budget) if figure.unit == 's' else f'{figure.budget:g}'}"


def duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if abs(seconds) >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.0f} ns"


def size(count: float) -> str:
    return f"{count / 1e6:.3g} MB"


if __name__ == "__main__":
    main()
