"""`test_autograd_registration`: gradients come from a formula at an Autograd key, and from nowhere else; a backward
pass gives every input one of its shape, and writes to nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from opwright.autograd import enable_grad, grad
from opwright.autograd.fallbacks import NotImplementedNode, WarnNotImplementedNode
from opwright.autograd.recording import check_inplace
from opwright.metadata.tags import Tag
from opwright.namespaces import aten
from opwright.testing import assert_close
from opwright_core.dispatch.call.operator import Operator
from opwright_core.errors import ContractError
from opwright_core.tensors.tensor import Tensor
from opwright_gate.checking.calls import Call, Operand, drawing_again, results_of
from opwright_gate.checking.observing import Contents
from opwright_gate.checking.other_sizes import with_other_sizes

__all__ = ["check_registration", "differentiable", "gradients", "incoming_gradients"]

_KEYS = {"cpu": "AutogradCPU", "cuda": "AutogradCUDA"}
# Incoming gradients in other layouts: a slice gives strided ones, a sum expanded ones.
_LAYOUTS: Final[Mapping[str, Callable[[Tensor], Tensor]]] = {
    "strided": lambda grad: aten["stack.default"]([grad, grad], -1).select(-1, 1),
    "transposed": lambda grad: grad.permute(_reversed(grad)).contiguous().permute(_reversed(grad)),
    "expanded": lambda grad: grad.new_ones([]).expand(list(grad.shape)),
}


def check_registration(call: Call) -> None:
    """Raise ContractError for a wrong registration, or what a wrong formula raises. Inputs that do not require grad
    tell nothing: the call passes."""
    if not call.requires_grad:
        return
    with enable_grad():
        copied = call.copied(may_require_grad=True)
        _refuse_written_leaves(copied)
        results = results_of(call.operator, copied())
        if not _has_autograd_kernel(call):
            _refuse_other_history(copied, results)
        _check_backward(copied, differentiable(results))
        if differentiable(results):
            _check_again(call)
            _check_layouts(call)
            for resized in with_other_sizes(call):
                _check_other_sizes(resized)


def _refuse_written_leaves(call: Call) -> None:
    for operand in call.written:
        try:
            check_inplace(operand.tensor)
        except RuntimeError as error:
            raise ContractError(
                f"{call.operator.name} writes to {operand.name}, whose gradient would be lost: {error} Give opcheck a "
                f"Tensor that does not require grad, or none that is a leaf (x.clone())"
            ) from error


def _has_autograd_kernel(call: Call) -> bool:
    """Whether one is registered for the inputs, be it one that refuses to differentiate; operators made of others need
    none."""
    has = call.operator.has_kernel_for_dispatch_key
    kinds = {operand.tensor.device.type for operand in call.operands}
    keys = [_KEYS[kind] for kind in kinds if kind in _KEYS] or ["AutogradOther"]
    return any(has(key) for key in ("Autograd", "CompositeImplicitAutograd", *keys))


def _refuse_other_history(call: Call, results: list[Operand]) -> None:
    """Refuse results that know what made them through what the kernel called: no formula of the operator's own."""
    for result in results:
        if any(result.tensor is operand.tensor for operand in call.operands):
            continue
        if result.tensor.requires_grad and not isinstance(result.tensor.grad_fn, WarnNotImplementedNode):
            raise ContractError(
                f"{call.operator.name}: {result.name} requires grad (its grad_fn is "
                f"{_name_of(result.tensor)}), but the operator does not have an autograd kernel defined at an autograd "
                "key: its gradients are those of what its kernel calls. Register a formula with "
                f'opwright.library.register_autograd("{call.operator.name}", backward), or, if the kernel is made of '
                "operators, register the kernel for CompositeImplicitAutograd\n"
                f"Registered: {', '.join(_registered(call.operator)) or 'nothing'}"
            )


def _name_of(result: Tensor) -> str:
    return "its own, as of a leaf" if result.grad_fn is None else result.grad_fn.name()


def _registered(operator: Operator) -> list[str]:
    return [each.key_name for found in operator.registrations.values() for each in found[-1:]]


def differentiable(results: list[Operand]) -> list[Operand]:
    """Return the results that a backward pass can begin at."""
    refused = NotImplementedNode, WarnNotImplementedNode
    return [each for each in results if each.tensor.requires_grad and not isinstance(each.tensor.grad_fn, refused)]


def incoming_gradients(results: list[Operand]) -> list[Operand]:
    """Return the gradients of the sum of all elements of results: ones."""
    return [
        Operand(f"the gradient of {each.name}", each.position, each.tensor.detach().new_ones(list(each.tensor.shape)))
        for each in results
    ]


