"""The backward pass of a level, on the values of the level's tensors.

Note [Passes below a level]
Gradients leave the level in which they are computed, so nobody can differentiate them there: the levels further out
record what they need of the values. A pass therefore calls operators on values, in the modes below the level, unless
the graph holds what only tensors of the level serve: hooks, `autograd.Function`, writes to views, packed tensors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from opwright.autograd.differentiate import find, grad, root_of, targets_of
from opwright.autograd.modes import below_classes
from opwright.autograd.nodes import AccumulateGrad, Node, Recorded, RecordedSeveral, node_of
from opwright.autograd.reach import leading_to
from opwright.autograd.saved import Saved, SavedResult, SavedValue
from opwright.func.levels import Differentiation
from opwright_core.state import active_modes, set_modes
from opwright_core.tensors.tensor import Tensor

__all__ = ["gradients_below"]

_GENERATED: Final = (Recorded, RecordedSeveral)


class _UncommonError(Exception):
    """An error: only the node itself can unpack what it saved."""


def gradients_below(
    level: Differentiation, outputs: Sequence[Tensor], grads: Sequence[Tensor | None], inputs: Sequence[Tensor]
) -> Sequence[Tensor | None]:
    """Return the gradients of `inputs` as values, None for an input that no output depends on.

    `outputs` require grad; their `grads` may be None for scalars. The graph is kept. Raises RuntimeError as
    `autograd.grad` does.
    """
    targets = targets_of(inputs)
    nodes = leading_to({node_of(edge) for edge in targets}, [output.edge for output in outputs])
    modes = active_modes()
    assert modes is not None  # the level is on
    if not _keep_values(level, nodes):
        found = grad(outputs, inputs, [level.lift(each) for each in grads], create_graph=True, allow_unused=True)
        return [level.out_of(each) for each in found]
    try:  # (Note [Interrupted blocks])
        set_modes(below_classes(level.below(modes)))
        pairs = enumerate(zip(outputs, grads, strict=True))
        roots = [root_of(index, each, level.out_of(given), level.out_of(each)) for index, (each, given) in pairs]
        return find(roots, targets, True, None, nodes)
    finally:
        set_modes(modes)


def _keep_values(level: Differentiation, nodes: Iterable[Node]) -> bool:
    """Replace the tensors of the level that nodes saved by their values. Return whether the nodes can run on these;
    otherwise nothing is replaced."""
    made: list[tuple[Node, str, Any]] = []
    for node in nodes:
        if node.extra is not None:
            return False
        if type(node) is AccumulateGrad:
            continue
        if not isinstance(node, _GENERATED):
            return False
        for slot in node.saved:
            try:
                made.append((node, slot, _kept_value(level, getattr(node, slot))))
            except _UncommonError:
                return False
    for node, slot, value in made:
        setattr(node, slot, value)
    return True


def _kept_value(level: Differentiation, saved: Saved) -> Saved:
    """Return a saved value with the values of the level's tensors. Raises _UncommonError if hooks packed it, or if it
    was written to since."""
    if type(saved) is list:
        return [_kept_value(level, each) for each in saved]
    if saved is None or type(saved) is SavedValue or (type(saved) is tuple and not saved):  # freed, or not given
        return saved
    if type(saved) is SavedResult and (saved.write, saved.tangent, saved.instance) == (None, None, None):
        tensor, storage, version = saved.tensor(None), saved.storage, saved.version
    elif type(saved) is tuple:
        tensor, version = saved
        storage = tensor.extra.storage
    else:
        raise _UncommonError
    if storage.version != version or storage.has_detached:
        raise _UncommonError
    return SavedValue((level.out_of(tensor),))
