"""Selective checkpoints: the results of chosen operators are kept from the first call, others are computed again.

Two modes share one storage: the first keeps a result, or notes that there is none, for each call of each operator in
order; the second gives the results back in that order. Semantics: `torch.utils.checkpoint`.
"""

from __future__ import annotations

import enum
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from opwright.namespaces import ops
from opwright.python_dispatch import TorchDispatchMode
from opwright.utils import _pytree as pytree
from opwright_core.dispatch.call.operator import Operator
from opwright_core.tensors.tensor import Tensor

__all__ = ["SAC_IGNORED_OPS", "CheckpointPolicy", "SelectiveCheckpointContext", "create_selective_checkpoint_contexts"]

SAC_IGNORED_OPS: Final = frozenset([ops.aten.detach.default])
_MISMATCH: Final = (
    "This can happen if the operations in the checkpointed region are nondeterministic or depend on global state that "
    "changed between forward and backward."
)


class CheckpointPolicy(enum.Enum):
    """The fate of an operator's result: it is kept or computed again. MUST and PREFER mean the same here."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3


class SelectiveCheckpointContext:
    """The facts that a policy gets beside the operator and its arguments: the result, `op_output`."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


Policy = Callable[..., CheckpointPolicy | bool]
Storage = dict[Operator, dict[int, Any]]  # by operator, and by the number of its call


class _State(enum.Enum):
    AGAIN = 0  # computed again
    GIVEN = 1  # was kept, and was given back already


class _Kept:
    """A part of a result, with the version of a tensor."""

    def __init__(self, value: Any) -> None:
        self.value = value.detach() if isinstance(value, Tensor) and value.requires_grad else value
        self.version = value._version if isinstance(value, Tensor) else 0

    def read(self, may_change: bool) -> Any:
        """Return the value. Raises RuntimeError for a tensor that was written to since."""
        if isinstance(self.value, Tensor) and not may_change and self.value._version != self.version:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return self.value


class _Keeping(TorchDispatchMode):
    """The mode of the first call."""

    def __init__(self, policy: Policy, storage: Storage) -> None:
        self.policy = policy
        self.storage = storage

    def __torch_dispatch__(
        self, func: Operator, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if func in SAC_IGNORED_OPS:
            return result
        context = SelectiveCheckpointContext(is_recompute=False, op_output=result)
        chosen = self.policy(context, func, *args, **(kwargs or {}))
        is_kept = chosen if isinstance(chosen, bool) else chosen.value <= CheckpointPolicy.PREFER_SAVE.value
        entries = self.storage[func]
        entries[len(entries)] = pytree.tree_map(_Kept, result) if is_kept else _State.AGAIN
        return result


class _Giving(TorchDispatchMode):
    """The mode of the second call."""

    def __init__(self, storage: Storage, may_change: bool) -> None:
        self.storage = storage
        self.may_change = may_change
        self.counts: Counter[Operator] = Counter()

    def __enter__(self) -> Any:
        self.counts.clear()
        return super().__enter__()

    def __torch_dispatch__(
        self, func: Operator, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func in SAC_IGNORED_OPS:
            return func(*args, **(kwargs or {}))
        number = self.counts[func]
        self.counts[func] += 1
        if func not in self.storage:
            raise RuntimeError(f"{func} encountered during backward but not found in storage. {_MISMATCH}")
        entries = self.storage[func]
        entry = entries.get(number)
        if entry is None:
            raise RuntimeError(
                f"{func} invocation index {number} encountered during backward but not found in storage. {_MISMATCH}"
            )
        if entry is _State.GIVEN:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                "selective activation checkpoint."
            )
        if entry is _State.AGAIN:
            return func(*args, **(kwargs or {}))
        entries[number] = _State.GIVEN
        return pytree.tree_map(lambda part: part.read(self.may_change), entry)


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Policy | list[Operator], allow_cache_entry_mutation: bool = False
) -> tuple[TorchDispatchMode, TorchDispatchMode]:
    """Return the contexts of a checkpoint's two calls, for its `context_fn`.

    The policy is a function of a SelectiveCheckpointContext, an operator and its arguments, which returns a
    CheckpointPolicy or whether to keep the result; or a list of operators whose results are kept. Raises ValueError for
    another thing in the list, TypeError for another policy. Backward raises RuntimeError where the second call calls
    other operators than the first, on the second pass, and for a kept tensor that was written to, unless
    `allow_cache_entry_mutation`.
    """
    if isinstance(policy_fn_or_list, list):
        for each in policy_fn_or_list:
            if not isinstance(each, Operator):
                raise ValueError(
                    f"Expected op in `op_list` to be an OpOverload but got: {each} of type {type(each)}. Name the "
                    "overload: opwright.ops.aten.mm.default, not opwright.ops.aten.mm"
                )
        policy: Policy = _policy_of(policy_fn_or_list)
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    storage: Storage = defaultdict(dict)
    return _Keeping(policy, storage), _Giving(storage, allow_cache_entry_mutation)


def _policy_of(kept: list[Operator]) -> Policy:
    def policy(ctx: SelectiveCheckpointContext, op: Operator, *args: Any, **kwargs: Any) -> CheckpointPolicy:
        return CheckpointPolicy.MUST_SAVE if op in kept else CheckpointPolicy.PREFER_RECOMPUTE

    return policy
