"""The findings of a reader of registries and files: operators, and the holes that a person has to fill."""

from __future__ import annotations

from collections.abc import Mapping

from opwright_codegen.records import dataclass, field

__all__ = ["Findings", "FoundOperator", "Hole"]


@dataclass(frozen=True, slots=True)
class FoundOperator:
    """One operator: its schema with a namespace, where it was found, and what of an entry is known."""

    schema: str  # `ns::name.overload(...) -> ...`, as its source says it
    where: str  # `ops.cpp:12`, or whose registry
    dispatch: Mapping[str, str] = field(default_factory=dict)  # keys, as a schema file has them, to kernels
    tags: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return the name that the schema begins with, `ns::name.overload`."""
        return self.schema.partition("(")[0].strip()


@dataclass(frozen=True, slots=True)
class Hole:
    """Something that the source does not say, or that no schema file of ours can say.

    `kind` is what a report counts it as, where `problem` is about this operator alone.
    """

    where: str
    operator: str | None
    problem: str
    hint: str | None = None
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Findings:
    """All that was found, in the order of the source."""

    operators: tuple[FoundOperator, ...]
    holes: tuple[Hole, ...] = ()
