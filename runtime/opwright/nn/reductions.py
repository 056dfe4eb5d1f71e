"""Losses reduced by functions of this package."""

from __future__ import annotations

import opwright
from opwright.nn.annotations import A


def reduced(losses: A, number: int) -> A:
    """Return the losses, their mean or their sum, by the number of the reduction."""
    if not number:
        return losses
    return opwright.mean(losses) if number == 1 else opwright.sum(losses)
