"""Autograd kernels for every operator: they handle operators without a gradient formula.

Note [Operators without formulas]
An operator that has a kernel for a backend and none for autograd, and that no derivatives.yaml has, whether it is
generated or defined at run time, is handled by default: the call works, its results require grad, and a backward pass
through them warns and finds no gradient. What cannot be a warning is an error, since gradients would silently be wrong:
a write to a leaf that requires grad when it is called, one to another tensor that requires grad in a backward pass
through that, and a backward pass through a backward pass that called an operator of a schema file. Operators that the
kernel calls are recorded, and then those gradients hold. Writes count in versions.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from opwright.autograd.engine import is_running
from opwright.autograd.nodes import Node
from opwright.autograd.recording import (
    check_inplace,
    check_out,
    check_writable,
    edges_of,
    increment_version,
    mark_view,
    mark_views,
    rebase_history,
    record,
)
from opwright.autograd.tensor_hooks import register_hook
from opwright.pytree import tensors_of
from opwright_core.arrays.dtypes import INEXACT
from opwright_core.dispatch.registry.kernel_kinds import Wrapper
from opwright_core.errors import AutogradError
from opwright_core.tensors.tensor import Tensor, wrap_view

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = [
    "autograd_not_implemented_fallback", "count_writes", "inplace_or_view_fallback", "warn_in_backward",
]  # fmt: skip

Kernel = Callable[..., Any]


class NotImplementedNode(Node):
    """The node of a call without a gradient formula: an error in a backward pass."""

    __slots__ = ("operator",)
    operator: Operator

    def name(self) -> str:
        """Return PyTorch's name."""
        return "NotImplemented"

    def apply(self, grad: Any) -> Sequence[Any]:
        """Raise AutogradError."""
        raise AutogradError(
            f"{self.operator.name}: a backward pass went through it, and {_how_to_register(self.operator)}"
        )


class WarnNotImplementedNode(Node):
    """The node of a call without a gradient formula, where that is a warning: it gives no gradients."""

    __slots__ = ("operator",)
    operator: Operator

    def name(self) -> str:
        """Return PyTorch's name."""
        return "WarnNotImplemented"

    def apply(self, grad: Any) -> Sequence[Any]:
        """Return no gradients."""
        warnings.warn(
            f"{self.operator.name}: a backward pass went through it and found no gradient, since "
            f"{_how_to_register(self.operator)}. If it is not differentiable, register "
            "opwright.library.fallthrough_kernel for Autograd",
            stacklevel=2,
        )
        return (None,) * len(self.edges)


def _how_to_register(operator: Operator) -> str:
    how = f"use opwright.library.register_autograd({operator.name!r}, backward)"
    found = f"no autograd formula was registered for it: {how}"
    if not _is_of_schema_file(operator):
        return found
    entry = f"{operator.name}{operator.declaration}"
    return f"{found}, or add an entry to derivatives.yaml, `- name: {entry}` ({operator.where} declares it)"


def _is_of_schema_file(operator: Operator) -> bool:
    return operator.where.rpartition(":")[0].endswith((".yaml", ".yml"))


def _not_implemented(operator: Operator, below: Kernel) -> Kernel:
    """Return a wrapper whose results require grad, and are an error in a backward pass."""
    return _recording(operator, below, NotImplementedNode)


def warn_in_backward(operator: Operator, below: Kernel) -> Kernel:
    """Record a call so that a backward through it warns: Note [Operators without formulas]."""
    return _recording(operator, below, WarnNotImplementedNode)


