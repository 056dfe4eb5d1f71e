"""Checkpoints: the part of a program that saves nothing for backward, and is computed again when backward needs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from contextvars import ContextVar
from typing import Any, Final

from opwright.autograd import backward, is_grad_enabled, set_grad_enabled
from opwright.autograd.function import Function
from opwright.autograd.modes import enable_grad, no_grad
from opwright.context_managers.blocks import Block
from opwright.utils import _pytree as pytree
from opwright.utils.recomputation import (
    CheckpointError,
    Contexts,
    DeterminismCheck,
    Surroundings,
    call_recomputed,
)
from opwright.utils.selective import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)
from opwright_core.tensors.tensor import Tensor

__all__ = [
    "SAC_IGNORED_OPS", "CheckpointError", "CheckpointPolicy", "SelectiveCheckpointContext", "checkpoint",
    "checkpoint_sequential", "create_selective_checkpoint_contexts", "noop_context_fn", "set_checkpoint_early_stop",
]  # fmt: skip
_early_stop: Final[ContextVar[bool | None]] = ContextVar("opwright_early_stop", default=None)


class set_checkpoint_early_stop(Block):
    """A block whose checkpoints end their second call early, or not: `set_checkpoint_early_stop(enable)`."""

    __slots__ = ("enable",)
    _variables = (_early_stop,)

    def __init__(self, enable: bool) -> None:
        super().__init__()
        self.enable = enable

    def _switch_on(self) -> None:
        _early_stop.set(self.enable)


def noop_context_fn() -> Contexts:
    """Return two contexts that do nothing."""
    return nullcontext(), nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: DeterminismCheck = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Return `function(*args, **kwargs)`, of which nothing is saved: it is called a second time in backward.

    Autocast is what it was at the first call, and with `preserve_rng_state` the same random numbers are drawn.

    With `use_reentrant=False` the function is recorded as it runs: it may call `autograd.grad` itself, and gradients of
    gradients are there. `context_fn` returns a context for the first call and one for the second; the second ends where
    all that is needed was computed (`early_stop`), and has to save tensors of the same shapes and dtypes as the first,
    unless `determinism_check="none"`; `debug` is taken, and its errors are those of every run. Otherwise the first call
    is made without recording, and the second is a backward pass within the pass, which takes no `context_fn`
    (ValueError). Semantics: `torch.utils.checkpoint`.
    """
    contexts = context_fn()
    if use_reentrant is not False and context_fn is not noop_context_fn:
        raise ValueError("Passing `context_fn` is only supported when use_reentrant=False.")
    if not is_grad_enabled():
        return function(*args, **kwargs)
    surroundings = Surroundings(preserve_rng_state)
    if use_reentrant is False:
        decided = _early_stop.get()
        early_stop = early_stop if decided is None else decided
        return call_recomputed(function, args, kwargs, contexts, surroundings, determinism_check, early_stop)
    leaves, spec = pytree.tree_flatten((args, kwargs))
    positions = [position for position, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    run = _Run(function, leaves, spec, positions, surroundings)
    with set_grad_enabled(True):
        anchor = _new_anchor()
    found = _Checkpointed.apply(run, anchor, *[leaves[position] for position in positions])
    results = list(found) if isinstance(found, tuple) else [found]
    assert run.result is not None
    return pytree.tree_unflatten(results, run.result)


def _new_anchor() -> Tensor:
    """Return a leaf among the operands, so that the call is recorded also where only what the function closes over
    requires grad."""
    from opwright.creation.construction import tensor

    return tensor(0.0, requires_grad=True)


class _Run:
    """A call to be made twice."""

    def __init__(
        self,
        function: Callable[..., Any],
        leaves: list[Any],
        spec: pytree.TreeSpec,
        positions: list[int],
        surroundings: Surroundings,
    ) -> None:
        self.function = function
        self.leaves = [None if position in positions else leaf for position, leaf in enumerate(leaves)]
        self.spec = spec
        self.positions = positions
        self.surroundings = surroundings
        self.result: pytree.TreeSpec | None = None

    def __call__(self, tensors: Sequence[Tensor]) -> list[Any]:
        """Return the leaves of the function's result."""
        leaves = list(self.leaves)
        for position, tensor in zip(self.positions, tensors, strict=True):
            leaves[position] = tensor
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        found, self.result = pytree.tree_flatten(self.function(*args, **kwargs))
        return found


class _Checkpointed(Function):
    """The first call, nothing of it recorded; backward makes the second."""

    @staticmethod
    def forward(ctx: Any, run: _Run, anchor: Tensor, *tensors: Tensor) -> Any:
        ctx.run = run
        ctx.save_for_backward(*tensors)
        with no_grad():
            found = run(tensors)
        return tuple(found) if len(found) != 1 else found[0]

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        given: list[Tensor] = [each.detach() for each in ctx.saved_tensors]
        for tensor, needs in zip(given, ctx.needs_input_grad[2:], strict=True):
            tensor.requires_grad_(needs)
        with enable_grad():
            found = ctx.run.surroundings.call(ctx.run, given)
        pairs = [
            (result, grad)
            for result, grad in zip(found, grads, strict=True)
            if isinstance(result, Tensor) and result.requires_grad and grad is not None
        ]
        if pairs:
            backward([result for result, _ in pairs], [grad for _, grad in pairs])
        return None, None, *[tensor.grad for tensor in given]


def checkpoint_sequential(
    functions: Sequence[Callable[..., Any]],
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    **options: Any,
) -> Any:
    """Return what a chain of functions makes of the input, with a checkpoint around each of `segments` parts of it but
    the last."""
    chain = list(functions)
    size = len(chain) // segments

    def part(start: int, end: int) -> Callable[[Any], Any]:
        def run(value: Any) -> Any:
            for function in chain[start:end]:
                value = function(value)
            return value

        return run

    end = 0
    for start in range(0, size * (segments - 1), size):
        end = start + size
        input = checkpoint(part(start, end), input, use_reentrant=use_reentrant, **options)
    return part(end, len(chain))(input)
