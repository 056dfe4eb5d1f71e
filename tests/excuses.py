"""Differences that tests pass over, each with its reason, and which of them a run had need of.

An entry of a table that excuses nothing fails continuous integration: each test says in its report what it used,
`records.py` gathers that, and compares it with what was declared. Where an entry has need of something that not every
run has, its `only` says so.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import yaml

if TYPE_CHECKING:
    import pytest

Only = Literal["", "--slow", "--explore", "some CPUs"]
DIFFERENCES = Path(__file__).parents[1] / "docs" / "differences.yaml"
PROPERTY = "excused"  # of a test's report: what it used

declared: dict[str, Only] = {}  # of every table that was loaded
_used: set[str] = set()  # since the last report


@dataclass(frozen=True)
class Known:
    """Operators (a pattern for their names), a pattern for `(arguments): problem`, and why the difference stays.

    The pattern names the fact that differs, and what it takes of the arguments. Where no text of them says that, `when`
    decides about what a test was given.
    """

    operators: str
    pattern: str
    reason: str
    only: Only = ""
    when: Callable[[Any], bool] | None = None

    def is_about(self, name: str, given: Any) -> bool:
        """Whether a difference of an operator, given this, may be of this kind."""
        return re.fullmatch(self.operators, name) is not None and (self.when is None or self.when(given))

    def covers(self, name: str, text: str, given: Any = None) -> bool:
        """Whether the text of a difference is of this kind."""
        return re.search(self.pattern, text) is not None and self.is_about(name, given)


@functools.cache
def differences() -> list[dict[str, Any]]:
    """What docs/differences.yaml says."""
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    found: list[dict[str, Any]] = yaml.load(DIFFERENCES.read_text(encoding="utf-8"), loader)
    return found


def _known(given: dict[str, str], when: dict[str, Callable[[Any], bool]]) -> Known:
    only = given.get("only", "")
    if only not in get_args(Only):
        raise ValueError(f"`only` is one of {get_args(Only)}, got {only!r}")
    condition = when.get(given.get("when", ""))
    return Known(given["operators"], given.get("seen", ""), given["why"], cast(Only, only), condition)


class Table:
    """The known differences of a kind of test."""

    def __init__(self, name: str, *entries: Known) -> None:
        self.name, self.entries = name, entries
        keys = {self._key(entry): entry.only for entry in entries}
        if len(keys) < len(entries):
            raise ValueError(f"{name} has entries that no run could tell apart")
        declared.update(keys)

    @classmethod
    def of(cls, name: str, **when: Callable[[Any], bool]) -> Table:
        """The table of this name in docs/differences.yaml, which pages show; `when` has its conditions, by name."""
        given = [each for group in differences() if group["table"] == name for each in group["differences"]]
        used = {each["when"] for each in given if "when" in each}
        if not given or used != set(when):
            raise ValueError(f"{name} has conditions {sorted(used)}, and is given {sorted(when)}")
        return cls(name, *(_known(each, when) for each in given))

    def __iter__(self) -> Iterator[Known]:
        return iter(self.entries)

    def is_about(self, name: str, given: Any) -> bool:
        """Whether an operator, given this, may differ."""
        return any(entry.is_about(name, given) for entry in self.entries)

    def covers(self, name: str, text: str, given: Any = None) -> bool:
        """Whether a difference is a known one; the first entry that says so counts as used."""
        return self.why(name, text, given) is not None

    def why(self, name: str, text: str, given: Any = None) -> str | None:
        """The reason of a known difference."""
        found = next((entry for entry in self.entries if entry.covers(name, text, given)), None)
        if found is None:
            return None
        _used.add(self._key(found))
        return found.reason

    def _key(self, entry: Known) -> str:
        condition = "" if entry.when is None else f" ({entry.reason})"
        return f"{self.name}: {entry.operators!r} with {entry.pattern!r}{condition}"


def hand_over(item: pytest.Item) -> None:
    """Write what was used since the last test into the report of this one, and begin anew."""
    item.user_properties += [(PROPERTY, key) for key in sorted(_used)]
    _used.clear()
