"""Explanations of every error that the generator has a code for: what is wrong, an example of it, and its mend.

The files of this folder hold them, one for each subject. An example is files, name to text; `given` are those that the
mistake and its mend share, `others` the codes that the mistake has besides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import yaml

from opwright_codegen.records import dataclass

__all__ = ["Explanation", "explanations"]

# In the order of the page: from what is read first to what is read last.
SUBJECTS = {
    "files": "Files, settings and commands",
    "schemas": "Schemas",
    "entries": "Entries of schema files",
    "groups": "Variants of an operator",
    "structured": "Structured kernels and ufuncs",
    "formulas": "Formulas",
    "kernels": "Kernels and what meta says",
    "native": "Kernels in C",
    "expressions": "Expressions",
    "cuda": "Kernels in CUDA",
    "elsewhere": "Kernels written elsewhere",
    "derivatives": "Derivatives",
    "promises": "Promises and former versions",
    "lint": "Lint",
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """One code. Without an example, `elsewhere` says why; `others` are codes that the example has besides."""

    code: str
    subject: str
    says: str
    wrong: Mapping[str, str]
    right: Mapping[str, str]
    others: tuple[str, ...] = ()
    elsewhere: str | None = None

    @property
    def is_lint(self) -> bool:
        """Whether `opwright lint` finds it, and no error is meant."""
        return self.subject == SUBJECTS["lint"]


@cache
def explanations() -> Mapping[str, Explanation]:
    """Return all explanations, by code, in the order of the page."""
    found = [explanation for file, subject in SUBJECTS.items() for explanation in _of_file(file, subject)]
    return {explanation.code: explanation for explanation in found}


def _of_file(file: str, subject: str) -> Iterator[Explanation]:
    text = (Path(__file__).parent / f"{file}.yaml").read_text(encoding="utf-8")
    for code, entry in yaml.safe_load(text).items():
        given = _files(entry.get("given", {}))
        wrong, right = ({**given, **_files(entry.get(key, {}))} for key in ("wrong", "right"))
        others = tuple(entry.get("others", ()))
        yield Explanation(code, subject, entry["says"], wrong, right, others, entry.get("elsewhere"))


def _files(example: str | dict[str, str]) -> dict[str, str]:
    """Return files by name; a text alone is a schema file."""
    files = {"ops.yaml": example} if isinstance(example, str) else example
    return {name: f"{text.rstrip()}\n" for name, text in files.items()}
