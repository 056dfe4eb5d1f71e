"""Calls timed, beside what their costs take at best."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from opwright.autograd.modes import no_grad
from opwright.cost.model import Cost
from opwright.cost.parts import cost
from opwright_gate.bench.machine import Machine, seconds_of
from opwright_gate.cases import Case
from opwright_gate.subjects import Subject

__all__ = ["Timed", "timed"]


@dataclass(frozen=True)
class Timed:
    """The time of a call: seconds, what it costs, and the seconds that this takes at best."""

    operator: str
    arguments: str
    seconds: float
    cost: Cost
    best: float
    bound: str  # what limits it at best: memory or arithmetic

    @property
    def operations(self) -> int:
        """Return all operations, transcendental functions as one each."""
        return self.cost.flops + self.cost.transcendentals

    @property
    def share(self) -> float:
        """Return the share of what is possible: 1 where nothing is left."""
        return self.best / self.seconds


def timed(subject: Subject, case: Case, limits: Machine, budget: float) -> Timed | None:
    """Return the time of a call; None where its cost needs values that fakes have not, or it is refused."""
    call = case.call(subject.operator)
    with warnings.catch_warnings(), no_grad(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = cost(subject.operator.call, *call.arguments)
            seconds = seconds_of(lambda: subject.operator.call(*call.arguments), budget)
        except Exception:
            return None
    itemsize = max([each.values.itemsize for each in case.arrays], default=8)
    best = limits.best(found.flops + found.transcendentals, found.bytes, itemsize)
    bound = "memory" if best <= limits.moving(found.bytes) else "arithmetic"
    shown = ", ".join(str(each) for each in case.arrays)
    return Timed(subject.name, shown, seconds, found, best, bound)
