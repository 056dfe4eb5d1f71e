"""The entries of files as texts with positions: what they say by key, and their text with other values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from opwright_codegen.documents.yaml_reader import MappingNode, Node, Pair, ScalarNode, read_entries
from opwright_codegen.errors import Errors
from opwright_codegen.records import dataclass
from opwright_codegen.source import Source, Span

__all__ = ["Entry", "entries_of"]


@dataclass(frozen=True, eq=False, slots=True)
class Entry:
    """One entry of a file, as it was read."""

    source: Source
    pairs: Mapping[str, Pair]
    end: int

    @property
    def place(self) -> str:
        """Return the file and line that the entry begins in."""
        start = self.start
        return f"{self.source.shown_path()}:{Span(self.source, start, start).line}"

    @property
    def start(self) -> int:
        """Return the offset of the entry's first key."""
        return next(iter(self.pairs.values()))[0].start

    def text(self, key: str) -> str:
        """Return the value of a key that is a text, else nothing."""
        value = self.pairs[key][1] if key in self.pairs else None
        return value.text.strip() if isinstance(value, ScalarNode) else ""

    def texts(self) -> Iterator[tuple[str, ScalarNode]]:
        """Yield the texts below each key: its value, or those of a mapping, as `dispatch` has."""
        for key, (_, value) in self.pairs.items():
            if isinstance(value, ScalarNode):
                yield key, value
            elif isinstance(value, MappingNode):
                yield from ((key, inner) for _, inner in value.pairs.values() if isinstance(inner, ScalarNode))

    def items(self, key: str) -> list[ScalarNode]:
        """Return the texts of a list; nothing where the value is none."""
        value = self.pairs[key][1] if key in self.pairs else None
        return [each for each in getattr(value, "items", ()) if isinstance(each, ScalarNode)]

    def written(self, values: Iterable[tuple[Node, str]], without: Iterable[str] = ()) -> str:
        """Return the entry's text with other texts in place of some nodes, and without some keys. The first stays."""
        edits = [(node.start, node.end, json.dumps(text)) for node, text in values]
        edits += [(key.start, value.end, "") for key, value in self._pairs_of(without)]
        text, at = [], self.start
        for start, end, new in sorted(edits):
            text += [self.source.text[at:start], new]
            at = end
            if end > start and self.source.text[end - 1] == "\n" and not new.endswith("\n"):
                text.append("\n")  # a block of lines ends with one
        text.append(self.source.text[at : self.end])
        indent = " " * (Span(self.source, self.start, self.start).column - 3)
        body = f"{indent}- {''.join(text)}".rstrip()
        return f"{body}\n"

    def _pairs_of(self, keys: Iterable[str]) -> Iterator[Pair]:
        return (self.pairs[key] for key in keys if key in self.pairs)


def entries_of(sources: Iterable[Source]) -> dict[tuple[str, int], Entry]:
    """Return the entries of the files of a declared set, by path and offset."""
    entries = (
        Entry(source, node.pairs, node.end)
        for source in sources
        for node in read_entries(source, Errors())
        if isinstance(node, MappingNode) and node.pairs
    )
    return {(entry.source.path, entry.start): entry for entry in entries}
