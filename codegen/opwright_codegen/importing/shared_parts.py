"""The parts that forms of backends' files have in common: lists of names and schemas, keys, where things stand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import NamedTuple

from opwright_codegen.documents.yaml_reader import MappingNode, Node, ScalarNode, SequenceNode, describe
from opwright_codegen.errors import shorten
from opwright_codegen.importing.gathered import Gathered
from opwright_codegen.importing.source_lines import Places
from opwright_codegen.schema.names import BACKENDS, PYTORCHS
from opwright_codegen.source import Source

__all__ = ["Entries", "Item", "dispatch_of", "scalar", "words"]


class Item(NamedTuple):
    """An operator of a list: its name or schema, and the mapping that says more."""

    node: Node
    text: str
    mapping: MappingNode | None = None

    @property
    def name(self) -> str:
        return self.text.partition("(")[0].strip()


class Entries:
    """The reading of one backend's file: its source, the operators gathered, the namespace of those of its own."""

    def __init__(self, source: Source, namespace: str | None) -> None:
        self.gathered = Gathered()
        self._places = Places(source)
        self._namespace = namespace

    def where(self, node: Node) -> str:
        """Return the file and the line of a node."""
        return self._places.where(node.start)

    def hole(self, node: Node, operator: str | None, problem: str, kind: str | None = None) -> None:
        """Add a hole at a node."""
        self.gathered.hole(self.where(node), operator, problem, kind=kind)

    def find_namespace(self, backend: str, node: Node) -> None:
        """Take the name of the backend, or of the file, as the namespace of its own operators, and say so in a hole."""
        if self._namespace is None:
            word = re.sub(r"\W", "_", backend.lower() or PurePath(self._places.path).stem, flags=re.ASCII)
            self._namespace = word if word.isidentifier() else f"_{word}"
            problem = f"no namespace is said for the backend's own operators: {self._namespace!r} is taken"
            self.gathered.hole(self.where(node), None, problem, "--namespace NAME says it")

    def key(self, backend: str, node: Node) -> str:
        """Return the dispatch key of a backend: its name, or that of backends outside of PyTorch."""
        if backend in BACKENDS:
            return backend
        self.hole(node, None, f"{shorten(backend)!r} has no dispatch key of its own: PrivateUse1 is taken")
        return "PrivateUse1"

    def items(self, node: Node | None) -> Iterator[Item]:
        """Yield the items of a list of operators: each is a name or a schema, or a mapping that has one as `func`."""
        if node is not None and not isinstance(node, SequenceNode) and describe(node) != "nothing":
            self.hole(node, None, f"a list of operators is expected, not {describe(node)}")
        for item in node.items if isinstance(node, SequenceNode) else ():
            mapping = item if isinstance(item, MappingNode) else None
            text = scalar(mapping.pairs["func"][1] if mapping and "func" in mapping.pairs else item)
            if text is None:
                self.hole(item, None, f"the name or the schema of an operator is expected, not {describe(item)}")
            else:
                yield Item(item, text, mapping)

    def add(self, item: Item, is_own: bool = False, tags: tuple[str, ...] = ()) -> str | None:
        """Add an operator by its name or schema; its qualified name, or None for what is a hole.

        It is PyTorch's, but for `is_own` and what is one of the backend's own already.
        """
        name = item.name
        if "::" not in name:
            own = f"{self._namespace}::{name}"
            is_own = self._namespace is not None and (is_own or self.gathered.is_defined(own))
            name = own if is_own else f"{PYTORCHS}::{name}"
        if "(" in item.text:
            return self.gathered.define(item.text, name.rpartition("::")[0], self.where(item.node), tags)
        return name if self.gathered.define_known(name, self.where(item.node)) else None


def scalar(node: Node | None) -> str | None:
    """Return the text of a node; None for a list, a mapping or nothing."""
    if isinstance(node, ScalarNode) and describe(node) != "nothing":
        return node.text.strip()
    return None


def dispatch_of(node: Node | None) -> dict[str, str]:
    """Return the kernels that an entry names itself under `dispatch`, by their keys."""
    if not isinstance(node, MappingNode):
        return {}
    values = {keys: scalar(value) for keys, (_, value) in node.pairs.items()}
    return {key.strip(): kernel for keys, kernel in values.items() if kernel for key in keys.split(",")}


def words(node: Node | None) -> list[str]:
    """Return the words of a list, or of a text with commas."""
    nodes = node.items if isinstance(node, SequenceNode) else [node]
    texts = [text for each in nodes if (text := scalar(each)) is not None]
    return [word for text in texts for part in text.split(",") if (word := part.strip())]
