"""Checkpoints without reentry: the tensors that nodes would save are counted, and computed again when the first of them
is needed. Semantics: `torch.utils.checkpoint` with `use_reentrant=False`.

A function is called with grad mode as it is, and what it makes is recorded. In place of each tensor that a node saves
the node gets a `_Holder`. The first holder that a backward pass unpacks has the function called again, whose nodes save
the same tensors in the same order: each goes to the holder with its number, and is given out once in that pass. The
second call ends with the last tensor that is wanted (`early_stop`). Nothing here knows the graph of the first call, so
graphs are freed as ever.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Final, Literal

from opwright.amp.settings import Captured
from opwright.autograd.engine import current_pass, is_running
from opwright.autograd.function import Function
from opwright.autograd.modes import enable_grad
from opwright.autograd.saved import saved_tensors_hooks
from opwright.creation.construction import tensor
from opwright_core.arrays.dtypes import dtype_name
from opwright_core.random_state.generator import default_generator, keeping_states
from opwright_core.tensors.tensor import Tensor

__all__ = ["CheckpointError", "Contexts", "DeterminismCheck", "Surroundings", "call_recomputed"]

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]  # of the first call, and of the second
DeterminismCheck = Literal["default", "none"]
_numbers_outside: Final = itertools.count(1)  # for tensors that are unpacked while no pass runs


class CheckpointError(RuntimeError):
    """A second call that does not save what the first one saved."""


class _Enough(Exception):
    """All tensors that are wanted have been computed again."""


class Surroundings:
    """Autocast, and where random numbers begin, at the first of two calls."""

    def __init__(self, preserve_rng_state: bool) -> None:
        self._autocast = Captured()
        self._state = default_generator.get_state() if preserve_rng_state else None

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function in them; the random state is given back."""
        with self._autocast:
            if self._state is None:
                return function(*args, **kwargs)
            with keeping_states([default_generator]):
                default_generator.set_state(self._state)
                return function(*args, **kwargs)


class _Holder:
    """The stand-in for a saved tensor: the tensor as it was computed again, by the number of the pass."""

    __slots__ = ("__weakref__", "found")

    def __init__(self) -> None:
        self.found: dict[int, Tensor] = {}


class _Frame:
    """One call that is to be made again: what its nodes saved, in order."""

    def __init__(self, again: Callable[[], Any], checks: bool, early_stop: bool) -> None:
        self.again = again
        self.checks = checks
        self.early_stop = early_stop
        self.holders: list[weakref.ref[_Holder]] = []
        self.facts: list[str] = []  # of what was saved
        self.is_complete = False  # whether the first call has ended
        self.is_counted = True  # whether both calls are to save as many tensors
        self.counts: dict[int, int] = {}  # how many tensors the second call has saved, by the number of the pass

    def pack(self, saved: Tensor) -> _Holder:
        """Return what is kept instead of a tensor of the first call."""
        holder = _Holder()
        self.holders.append(weakref.ref(holder))
        self.facts.append(_facts_of(saved))
        return holder

    def unpack(self, holder: _Holder) -> Tensor:
        """Return the tensor that a holder stands for, once in each pass. Raises CheckpointError."""
        number = current_pass().number if is_running() else -next(_numbers_outside)
        if number not in self.counts:
            self.recompute(number)
        found = holder.found.pop(number, None)
        if found is None:
            raise CheckpointError(
                "checkpoint: a saved tensor is unpacked a second time in one pass, and was given out already. A "
                "backward that reads ctx.saved_tensors should do so once"
            )
        return found

    def recompute(self, number: int) -> None:
        """Call the function again for a pass. Raises CheckpointError where it does not save the same."""
        self.counts[number] = 0
        try:
            with saved_tensors_hooks(lambda saved: self.take(number, saved), lambda saved: saved), enable_grad():
                self.again()
        except _Enough:
            pass
        except BaseException:
            del self.counts[number]
            raise
        self.check(number)

    def take(self, number: int, saved: Tensor) -> Tensor:
        """Hand a tensor of the second call to its holder. Raises CheckpointError for one too many."""
        kept = saved.detach() if saved.requires_grad else saved
        position = self.counts[number]
        self.counts[number] += 1
        if position >= len(self.holders):
            if self.is_complete:
                raise CheckpointError(
                    f"checkpoint: the function saved {len(self.holders)} tensors in its first call, and more in its "
                    "second. It has to do the same in both"
                )
            self.is_counted = False  # a pass within the first call: the rest of it comes later
            return kept
        holder = self.holders[position]()
        if holder is not None:
            holder.found[number] = kept
        if self.early_stop and self.counts[number] == len(self.holders):
            raise _Enough
        return kept

    def check(self, number: int) -> None:
        """Raise CheckpointError where the second call saved fewer tensors than the first, or others."""
        if not self.is_counted:
            return
        if self.counts[number] != len(self.holders):
            raise CheckpointError(
                f"checkpoint: A different number of tensors was saved: the function saved {len(self.holders)} in its "
                f"first call, and {self.counts[number]} in its second. It has to do the same in both"
            )
        if not self.checks:
            return
        for position, (reference, before) in enumerate(zip(self.holders, self.facts, strict=True)):
            holder = reference()
            after = before if holder is None else _facts_of(holder.found[number])
            if after != before:
                raise CheckpointError(
                    f"checkpoint: Recomputed values have different metadata: the tensor saved at position {position} "
                    f"is {after}, and was {before}. The function has to do the same in both calls"
                )


def _facts_of(saved: Tensor) -> str:
    return f"a Tensor of {dtype_name(saved.dtype)}, shape {list(saved.shape)}, on {saved.device}"


class _Inputs(Function):
    """A node that saves the arguments of a call, and says when one of them was written to."""

    @staticmethod
    def forward(anchor: Tensor, *tensors: Tensor) -> Tensor:
        """Return a tensor whose node is wanted."""
        return anchor.detach()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        """Save the tensors."""
        ctx.save_for_backward(*inputs[1:])


def call_recomputed(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    contexts: Contexts,
    surroundings: Surroundings,
    determinism_check: DeterminismCheck,
    early_stop: bool,
) -> Any:
    """Return `function(*args, **kwargs)`, of whose nodes nothing is saved; they are made again in backward."""
    is_tensor = [isinstance(each, Tensor) for each in args]
    plain = [None if is_one else each for each, is_one in zip(args, is_tensor, strict=True)]
    saved = _Inputs.apply(tensor(0.0, requires_grad=True), *[each for each in args if isinstance(each, Tensor)])
    first, second = contexts

    def again() -> None:
        tensors = iter(saved.grad_fn.saved_tensors)
        given = [next(tensors) if is_one else each for each, is_one in zip(plain, is_tensor, strict=True)]
        with second:
            surroundings.call(function, *given, **kwargs)

    frame = _Frame(again, determinism_check != "none", early_stop)
    with saved_tensors_hooks(frame.pack, frame.unpack), first:
        found = function(*args, **kwargs)
        frame.is_complete = True
        return found
    raise RuntimeError("checkpoint: the context that context_fn returned suppressed an error of the function")
