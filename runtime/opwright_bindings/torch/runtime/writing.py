"""Operators that write arguments in PyTorch: version counters, gradients and compiled programs by functional variants.

Note [Out variants in compiled programs]
An out variant with a functional sibling is not tagged `out`. By that tag inductor replaces the functional operator by
the out variant, and (in PyTorch 2.13 and 2.14) passes its tensors first and then its other arguments, all by position:
`f(x, None, bias)` becomes `f.out(x, bias, None)`, which has another result; keyword-only arguments, lists and symbolic
sizes fail. Without the tag PyTorch does not functionalize the out variant, so that its kernel for `Functionalize` calls
the functional one and copies the results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._C import _AutoDispatchBelowADInplaceOrView, _AutoDispatchBelowAutograd

from opwright_bindings.torch.runtime.tangents import have_tangents

__all__ = ["register_replacement", "register_writing"]


def register_writing(
    library: torch.library.Library,
    name: str,
    overload: torch._ops.OpOverload,
    functional: Callable[[], torch._ops.OpOverload] | None,
) -> None:
    """Register what counts the writes of an operator, and what makes them differentiable or refuses that.

    `functional` gives the operator whose result is written: it may be defined later.
    """
    written = {
        position: each.name
        for position, each in enumerate(overload._schema.arguments)
        if each.alias_info is not None and each.alias_info.is_write and "Tensor" in str(each.type)
    }

    def count(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        for position, argument in written.items():
            value = args[position] if position < len(args) else kwargs.get(argument)
            for tensor in value if isinstance(value, (list, tuple)) else [value]:
                if tensor is not None:
                    torch.autograd.graph.increment_version(tensor)
        with _AutoDispatchBelowADInplaceOrView():
            return overload.redispatch(keyset & torch._C._after_ADInplaceOrView_keyset, *args, **kwargs)

    def differentiable(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        if have_tangents(args, kwargs) or (torch.is_grad_enabled() and torch._C._any_requires_grad(*args, **kwargs)):
            if functional is None:
                raise RuntimeError(
                    f"{overload}: it writes arguments, and derivatives do not go through it: call the functional "
                    "variant, or pass detached tensors in a block of torch.no_grad()"
                )
            # (a copy, for what the formulas keep of it is not written to)
            return args[0].copy_(functional()(args[0].clone(), *args[1:], **kwargs))
        with _AutoDispatchBelowAutograd():
            return overload.redispatch(keyset & torch._C._after_autograd_keyset, *args, **kwargs)

    library.impl(name, count, "ADInplaceOrView", with_keyset=True)
    library.impl(name, differentiable, "Autograd", with_keyset=True)


def register_replacement(
    library: torch.library.Library,
    name: str,
    overload: torch._ops.OpOverload,
    functional: Callable[[], torch._ops.OpOverload],
) -> None:
    """Register what replaces an out variant in compiled programs, see Note [Out variants in compiled programs]."""
    names = [
        each.name for each in overload._schema.arguments if each.alias_info is not None and each.alias_info.is_write
    ]

    def replaced(*args: Any, **kwargs: Any) -> Any:
        outs = [kwargs.pop(each) for each in names]
        results = functional()(*args, **kwargs)
        for out, result in zip(outs, [results] if len(outs) == 1 else results, strict=True):
            if not torch.can_cast(result.dtype, out.dtype):
                raise RuntimeError(
                    f"{overload}: result type {result.dtype} can't be cast to the desired output type {out.dtype}"
                )
            if out.shape != result.shape:
                raise RuntimeError(
                    f"{overload}: 'out' has shape {list(out.shape)}, the result {list(result.shape)}: "
                    "a compiled program does not resize it"
                )
            out.copy_(result)
        return outs[0] if len(outs) == 1 else tuple(outs)

    library.impl(name, replaced, "Functionalize")