def gradients(
    call: Call, results: list[Operand], incoming: list[Operand], *, retain_graph: bool = False
) -> list[tuple[Operand, Tensor | None]]:
    """Return the inputs that require grad, each with its gradient, if it has one, from those of these results."""
    inputs = [operand for operand in call.operands if operand.tensor.requires_grad]
    outputs, given = [each.tensor for each in results], [each.tensor for each in incoming]
    found = grad(outputs, [each.tensor for each in inputs], given, retain_graph, allow_unused=True)
    return list(zip(inputs, found, strict=True))


def _check_again(call: Call) -> None:
    """Raise ContractError where a second backward pass gives other gradients: of the same call, and of one just like
    it."""
    if Tag.nondeterministic_seeded in call.operator.tags:
        return
    found = []
    for _ in range(2):
        copied = call.copied(may_require_grad=True)
        with drawing_again(copied):
            results = differentiable(results_of(call.operator, copied()))
            incoming = incoming_gradients(results)
            found += [gradients(copied, results, incoming, retain_graph=True) for _ in range(2)]
    for again, how in ((found[1], "of the same call"), (found[2], "of an equal call")):
        for (operand, first), (_, second) in zip(found[0], again, strict=True):
            if not _is_equal(first, second):
                raise ContractError(
                    f"the backward pass of {call.operator.name} gives another gradient of {operand.name} when it runs "
                    f"again {how}: it depends on something that it changed, which is neither saved by setup_context "
                    "nor one of the incoming gradients"
                )


def _is_equal(first: Tensor | None, second: Tensor | None) -> bool:
    if first is None or second is None:
        return first is second
    try:
        assert_close(first, second, equal_nan=True)
    except AssertionError:
        return False
    return True


def _check_layouts(call: Call) -> None:
    """Raise ContractError where gradients depend on how the incoming ones lie in memory."""
    if Tag.nondeterministic_seeded in call.operator.tags:
        return
    copied = call.copied(may_require_grad=True)
    results = differentiable(results_of(call.operator, copied()))
    drawn = [_drawn(each.tensor.detach()) for each in results]
    for layout, lay in _LAYOUTS.items():
        laid = list(map(lay, drawn))
        problem = f"the backward pass of {call.operator.name}, given {layout} gradients,"
        hint = "take gradients with any strides: reshape, not view; contiguous() before memory is read"
        wanted = _gradients_for(copied, results, [each.contiguous() for each in laid])
        try:
            found = _gradients_for(copied, results, laid)
        except Exception as error:
            raise ContractError(f"{problem} raises {type(error).__name__}: {error}\n{hint}") from error
        for (operand, first), (_, second) in zip(wanted, found, strict=True):
            if not _is_equal(first, second):
                raise ContractError(
                    f"{problem} gives another gradient of {operand.name} than for contiguous ones: {hint}"
                )


def _reversed(tensor: Tensor) -> list[int]:
    return list(range(tensor.dim()))[::-1]


def _drawn(like: Tensor) -> Tensor:
    """Return a gradient whose elements differ."""
    numbers = np.linspace(0.5, 1.5, like.numel()).reshape(tuple(like.shape))
    made: Tensor = like.new_tensor(numbers, dtype=like.dtype)
    return made


def _gradients_for(call: Call, results: list[Operand], incoming: list[Tensor]) -> list[tuple[Operand, Tensor | None]]:
    given = [Operand("", each.position, grad) for each, grad in zip(results, incoming, strict=True)]
    return gradients(call, results, given, retain_graph=True)


def _check_other_sizes(call: Call) -> None:
    """Raise ContractError where a backward pass raises that runs with the sizes of the sample."""
    copied = call.copied(may_require_grad=True)
    results = differentiable(results_of(call.operator, copied()))
    try:
        gradients(copied, results, incoming_gradients(results))
    except Exception as error:
        shapes = " and ".join(f"{each.name} of shape {tuple(each.tensor.shape)}" for each in call.operands)
        raise ContractError(
            f"the backward pass of {call.operator.name} runs with the sizes of the sample, and not with {shapes}: "
            f"{error}"
        ) from error


def _check_backward(call: Call, results: list[Operand]) -> None:
    if not results:
        return
    incoming = incoming_gradients(results)
    inputs = [operand for operand in call.operands if not any(operand.tensor is each.tensor for each in results)]
    contents = Contents([*inputs, *incoming])
    gradients(call, results, incoming)
    for operand in contents.changed():
        raise ContractError(
            f"the backward pass of {call.operator.name} writes to {operand.name}: it must leave what it is given as it "
            "is, and return new Tensors"
        )
