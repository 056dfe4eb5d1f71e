"""Gradients of PyTorch's operators for the gate: our backward pass asks PyTorch's, to any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from opwright.autograd.function import Function
from opwright_bindings.torch.runtime.calls import overload_named, theirs_of
from opwright_bindings.torch.runtime.values import our_tensor
from opwright_core.arrays.dtypes import COMPLEX, FLOATING
from opwright_core.tensors.tensor import Tensor

__all__ = ["has_gradients", "recorded"]

Theirs = Callable[..., Sequence[Any]]
_KEYS = ("Autograd", "AutogradCPU", "CompositeImplicitAutograd")


def has_gradients(name: str) -> bool:
    """Whether PyTorch has gradients of the operator of that name, whose results are Tensors."""
    definition = torch._library.custom_ops.OPDEFS.get(name)
    if definition is not None and definition._backward_fn is None:
        return False
    schema = overload_named(name)._schema
    if any(str(each.type) != "Tensor" for each in schema.returns):
        return False
    if any("List[" in str(each.real_type) and "Tensor" in str(each.real_type) for each in schema.arguments):
        return False  # (calls with lists of tensors are not recorded)
    return any(torch._C._dispatch_has_kernel_for_dispatch_key(name, key) for key in _KEYS)


def recorded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the kernel that records calls of PyTorch's operator, which `function` makes without recording."""
    overload = overload_named(name)
    keywords = [each.name for each in overload._schema.arguments if each.kwarg_only]
    count = len(overload._schema.arguments) - len(keywords)

    def kernel(*values: Any) -> Any:
        places = [place for place, value in enumerate(values) if _is_differentiable(value)]
        if not places:
            return function(*values)
        others = [None if place in places else theirs_of(value) for place, value in enumerate(values)]

        def call(*inputs: torch.Tensor) -> Sequence[Any]:
            given = list(others)
            for place, each in zip(places, inputs, strict=True):
                given[place] = each
            results = overload(*given[:count], **dict(zip(keywords, given[count:], strict=True)))
            return results if isinstance(results, tuple | list) else (results,)

        def first() -> tuple[Any, list[bool]]:
            with torch.enable_grad():
                leaves = [theirs_of(values[place]).detach().requires_grad_() for place in places]
                return function(*values), [_has_history(each) for each in call(*leaves)]

        return _Call.apply(call, first, *[values[place] for place in places])

    return kernel


def _is_differentiable(value: Any) -> bool:
    return isinstance(value, Tensor) and (value.dtype in FLOATING or value.dtype in COMPLEX)


class _Call(Function):
    """A call of a function of PyTorch's tensors, whose gradients are PyTorch's."""

    @staticmethod
    def forward(ctx: Any, call: Theirs, first: Callable[[], tuple[Any, list[bool]]] | None, *inputs: Tensor) -> Any:
        """Return what `first` returns, whose results have gradients where it says so, or the function."""
        ctx.call = call
        ctx.save_for_backward(*inputs)
        if first is not None:
            results, have_gradients = first()
            pairs = zip(results if isinstance(results, tuple) else (results,), have_gradients, strict=True)
            ctx.mark_non_differentiable(*[each for each, has_gradient in pairs if not has_gradient])
            return results
        found = [None if each is None else our_tensor(each.clone()) for each in _run(call, inputs)]
        return tuple(found)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Return PyTorch's gradients, which can be differentiated again."""
        inputs, call = ctx.saved_tensors, ctx.call
        given = [place for place, each in enumerate(grads) if isinstance(each, Tensor)]

        def gradients(*tensors: torch.Tensor) -> Sequence[Any]:
            leaves, incoming = tensors[: len(inputs)], tensors[len(inputs) :]
            is_recorded = torch.is_grad_enabled()
            if not is_recorded:
                leaves = tuple([each.detach().requires_grad_() for each in leaves])
            with torch.enable_grad():
                results = call(*leaves)
            pairs = [(results[place], each) for place, each in zip(given, incoming, strict=True)]
            pairs = [(result, each) for result, each in pairs if _has_history(result)]
            if not pairs:
                return (None,) * len(leaves)
            outputs, incoming = zip(*pairs, strict=True)
            found: Sequence[Any] = torch.autograd.grad(
                outputs, leaves, incoming, create_graph=is_recorded, allow_unused=True
            )
            return found

        found = _Call.apply(gradients, None, *inputs, *[grads[place] for place in given])
        return None, None, *(found if isinstance(found, tuple) else (found,))


def _has_history(result: Any) -> bool:
    return isinstance(result, torch.Tensor) and result.requires_grad


def _run(call: Theirs, inputs: Sequence[Tensor]) -> Sequence[Any]:
    with torch.no_grad():
        return [None if each is None else each.detach() for each in call(*map(theirs_of, inputs))]
