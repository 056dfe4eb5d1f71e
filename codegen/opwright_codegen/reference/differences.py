"""Differences from libraries that readers know: read from a file, for pages of operators and a page of their own."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Final

from opwright_codegen.documents.files import read_source
from opwright_codegen.documents.nodes import read_string, read_texts, text_span, wrong_type
from opwright_codegen.documents.yaml_reader import MappingNode, Node, ScalarNode, SequenceNode, read_entries
from opwright_codegen.errors import Errors, SchemaError
from opwright_codegen.reference.markdown import cell, code_list, prose
from opwright_codegen.source import Source

__all__ = ["Difference", "all_differences", "differences_of", "read_differences"]

_MOST: Final = 8  # links to pages that one text is about


@dataclass(frozen=True)
class Difference:
    """One difference from a library: a pattern for the names that it is about, and what there is to say.

    `of` is what differs; a pattern for functions is compared with names without their overload.
    """

    library: str
    of: str
    operators: re.Pattern[str]
    why: str
    is_of_functions: bool = False

    @property
    def is_of_all(self) -> bool:
        """Whether it is about every operator, so that no page of one says it."""
        return self.operators.pattern == ".*"

    def is_about(self, name: str) -> bool:
        """Whether it is about an operator, by its name without the namespace."""
        return self.operators.fullmatch(name.partition(".")[0] if self.is_of_functions else name) is not None


def differences_of(names: Sequence[str], differences: Sequence[Difference]) -> dict[str, list[str]]:
    """Return what differs for the operators of these names, which have no namespace, by the library: lines of Markdown,
    each text once. What is about all operators is left out."""
    said: dict[tuple[str, str, str], list[str]] = {}
    for each in differences:
        about = [] if each.is_of_all else [name for name in names if each.is_about(name)]
        if about:
            of = "" if each.is_of_functions else each.of
            said.setdefault((each.library, of, each.why), []).extend(about)
    found: dict[str, list[str]] = {}
    for (library, of, why), about in said.items():
        whose = f"{of}, {code_list(about)}: " if of else ""
        found.setdefault(library, []).append(whose + prose(why))
    return found


def all_differences(files: Mapping[str, str], differences: Sequence[Difference]) -> dict[str, list[tuple[str, str]]]:
    """Return texts with links to the pages that they are about, by library and what differs. `files` has the page of
    each operator, by its name without the namespace. What is about none of them is left out."""
    found: dict[str, list[tuple[str, str]]] = {}
    for each in differences:
        pages = dict.fromkeys(files[name] for name in files if each.is_of_all or each.is_about(name))
        if pages:
            links = [f"[{PurePath(file).stem.partition('.')[2]}]({file})" for file in [*pages][:_MOST]]
            more = f" and {len(pages) - _MOST} more" if len(pages) > _MOST else ""
            about = "all" if each.is_of_all else ", ".join(links) + more
            found.setdefault(f"{each.library}: {each.of}", []).append((cell(prose(each.why)), about))
    return found


def read_differences(path: Path) -> tuple[Difference, ...]:
    """Return the differences that a file lists. Raises SchemaErrors with everything that is wrong."""
    errors = Errors()
    source = read_source(path)
    found: list[Difference] = []
    for node in read_entries(source, errors):
        group = read_texts(node, _GROUP, ("from", "of"), source, errors)
        listed = node.pairs.get("differences") if isinstance(node, MappingNode) else None
        if group is None or listed is None or not isinstance(listed[1], SequenceNode):
            if group is not None:
                errors.add(wrong_type("a list of differences", listed[1] if listed else node, source))
            continue
        for item in listed[1].items:
            entry = read_texts(item, _ENTRY, ("operators", "why"), source, errors)
            if entry is not None:
                pattern = re.compile(entry["operators"])
                is_of_functions = group.get("names") == "functions"
                found.append(Difference(group["from"], group["of"], pattern, entry["why"], is_of_functions))
    errors.raise_if_any()
    return tuple(found)


def _read_pattern(node: Node, source: Source) -> str:
    text = read_string(node, source)
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        assert isinstance(node, ScalarNode)
        message = f"this is no pattern: {error}"
        raise SchemaError("wrong-type", message, text_span(node, source), "for example (sum|mean)[.].*") from None
    return text


# What tests have besides is theirs: it is not looked at.
_GROUP: Final[dict[str, Callable[[Node, Source], str]]] = {
    "from": read_string,
    "of": read_string,
    "names": read_string,
    "table": read_string,
    "differences": lambda node, source: "",
}
_ENTRY: Final[dict[str, Callable[[Node, Source], str]]] = {
    "operators": _read_pattern,
    "why": read_string,
    "seen": read_string,
    "when": read_string,
    "only": read_string,
}
