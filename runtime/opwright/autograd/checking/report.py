"""The report of a failed comparison: which output, which input, the entries side by side, and the likely cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from opwright.autograd.checking.causes import likely_cause
from opwright.autograd.checking.options import Tolerances
from opwright.autograd.checking.problem import Input, Numbers, Problem, Table
from opwright.errors import GradcheckError
from opwright_core.arrays.layouts import Shape

__all__ = ["Comparison"]

SHOWN = 5


@dataclass(frozen=True, slots=True)
class Comparison:
    """One output and one input of a function, whose Jacobians are compared."""

    problem: Problem
    given: Input
    place: int  # of the output among those that are differentiable
    output: Shape
    mode: str  # reverse or forward
    tolerances: Tolerances

    @property
    def names(self) -> str:
        """Return the output and the input, in words."""
        return f"{self.problem.output_label(self.place)} with respect to {self.given.label} of {self.problem.name}"

    def check(self, analytical: Table, numerical: Table) -> None:
        """Raise GradcheckError where they differ."""
        if not self.tolerances.agree(analytical, numerical):
            raise GradcheckError(self.mismatch(analytical, numerical))

    def mismatch(self, analytical: Table, numerical: Table) -> str:
        """Say which entries differ, the worst first, of how many, and why that may be."""
        wrong = self.tolerances.differ(analytical, numerical)
        shape = self.given.tensor.shape
        lines = [
            f"Jacobian mismatch for {self.names}: {int(wrong.sum())} of {wrong.size} entries of the {self.mode}-mode "
            f"Jacobian differ from finite differences by more than {self.tolerances}",
            *_entries(analytical, numerical, wrong, shape, self.output),
        ]
        cause = likely_cause(analytical, numerical, shape, self.tolerances)
        if not self.problem.is_repeatable():
            cause = f"{self.problem.name} is not deterministic: two calls on the same inputs gave different outputs"
        if cause is not None:
            lines.append(f"  likely cause: {cause}")
        return "\n".join(lines)


def _entries(analytical: Table, numerical: Table, wrong: Numbers, given: Shape, output: Shape) -> list[str]:
    """Return a table of the entries that differ most."""
    with np.errstate(invalid="ignore"):
        apart = np.where(wrong, np.abs(analytical - numerical), -1.0)
    apart[wrong & np.isnan(apart)] = np.inf
    order = np.argsort(-apart, axis=None, kind="stable")[: min(SHOWN, int(wrong.sum()))]
    rows = [("input element", "output element", "numerical", "analytical", "difference")]
    for index, element, part in zip(*np.unravel_index(order, apart.shape), strict=True):
        suffix = "" if apart.shape[2] == 1 else " imag" if part else " real"
        rows.append((
            _place(index, given), _place(element, output) + suffix, _number(numerical[index, element, part]),
            _number(analytical[index, element, part]), _number(apart[index, element, part]),
        ))  # fmt: skip
    return _columns(rows)


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["    " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def _place(index: int, shape: Shape) -> str:
    return str([int(each) for each in np.unravel_index(index, shape)])


def _number(value: complex) -> str:
    if isinstance(value, complex):
        return f"{value.real:.6g}{value.imag:+.6g}j"
    return f"{value:.6g}"
