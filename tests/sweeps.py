"""How much of what could be tried a run tries: all of it with `--slow`, else a share that keeps the run short.

A share leaves out no operator, property or mode; it leaves out combinations of them.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

is_exhaustive = False  # conftest.py sets it where --slow is given


def count(few: int, all_of_them: int) -> int:
    """How many to try."""
    return all_of_them if is_exhaustive else few


def share(every: Sequence[T], most: int, of: str) -> Sequence[T]:
    """At most so many of the cases, evenly spread; what they are `of` decides where to begin."""
    if is_exhaustive or len(every) <= most:
        return every
    step = -(-len(every) // most)
    return every[zlib.crc32(of.encode()) % step :: step]


def spread(every: Sequence[T], about: int) -> Sequence[T]:
    """About so many of the cases in any run (fewer than twice as many), the first among them; all of few."""
    return every[:: max(1, len(every) // about)]
