"""`python -m benchmarks [PART] …`: print the table of budgets, or those of the parts that are named."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator

from .measure import Figure

PARTS = (
    "breadth", "dispatch", "autograd", "transforms", "custom_ops", "fakes", "tracing", "generation", "native",
    "expressions", "doors",
)  # fmt: skip


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
    amount = size if figure.amounts == "B" else duration
    peer = "–" if figure.peer is None else amount(figure.peer)
    if figure.unit == "s":
        measured = duration(figure.value)
    else:
        measured = f"{figure.value:.3f}" if figure.value < 0.1 else f"{figure.value:.2f}"
    return f"| {figure.work} | {amount(figure.ours)} | {peer} | {measured} | {bound(figure)} | {figure.verdict} |"


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
