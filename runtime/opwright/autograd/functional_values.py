"""The inputs, outputs and directions of the functions of `opwright.autograd.functional`, checked and shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opwright.autograd.differentiate import grad
from opwright.namespaces import aten
from opwright_core.tensors.tensor import Tensor

__all__ = [
    "checked",
    "detached",
    "direction_of",
    "gradients_of",
    "independent",
    "inputs_of",
    "outputs_of",
    "prepared",
    "scalar_function",
    "shown",
]

Tensors = Tensor | tuple[Tensor, ...]
Function = Callable[..., Any]


def inputs_of(name: str, inputs: Tensors) -> tuple[bool, tuple[Tensor, ...]]:
    several = isinstance(inputs, tuple)
    return several, checked(name, "inputs", inputs if isinstance(inputs, tuple) else (inputs,))


def checked(name: str, what: str, values: tuple[Any, ...]) -> tuple[Tensor, ...]:
    for position, value in enumerate(values):
        if not isinstance(value, Tensor):
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the value at index "
                f"{position} has type {type(value).__name__}."
            )
    return values


def prepared(inputs: tuple[Tensor, ...], create_graph: bool) -> tuple[Tensor, ...]:
    """Return the inputs with a position of their own in the graph, behind the caller's where results are to have
    one."""
    if create_graph:
        return tuple(
            aten["view.default"](each, list(each.shape)) if each.requires_grad else each.detach().requires_grad_()
            for each in inputs
        )
    return tuple(each.detach().requires_grad_() for each in inputs)


def outputs_of(name: str, outputs: Any, strict: bool) -> tuple[bool, tuple[Tensor, ...]]:
    several = isinstance(outputs, tuple)
    found = checked(name, "outputs of the user-provided function", outputs if several else (outputs,))
    if strict:
        for position, output in enumerate(found):
            if not output.requires_grad:
                raise RuntimeError(independent(name, position))
    return several, found


def independent(name: str, position: int) -> str:
    return (
        f"Output {position} of the function given to {name} is independent of the inputs. This is not allowed in "
        "strict mode."
    )


def scalar_function(name: str, func: Function) -> Function:
    """Return the function wrapped: it must return one Tensor of one element."""

    def call(*inputs: Tensor) -> Tensor:
        output = func(*inputs)
        if not isinstance(output, Tensor):
            raise RuntimeError(f"The function given to {name} should return a single Tensor")
        if output.numel() != 1:
            raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")
        return aten["reshape.default"](output, [])  # type: ignore[no-any-return]

    return call


def direction_of(name: str, v: Tensors | None, values: tuple[Tensor, ...], what: str) -> tuple[Tensor, ...]:
    """Return `v`, checked against what it goes along with; ones for one tensor of one element."""
    if v is None:
        if len(values) != 1 or values[0].numel() != 1:
            raise RuntimeError(
                f"The vector v can only be None in {name} if the user-provided function has a single {what} with a "
                "single element."
            )
        return (aten["ones_like.default"](values[0].detach()),)
    given = checked(name, "v", v if isinstance(v, tuple) else (v,))
    if len(given) != len(values):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(values)} but got {len(given)}.")
    for position, (each, value) in enumerate(zip(given, values, strict=True)):
        if each.shape != value.shape:
            raise RuntimeError(
                f"v has invalid size at index {position}: should be {list(value.shape)} but got {list(each.shape)}."
            )
    return given


def gradients_of(
    name: str,
    outputs: tuple[Tensor, ...],
    inputs: tuple[Tensor, ...],
    direction: tuple[Tensor, ...] | None,
    create_graph: bool,
    strict: bool,
) -> tuple[Tensor, ...]:
    """Return the gradients of the outputs that require any, zeros for inputs that these do not depend on."""
    positions = [position for position, output in enumerate(outputs) if output.requires_grad]
    found: Sequence[Tensor | None] = (None,) * len(inputs)
    if positions:
        found = grad(
            [outputs[position] for position in positions],
            inputs,
            None if direction is None else [direction[position] for position in positions],
            retain_graph=True,
            create_graph=create_graph,
            allow_unused=True,
        )
    results = []
    for position, (value, gradient) in enumerate(zip(inputs, found, strict=True)):
        if gradient is None:
            if strict:
                raise RuntimeError(
                    f"The output of the function given to {name} is independent of input {position}. This is not "
                    "allowed in strict mode."
                )
            gradient = aten["zeros_like.default"](value.detach())
        elif strict and create_graph and not gradient.requires_grad:
            raise RuntimeError(
                f"The derivative of the function given to {name} is independent of input {position}. This is not "
                "allowed in strict mode when create_graph=True."
            )
        results.append(gradient)
    return tuple(results)


def detached(value: Tensor, create_graph: bool) -> Tensor:
    return value if create_graph else value.detach()


def shown(values: tuple[Tensor, ...], several: bool, create_graph: bool) -> Tensors:
    shown = tuple(detached(each, create_graph) for each in values)
    return shown if several else shown[0]
