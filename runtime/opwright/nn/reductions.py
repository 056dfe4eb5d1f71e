"""Losses reduced by functions of this package."""

from __future__ import annotations

from typing import Any

import opwright


def reduced(losses: Any, number: int) -> Any:
    """Return the losses, their mean or their sum, by the number of the reduction."""
    if not number:
        return losses
    return opwright.mean(losses) if number == 1 else opwright.sum(losses)
