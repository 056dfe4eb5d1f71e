"""Hooks: functions of users that see gradients on their way, and may put others instead."""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Final

__all__ = [
    "RemovableHandle",
    "add_hook",
    "call_hooks",
    "call_post_accumulate_hooks",
    "call_prehooks",
    "call_tensor_hooks",
]

_next_id: Final = itertools.count().__next__
Hooks = OrderedDict[int, Callable[..., Any]]


class RemovableHandle:
    """One registered hook: `remove()` takes it back, and so does the end of a `with` block."""

    __slots__ = ("__weakref__", "_hooks", "id")

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = weakref.ref(hooks)
        self.id = _next_id()

    def remove(self) -> None:
        """Take the hook back. Doing so again has no effect."""
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


def add_hook(hooks: Hooks, hook: Callable[..., Any]) -> RemovableHandle:
    """Add a hook behind those there are. Raises TypeError for what cannot be called."""
    if not callable(hook):
        raise TypeError(f"a hook must be callable, got {type(hook).__name__}")
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def call_tensor_hooks(hooks: Hooks, grad: Any) -> Any:
    """Return the gradient after the hooks of one tensor. Raises TypeError, RuntimeError for a result that is none."""
    for hook in list(hooks.values()):
        result = hook(grad)
        if result is not None:
            _check(hook, grad, result)
            grad = result
    return grad


def call_prehooks(hooks: Hooks, grads: Sequence[Any]) -> tuple[Any, ...]:
    """Return the gradients of a node's results after its prehooks."""
    grads = tuple(grads)
    for hook in list(hooks.values()):
        result = hook(grads)
        if result is not None:
            grads = _replaced(hook, grads, result)
    return grads


def call_hooks(hooks: Hooks, results: Sequence[Any], grads: Sequence[Any]) -> tuple[Any, ...]:
    """Return the gradients of a node's operands after its hooks."""
    results = tuple(results)
    for hook in list(hooks.values()):
        result = hook(results, tuple(grads))
        if result is not None:
            if not isinstance(result, tuple):
                raise TypeError(
                    f"expected a tuple of gradients from the hook {_name(hook)!r}, but it returned "
                    f"{type(result).__name__}"
                )
            results = _replaced(hook, results, result)
    return results


def call_post_accumulate_hooks(hooks: Hooks, leaf: Any) -> None:
    """Run the hooks of a leaf whose gradient was added to. Raises RuntimeError, TypeError for one that returns."""
    from opwright_core.tensors.tensor import Tensor

    for hook in list(hooks.values()):
        result = hook(leaf)
        if result is not None and result is not leaf:
            kind = RuntimeError if isinstance(result, Tensor) else TypeError
            raise kind(
                f"a post accumulate grad hook returns None, but {_name(hook)!r} returned {type(result).__name__}: to "
                "change the gradient, write to the grad of the tensor it is given"
            )


def _replaced(hook: Callable[..., Any], old: tuple[Any, ...], new: Any) -> tuple[Any, ...]:
    values: tuple[Any, ...] = new if isinstance(new, tuple) else (new,)
    if len(values) != len(old):
        raise RuntimeError(
            f"hook {_name(hook)!r} has returned an incorrect number of values (got {len(values)}, but expected "
            f"{len(old)})"
        )
    for before, after in zip(old, values, strict=True):
        if after is not None:
            _check(hook, before, after)
    return values


def _check(hook: Callable[..., Any], before: Any, after: Any) -> None:
    from opwright_core.tensors.tensor import Tensor

    if not isinstance(after, Tensor):
        raise TypeError(f"expected a Tensor from the hook {_name(hook)!r}, but it returned {type(after).__name__}")
    if before is None:
        return
    for what in ("dtype", "device", "shape"):
        old, new = getattr(before, what), getattr(after, what)
        if old != new:
            raise RuntimeError(
                f"hook {_name(hook)!r} has changed the {'size' if what == 'shape' else what} of value: it was {old}, "
                f"and is {new}"
            )


def _name(hook: Callable[..., Any]) -> str:
    return getattr(hook, "__name__", "<unknown>")
