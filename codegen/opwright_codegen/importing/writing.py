"""Findings as the text of a schema file: entries that our own reader takes, and a hole for each that it refuses."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import accumulate
from typing import Final

from opwright_codegen.errors import Errors, SchemaError, SchemaErrors
from opwright_codegen.importing.found import Findings, FoundOperator, Hole
from opwright_codegen.read.files import known_tags
from opwright_codegen.records import dataclass, replace
from opwright_codegen.schema.model import FunctionSchema

__all__ = ["Imported", "derivatives_skeleton", "schema_file"]

_WORD: Final = re.compile(r"\w+", re.ASCII)
_PLAIN: Final = re.compile(r"[A-Za-z_](?!.*(?:: | #|:$|[\x00-\x1f\x7f])).*\S|[A-Za-z_]", re.ASCII)
_IMPLIED: Final = ("out", "inplace")  # tags that follow from the schema


@dataclass(frozen=True, slots=True)
class Imported:
    """A schema file: its text, the operators that it declares, and all holes."""

    text: str
    operators: tuple[FoundOperator, ...]
    holes: tuple[Hole, ...]


def schema_file(
    findings: Findings, heading: str, rename: Callable[[str], str], check: Callable[[str], None]
) -> Imported:
    """Return the schema file of what was found, its namespaces renamed.

    `check` raises SchemaErrors for a text that is wrong: the entries that it names are left out, each as a hole.
    """
    tags = known_tags(None, Errors())
    found = [(each, _entry(each, rename, tags)) for each in findings.operators]
    holes = [hole for each in findings.operators for hole in _unknown_tags(each, tags)]
    while True:
        texts = [heading, *(text for _, text in found)]
        text = "\n".join(texts)
        try:
            if found:
                check(text)
        except SchemaErrors as errors:
            refused = _refused(errors, texts)
            holes += [_refusal(found[position][0], error) for position, error in refused.items()]
            found = [each for position, each in enumerate(found) if position not in refused]
        else:
            operators = tuple(_renamed(each, rename) for each, _ in found)
            return Imported(text, operators, (*findings.holes, *holes))


def derivatives_skeleton(operators: Sequence[FoundOperator], heading: str) -> str:
    """Return a derivatives.yaml of these operators, each entry as a comment that waits for formulas."""
    return heading + "".join(map(_unwritten, operators))


def _unwritten(found: FoundOperator) -> str:
    """Return the entry of an operator as a comment, with a line for each argument that may have a gradient."""
    arguments = FunctionSchema.parse(found.schema).arguments
    names = [each.name for each in arguments if each.type.is_tensor_like]
    return f"\n# - name: {_scalar(found.schema)}\n" + "".join(f"#   {name}: …\n" for name in names)


def _renamed(found: FoundOperator, rename: Callable[[str], str]) -> FoundOperator:
    namespace, _, rest = found.schema.partition("::")
    return replace(found, schema=f"{rename(namespace)}::{rest}")


def _entry(found: FoundOperator, rename: Callable[[str], str], known: Collection[str]) -> str:
    lines = [f"- func: {_scalar(_renamed(found, rename).schema)}"]
    tags = [tag for tag in found.tags if tag in known and tag not in _IMPLIED]
    if tags:
        lines.append(f"  tags: [{', '.join(tags)}]")
    if found.dispatch:
        lines.append(f"  dispatch: {{{', '.join(_pair(*pair) for pair in found.dispatch.items())}}}")
    return "\n".join(lines) + "\n"


def _pair(key: str, kernel: str) -> str:
    return f"{key if _WORD.fullmatch(key) else json.dumps(key)}: {json.dumps(kernel, ensure_ascii=False)}"


def _scalar(text: str) -> str:
    """Return a text as YAML has it: as it is, or in quotes where it would be read as something else."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _unknown_tags(found: FoundOperator, known: Collection[str]) -> list[Hole]:
    unknown = [tag for tag in found.tags if tag not in known]
    said = f"it has tags that Opwright does not know: {', '.join(unknown)}"
    return [Hole(found.where, found.name, said, "they are left out")] if unknown else []


def _refused(errors: SchemaErrors, texts: Sequence[str]) -> Mapping[int, SchemaError]:
    """Return the first error of each entry, by its position among them. Raises an error that is about no entry."""
    starts = list(accumulate((len(text) + 1 for text in texts[:-1]), initial=0))
    refused: dict[int, SchemaError] = {}
    for error in errors.errors:
        position = -1 if error.span is None else bisect_right(starts, error.span.start) - 2
        if position < 0:
            raise error
        refused.setdefault(position, error)
    return refused


def _refusal(found: FoundOperator, error: SchemaError) -> Hole:
    return Hole(found.where, found.name, error.message, error.hint, f"refused: {error.code}")
