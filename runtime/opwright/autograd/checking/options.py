"""The options of `gradcheck`: which checks are made, and how far two derivatives may be apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from opwright.autograd.checking.problem import Numbers

__all__ = ["Checks", "Tolerances"]


@dataclass(frozen=True, slots=True)
class Tolerances:
    """The tolerances of a comparison, as in `allclose`: `atol + rtol·|numerical|`."""

    atol: float
    rtol: float

    def differ(self, analytical: Numbers, numerical: Numbers) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Return which entries do not agree; NaN agrees with nothing."""
        return ~np.isclose(analytical, numerical, self.rtol, self.atol)

    def agree(self, analytical: Numbers, numerical: Numbers) -> bool:
        """Whether all entries agree."""
        return not self.differ(analytical, numerical).any()

    def times(self, factor: float) -> Tolerances:
        """Return tolerances for sums, in which so many entries' `atol` may add up."""
        return Tolerances(self.atol * factor, self.rtol)

    def __str__(self) -> str:
        return f"{self.atol:g} + {self.rtol:g}·|numerical|"


@dataclass(frozen=True, slots=True)
class Checks:
    """The checks that are asked for: the options of `gradcheck`."""

    eps: float
    tolerances: Tolerances
    nondet_tol: float
    undefined: bool
    dtypes: bool
    batched: bool
    forward: bool
    reverse: bool
    fast: bool
    batched_forward: bool = False
