"""Verdicts on operators, and the report of a run: what the gate hands to who writes it down."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, get_args

__all__ = ["FORMAT", "Answer", "Report", "Verdict"]

Answer = Literal["held", "broken", "undecided"]
FORMAT: Final = 1  # of the report in JSON; higher where a reader of before would misread it


@dataclass(frozen=True)
class Verdict:
    """The answer to one question about one operator.

    `cause` is the short, stable name of what is wrong (`undeclared-write`), `why` one sentence for people, `call` the
    arguments in words, `program` the smallest failing call as a program that runs alone. `dtypes` are those of the
    drawn calls that were asked.
    """

    operator: str
    property: str
    verdict: Answer
    backend: str = "CPU"
    cause: str = ""
    why: str = ""
    call: str = ""
    program: str = ""
    seconds: float = 0.0
    samples: int = 0
    dtypes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.verdict not in get_args(Answer):
            raise ValueError(f"a verdict is one of {', '.join(get_args(Answer))}, got {self.verdict!r}")


@dataclass(frozen=True)
class Report:
    """The verdicts of one run, in the order of operators and of properties.

    `refusals` has, by operator, how many drawn calls were refused; `versions` those of what ran.
    """

    verdicts: tuple[Verdict, ...]
    target: str
    seconds: float
    seed: int
    versions: dict[str, str] = field(default_factory=dict)
    refusals: dict[str, int] = field(default_factory=dict)

    @property
    def findings(self) -> tuple[Verdict, ...]:
        """Return the verdicts that are broken."""
        return tuple(each for each in self.verdicts if each.verdict == "broken")

    @property
    def by_operator(self) -> dict[str, tuple[Verdict, ...]]:
        """Return the verdicts of each operator."""
        found: dict[str, list[Verdict]] = {}
        for each in self.verdicts:
            found.setdefault(each.operator, []).append(each)
        return {name: tuple(verdicts) for name, verdicts in found.items()}

    @property
    def counts(self) -> dict[Answer, int]:
        """Return how many verdicts there are of each kind."""
        numbers = Counter(each.verdict for each in self.verdicts)
        return {answer: numbers[answer] for answer in get_args(Answer)}

    def to_json(self) -> str:
        """Return the report as JSON, which names its format."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Report:
        """Return the report that a text of `to_json` holds. Raises ValueError for any other text."""
        try:
            read = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"no report of `opwright gate`: {error}") from None
        if not isinstance(read, Mapping) or "format" not in read:
            raise ValueError("no report of `opwright gate`: it names no format")
        if read["format"] != FORMAT:
            raise ValueError(f"a report of format {read['format']!r}, and this version reads {FORMAT}")
        values: dict[str, Any] = {name: value for name, value in read.items() if name != "format"}
        try:
            values["verdicts"] = tuple(
                Verdict(**{**each, "dtypes": tuple(each.get("dtypes", ()))}) for each in values["verdicts"]
            )
            return cls(**values)
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"no report of `opwright gate`: {error}") from None
