"""Trees of arguments and results: taken apart before a graph, put together after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from opwright.pytree import TreeSpec, tree_flatten, tree_unflatten

__all__ = ["TreeInfo", "flatten_as", "tree_unflatten"]


@dataclass(frozen=True, slots=True)
class TreeInfo:
    """The arguments of a function whose graph has their leaves as inputs: their names, their structure, and that of the
    result. A structure that is None means: as the nodes say."""

    names: tuple[str, ...]
    in_spec: TreeSpec | None
    out_spec: TreeSpec | None


def flatten_as(arguments: Sequence[Any], spec: TreeSpec) -> list[Any]:
    """Return the leaves of arguments. Raises ValueError where their structure is another than the one traced."""
    leaves, found = tree_flatten(list(arguments))
    if found != spec:
        raise ValueError(f"the graph was traced for arguments of another structure: {spec} there, {found} here")
    return leaves
