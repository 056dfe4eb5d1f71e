"""Forward mode: tangents of results by formulas over `torch.ops`, which PyTorch records, batches and traces.

Note [Tangents in PyTorch]
`torch.library` has no place for forward formulas: a call on dual tensors gives a result without a tangent, which
PyTorch reads as 0. So the kernel for Autograd is ours. On dual tensors it calls the operator on the primal ones and
gives the results their tangents. An operator without a formula refuses dual tensors, unless no result is of a
floating-point dtype. So does a call that is recorded for a backward pass: what that saves has no tangents, and
derivatives of gradients would be wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

import torch
from torch._C import _AutoDispatchBelowADInplaceOrView
from torch._library.autograd import Info, make_autograd_impl
from torch.autograd import forward_ad

from opwright.pytree import tree_map
from opwright_bindings.torch.runtime.arguments import Declared
from opwright_core.dispatch.registry.forward_rules import ForwardRule

__all__ = ["Rule", "have_tangents", "or_zeros", "refuse_tangents", "register_recorded"]

Rule = Callable[[], ForwardRule | None]
_LEVEL: Final = 0  # PyTorch has one level of tangents at a time


def register_recorded(
    library: torch.library.Library,
    overload: torch._ops.OpOverload,
    arguments: Declared,
    backward: Callable[..., Any],
    setup_context: Callable[..., Any],
    rule: Rule,
) -> None:
    """Register gradients as `torch.library.register_autograd` does, and the tangents of the rule."""
    recorded = make_autograd_impl(overload, Info(backward, setup_context))

    def autograd(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        if not have_tangents(args, kwargs):
            return recorded(keyset, *args, **kwargs)
        if torch.is_grad_enabled() and torch._C._any_requires_grad(*args, **kwargs):
            raise NotImplementedError(
                f"{overload}: an argument has a tangent and one requires grad: forward mode together with reverse mode "
                "does not go through it: call it in a block of torch.no_grad(), or detach the arguments"
            )
        layer = _Layer(overload, arguments, rule())
        return layer.call(args, kwargs, lambda *args, **kwargs: recorded(keyset, *args, **kwargs))

    library.impl(_name(overload), autograd, "Autograd", with_keyset=True)


def refuse_tangents(library: torch.library.Library, overload: torch._ops.OpOverload, arguments: Declared) -> None:
    """Refuse tangents in calls of an operator that has no gradient: PyTorch's own kernel for Autograd stays."""

    def below(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            with _AutoDispatchBelowADInplaceOrView():
                return overload.redispatch(keyset & torch._C._after_ADInplaceOrView_keyset, *args, **kwargs)

        return (
            _Layer(overload, arguments, None).call(args, kwargs, call)
            if have_tangents(args, kwargs)
            else call(*args, **kwargs)
        )

    library.impl(_name(overload), below, "ADInplaceOrView", with_keyset=True)


def have_tangents(args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Return whether a tensor among the arguments of a call is dual."""
    # (a program that Dynamo traced enters levels without telling forward_ad)
    if forward_ad._current_level < 0 and not torch._C._are_functorch_transforms_active():
        return False
    return any(_tangent(each) is not None for value in (*args, *kwargs.values()) for each in _as_list(value))


class _Layer:
    """One call with tangents."""

    def __init__(self, overload: torch._ops.OpOverload, arguments: Declared, rule: ForwardRule | None) -> None:
        self._overload = overload
        self._arguments = arguments
        self._rule = rule

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any], below: Callable[..., Any]) -> Any:
        """Call what is below on primal tensors, and return results with tangents."""
        values = self._arguments.filled(args, kwargs)
        tangents = {at: found for at, each in enumerate(values) if (found := _tangents(each)) is not None}
        result = below(*tree_map(_primal, args), **tree_map(_primal, kwargs))
        results = list(result) if isinstance(result, tuple) else [result]
        if not any(map(_is_differentiable, results)):
            return result
        if self._rule is None:
            self._refuse(next(iter(tangents)))
        for at in tangents:
            if at not in self._rule.inputs and at not in self._rule.ignored:
                self._refuse(at)
        primals = tree_map(_primal, values)
        for formula in self._rule.formulas:
            given = [tangents.get(at) for at in formula.tangents]
            if formula.tangents and all(each is None for each in given):
                continue
            found = formula.compute(
                *[primals[at] for at in formula.arguments], *given, *[results[at] for at in formula.results]
            )
            for at, each in zip(formula.outputs, found if len(formula.outputs) > 1 else [found], strict=True):
                results[at] = _dual(results[at], each)
        return tuple(results) if isinstance(result, tuple) else results[0]

    def _refuse(self, at: int) -> NoReturn:
        name = self._arguments.names[at]
        raise NotImplementedError(
            f"{self._overload}: no forward formula that PyTorch can call, and argument '{name}' has a tangent, "
            "which the result would lose: give the operator a `result:` line in derivatives.yaml, or pass "
            f"{name}.detach()"
        )


def or_zeros(tangent: Any, value: Any) -> Any:
    """Return a tangent, or zeros like its tensor for None; None for an optional tensor that was not given."""
    return torch.zeros_like(value) if tangent is None and value is not None else tangent


def _as_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else [value]


def _tangent(value: Any) -> Any:
    return forward_ad.unpack_dual(value, level=_LEVEL).tangent if isinstance(value, torch.Tensor) else None


def _tangents(value: Any) -> Any:
    """Return the tangent of an argument, None without one. In a list, tensors without one have zeros."""
    if not isinstance(value, (list, tuple)):
        return _tangent(value)
    found = [_tangent(each) for each in value]
    return None if all(each is None for each in found) else list(map(or_zeros, found, value))


def _primal(value: Any) -> Any:
    return forward_ad.unpack_dual(value, level=_LEVEL).primal if isinstance(value, torch.Tensor) else value


def _is_differentiable(value: Any) -> bool:
    return any(
        isinstance(each, torch.Tensor) and (each.is_floating_point() or each.is_complex()) for each in _as_list(value)
    )


def _dual(result: Any, tangent: Any) -> Any:
    """Return a result with its tangent, which may be smaller, of another dtype, or a number."""
    if isinstance(result, (list, tuple)):
        return list(map(_dual, result, [None] * len(result) if tangent is None else tangent))
    if tangent is None or not _is_differentiable(result):
        return result
    if not isinstance(tangent, torch.Tensor):
        tangent = torch.full_like(result, tangent)
    return forward_ad.make_dual(result, tangent.to(result.dtype).expand_as(result), level=_LEVEL)


def _name(overload: torch._ops.OpOverload) -> str:
    schema = overload._schema
    return f"{schema.name.partition('::')[2]}.{schema.overload_name}".rstrip(".")
