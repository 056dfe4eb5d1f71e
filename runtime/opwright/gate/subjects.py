"""Subjects of the gate: what is judged, by one interface, whoever made it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["Subject"]


@dataclass(frozen=True)
class Subject:
    """An operator to be judged: one of ours, or one of ours that stands for another framework's."""

    name: str
    operator: Operator
    modules: tuple[str, ...] = ()  # what a program imports first, to have it
    origin: str = "opwright"
    backend: str = "CPU"
    reference: object = None
    seed: int = 0
