"""The last resort: an operator without a rule is called for each sample, and the results are stacked."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Final

from opwright.batching.samples import sample_of
from opwright.batching.tables import BatchRule
from opwright.namespaces import aten
from opwright_core.arrays.devices import shape_of
from opwright_core.source_locations import frames_of_ours

if TYPE_CHECKING:
    from opwright.batching.batching import Batching
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["looping"]

_WARNED: Final[set[str]] = set()
_STACKED: Final = frozenset(("Tensor", "Tensor?"))


def looping(operator: Operator) -> BatchRule:
    """Return the rule that calls an operator for each sample; it warns at the first call of all.

    The rule raises RuntimeError for operators that it cannot handle (that write to what is not batched, or return
    views, lists or numbers), and for a batch without samples.
    """
    signature = operator.signature
    why_not = _why_not(operator)
    is_inplace = tuple(signature.written) == (0,) and tuple(signature.aliases) == (0,)

    def rule(level: Batching, *args: Any) -> Any:
        if why_not:
            raise RuntimeError(
                f"vmap: there is no batching rule for {operator.name}, and it cannot be called for each sample in "
                f"turn: {why_not}. Register a rule with opwright.library.register_vmap"
            )
        if level.size == 0:
            raise RuntimeError(
                f"vmap: there is no batching rule for {operator.name}, and without samples nothing says what its "
                "results would be: The fallback path does not support vmap over dims of size 0"
            )
        if is_inplace and not level.is_batched(args[0]):
            raise RuntimeError(unbatched_write(operator, args))
        _warn(operator.name)
        samples = [operator.call(*[sample_of(level, value, number) for value in args]) for number in range(level.size)]
        if is_inplace:
            return args[0]
        if len(signature.returns) == 1:
            return level.batched(aten["stack.default"](samples))
        return tuple([level.batched(aten["stack.default"](list(each))) for each in zip(*samples, strict=True)])

    return rule


def _why_not(operator: Operator) -> str:
    signature = operator.signature
    if signature.written and (tuple(signature.written) != (0,) or tuple(signature.aliases) != (0,)):
        return "it writes to its arguments"
    if not signature.written and any(alias is not None for alias in signature.aliases):
        return "it returns a view"
    for each in signature.returns:
        if each not in _STACKED:
            return f"it returns a {each}, which is not stacked"
    return "" if signature.returns else "it returns nothing"


def unbatched_write(operator: Operator, args: Any) -> str:
    """Return what is said of a call that would write a batch into a tensor without one."""
    name = operator.signature.names[0]
    shape = list(shape_of(args[0].array))
    return (
        f"vmap: {operator.base}({name}, *extra_args) is not possible because there exists a Tensor `other` in "
        f"extra_args that has more elements than `{name}`: `{name}`, of shape {shape}, is not batched over in this "
        f"vmap, and the other is. Use the out-of-place operator, or make `{name}` of a batched tensor (new_zeros, "
        "clone, …)"
    )


def _warn(name: str) -> None:
    if name not in _WARNED:
        _WARNED.add(name)
        warnings.warn(
            f"vmap: there is no batching rule for {name} yet, so that it is called for each sample in turn: There is a "
            "performance drop. opwright.library.register_vmap gives it one",
            stacklevel=frames_of_ours() + 1,
        )
