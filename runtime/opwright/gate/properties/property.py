"""The base of properties: what each says of itself, and the two questions that it answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from opwright.gate.samples import Samples
    from opwright.gate.subjects import Subject
    from opwright.gate.verdicts import Verdict

__all__ = ["Property"]


class Property(ABC):
    """A question about an operator, asked with drawn calls. The texts are those of its page entry."""

    name: ClassVar[str]  # kebab-case
    title: ClassVar[str]
    group: ClassVar[str]
    finds: ClassVar[str]  # one sentence
    example: ClassVar[str]  # a fault that it finds, in Python
    mend: ClassVar[str]

    def applies(self, subject: Subject) -> bool | str:
        """Whether the question can be asked of an operator: True, or the reason why not (False where there is
        nothing to say)."""
        return True

    @abstractmethod
    def check(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield what is wrong, or cannot be decided. Where nothing is yielded, the property held."""