def _recording(operator: Operator, below: Kernel, kind: type[Any]) -> Kernel:
    signature = operator.signature
    inputs = [argument.position for argument in signature.tensors]
    outs = [position for position in sorted(signature.written) if position >= signature.positional]
    written = [position for position in sorted(signature.written) if position < signature.positional]

    def kernel(*args: Any) -> Any:
        operands = list(tensors_of(args[position] for position in inputs))
        edges = edges_of(operands)
        if not any(edge is not None for edge in edges):
            return below(*args)
        if any(each.dtype in INEXACT for each in tensors_of(args[position] for position in outs)):
            check_out(operator.name.partition(".")[0], *operands)
        targets = _checked_targets(operator, args, written)
        before = edges_of(targets)
        result = below(*args)
        made = NotImplementedNode if is_running() and _is_of_schema_file(operator) else kind
        for target, edge in zip(targets, before, strict=True):
            if target.edge is not edge:
                _warn_of(operator, target)
            elif target.dtype in INEXACT:
                others = tuple(e for tensor, e in zip(operands, edges, strict=True) if tensor is not target)
                rebase_history(target, _node(NotImplementedNode, operator, (edge, *others)))
        for each in tensors_of((result,)):
            if each.edge is None:
                if each.dtype in INEXACT:
                    record(each, _node(made, operator, edges))
            elif not any(each is operand for operand in operands):
                _warn_of(operator, each)
        return result

    return kernel


def _checked_targets(operator: Operator, args: Sequence[Any], written: Sequence[int]) -> list[Tensor]:
    """Return the tensors that a recorded call writes to. Raises RuntimeError where it may not."""
    targets = []
    for position in written:
        for target in tensors_of((args[position],)):
            try:
                check_inplace(target)
            except RuntimeError as error:
                name = operator.signature.names[position]
                raise RuntimeError(
                    f"{operator.name} writes to argument '{name}': {error} Give it a copy ({name}.clone()), or call it "
                    "under opwright.no_grad()"
                ) from None
            targets.append(target)
    return targets


def _node(kind: type[Any], operator: Operator, edges: Sequence[Any]) -> Any:
    node = kind()
    node.edges = tuple(edges)
    node.operator = operator
    return node


def _warn_of(operator: Operator, tensor: Tensor) -> None:
    """Warn of a result whose history is that of the operators that the kernel called."""

    def warn(grad: Any) -> None:
        warnings.warn(
            f"{operator.name}: a backward pass went through the operators that its kernel called, since "
            f"{_how_to_register(operator)}, or register the kernel for CompositeImplicitAutograd",
            stacklevel=2,
        )

    register_hook(tensor, warn)


def _inplace_or_view(operator: Operator, below: Kernel) -> Kernel:
    """Return a wrapper that checks and counts writes and notes views, as alias annotations say."""
    if operator.signature.written:
        return count_writes(operator, below)
    aliases = operator.signature.aliases
    is_single = len(aliases) == 1

    def kernel(*args: Any) -> Any:
        result = below(*args)
        if is_single:
            return _viewed(args, aliases[0], result)
        return tuple(_viewed(args, alias, each) for alias, each in zip(aliases, result, strict=True))

    return kernel


def _viewed(args: Sequence[Any], alias: int | None, result: Any) -> Any:
    """Return a result as the view that its annotation says it is."""
    base = None if alias is None else args[alias]
    if not isinstance(base, Tensor):
        return result
    if isinstance(result, list):
        return mark_views([_as_view(base, each) for each in result])
    return result if result is base else mark_view(_as_view(base, result))


def _as_view(base: Tensor, result: Tensor) -> Tensor:
    """Return a result as a view of its base, though a kernel may have made it of the base's memory alone."""
    return result if result._base is not None else wrap_view(base, result.array)


def count_writes(operator: Operator, below: Kernel) -> Kernel:
    """Return a wrapper that checks writes beforehand and counts them afterwards."""
    written = sorted(operator.signature.written)

    def kernel(*args: Any) -> Any:
        targets = list(tensors_of(args[position] for position in written))
        for target in targets:
            check_writable(target)
        result = below(*args)
        for target in targets:
            increment_version(target)
        return result

    return kernel


# To be registered for Autograd, of an operator or (under each Autograd key) of all: results require grad, and a
# backward pass through them raises AutogradError.
autograd_not_implemented_fallback: Final = Wrapper(_not_implemented, is_generated=True, is_for_any=True)
# To be registered for ADInplaceOrView: what the schema says is written is checked and counted, what it says is a view
# becomes one.
inplace_or_view_fallback: Final = Wrapper(_inplace_or_view, is_for_any=True)
