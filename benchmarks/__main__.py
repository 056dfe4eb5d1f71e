"""`python -m benchmarks [dispatch|generation] …`: print the table of budgets."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator

from .measure import Figure

PARTS = ("dispatch", "generation")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure the budgets against PyTorch.")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="which tables; all when none is named")
    parts = parser.parse_args().parts or PARTS
    print("| work | ours | peer | measured | budget | |\n| --- | --- | --- | --- | --- | --- |")
    for figure in collect(parts):
        print(row(figure), flush=True)


def collect(parts: tuple[str, ...]) -> Iterator[Figure]:
    for part in parts:
        yield from importlib.import_module(f".{part}", __package__).figures()


def row(figure: Figure) -> str:
    peer = "–" if figure.peer is None else duration(figure.peer)
    if figure.unit == "s":
        measured, budget = duration(figure.value), duration(figure.budget)
    else:
        measured, budget = f"{figure.value:.2f}", f"{figure.budget:g}"
    verdict = "holds" if figure.holds else "misses"
    return f"| {figure.work} | {duration(figure.ours)} | {peer} | {measured} | ≤ {budget} | {verdict} |"


def duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if abs(seconds) >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.0f} ns"


if __name__ == "__main__":
    main()
