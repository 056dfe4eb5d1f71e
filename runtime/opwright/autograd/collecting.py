"""The part of the graph that the garbage collector sees: no nodes of generated classes, which the compiled core makes.

A large graph then costs it nothing, and references free nodes as ever. Only what users tie into a cycle waits for the
collector: hooks that hold their own results, gradients of leaves that are recorded. Where these are made, before every
full run of the collector, and when there are very many nodes, all of them are shown (`fast/graph/node.c`).
"""

from __future__ import annotations

import gc

from opwright_core.core import fast

__all__ = ["adopt_node", "track_nodes"]


def adopt_node(node: type) -> None:
    """Have the compiled core make the nodes of a new class, if slots are all that these have."""
    if fast is not None:
        fast.adopt_node(node)


def track_nodes() -> None:
    """Show the collector all nodes: one of them may be part of a cycle now."""
    if fast is not None:
        fast.track_nodes()


if fast is not None:
    gc.callbacks.append(fast.before_collecting)
