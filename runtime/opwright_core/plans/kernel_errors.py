"""The error of a kernel that returned what its operator does not declare."""

from __future__ import annotations

from typing import Any

from opwright_core.errors import ContractError
from opwright_core.hooks import hooks

__all__ = ["shown", "wrong_result"]


def wrong_result(problem: str, what: str = "kernel") -> ContractError:
    """Return the error that the running `what` of a generated operator (its kernel, its rule) does not fit."""
    return hooks.operators().wrong_result(problem, what)


def shown(value: Any) -> str:
    """Return a value in a few words: arrays by dtype and shape."""
    if hasattr(value, "dtype") and hasattr(value, "ndim"):
        return f"an array {value.dtype}{list(value.shape)}"
    text = " ".join(repr(value).split())
    kind = type(value).__name__
    return "None" if value is None else f"{kind} {text if len(text) <= 60 else text[:57] + '...'}"
