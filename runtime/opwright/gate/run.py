"""`gate`: operators judged in processes of their own, in parallel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from opwright.gate.verdicts import Report, Verdict

__all__ = ["Progress", "gate"]


class Progress(NamedTuple):
    """One operator more that has been judged, which of how many, and the findings so far."""

    operator: str
    done: int
    total: int
    findings: int
    verdicts: tuple[Verdict, ...]


def gate(
    targets: Sequence[str],
    *,
    properties: Sequence[str] | None = None,
    jobs: int | None = None,
    timeout: float = 60.0,
    seed: int = 0,
    report: Callable[[Progress], None] | None = None,
    backend: str = "CPU",
    modules: Sequence[str] = (),
) -> Report:
    """Return the verdicts on all operators of the targets: `NAMESPACE`, `NAMESPACE::NAME`, `torch:NAMESPACE`.

    `properties` are names, all by default. `report` is called when an operator is done. `modules` are imported first,
    in each process.
    """
    raise NotImplementedError
