"""Derivatives of functions of tensors, as torch.autograd.functional has them.

`inputs` are a Tensor or a tuple of them, and so is what each returns. With `create_graph` the results can be
differentiated themselves; with `strict` an output that does not depend on an input is a RuntimeError, not zeros.
"""

from __future__ import annotations

from typing import Any

from opwright.autograd.functional_values import (
    Function,
    Tensors,
    detached,
    direction_of,
    gradients_of,
    inputs_of,
    outputs_of,
    prepared,
    scalar_function,
    shown,
)
from opwright.autograd.jacobian import jacobian
from opwright.autograd.modes import enable_grad
from opwright.namespaces import aten
from opwright_core.tensors.tensor import Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def vjp(
    func: Function, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> tuple[Tensors, Tensors]:
    """Return the outputs, and v times the Jacobian for each input; without `v` for one output of one element."""
    with enable_grad():
        several, given = inputs_of("vjp", inputs)
        given = prepared(given, create_graph)
        are_several, outputs = outputs_of("vjp", func(*given), strict)
        direction = direction_of("vjp", v, outputs, "output")
        found = gradients_of("vjp", outputs, given, direction, create_graph, strict)
    return shown(outputs, are_several, create_graph), shown(found, several, create_graph)


def jvp(
    func: Function, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> tuple[Tensors, Tensors]:
    """Return the outputs, and the Jacobian times v for each output. `v` may be left out for one input of one element.

    It is the gradient of the product that `vjp` gives, so that only gradients are needed.
    """
    with enable_grad():
        _, given = inputs_of("jvp", inputs)
        direction = direction_of("jvp", v, given, "input")
        given = prepared(given, create_graph)
        are_several, outputs = outputs_of("jvp", func(*given), strict)
        dummies = tuple(aten["zeros_like.default"](each).requires_grad_() for each in outputs)
        products = gradients_of("jvp", outputs, given, dummies, True, strict)
        found = gradients_of("jvp", products, dummies, direction, create_graph, strict)
    return shown(outputs, are_several, create_graph), shown(found, are_several, create_graph)


def hessian(
    func: Function,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Return the second derivatives of a function with one element as result: tensors of the shapes of inputs i and j.

    `outer_jacobian_strategy` "forward-mode" differentiates the gradients forward. Raises RuntimeError where the
    function has another result.
    """
    several, given = inputs_of("hessian", inputs)
    is_forward = outer_jacobian_strategy == "forward-mode"

    def gradients(*values: Tensor) -> Any:
        if is_forward:
            values = tuple(each if each.requires_grad else each.requires_grad_() for each in values)
        found = jacobian(scalar_function("hessian", func), values, create_graph=True, strict=strict)
        return found if isinstance(found, tuple) else (found,)

    if is_forward:
        given = tuple(each.detach() for each in given)
    found = jacobian(gradients, given, create_graph, strict, vectorize, outer_jacobian_strategy)
    return found if several else found[0][0]


def vhp(
    func: Function, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> tuple[Tensor, Tensors]:
    """Return the output, and v times the Hessian of a function with one result of one element."""
    with enable_grad():
        several, given = inputs_of("vhp", inputs)
        direction = direction_of("vhp", v, given, "input")
        given = prepared(given, create_graph)
        _, outputs = outputs_of("vhp", scalar_function("vhp", func)(*given), strict)
        slopes = gradients_of("vhp", outputs, given, None, True, strict)
        found = gradients_of("vhp", slopes, given, direction, create_graph, strict)
    return detached(outputs[0], create_graph), shown(found, several, create_graph)


def hvp(
    func: Function, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> tuple[Tensor, Tensors]:
    """Return the output, and the Hessian times v: what `vhp` gives, by way of a `jvp` of the gradients."""
    with enable_grad():
        several, given = inputs_of("hvp", inputs)
        direction = direction_of("hvp", v, given, "input")
        given = prepared(given, create_graph)
        _, outputs = outputs_of("hvp", scalar_function("hvp", func)(*given), strict)
        slopes = gradients_of("hvp", outputs, given, None, True, strict)
        dummies = tuple(aten["zeros_like.default"](each).requires_grad_() for each in slopes)
        products = gradients_of("hvp", slopes, given, dummies, True, strict)
        found = gradients_of("hvp", products, dummies, direction, create_graph, strict)
    return detached(outputs[0], create_graph), shown(found, several, create_graph)


# -- what they share
