"""The operators that a training step asks a backend for, found by recording one: two linear layers, a loss, gradients,
gradient descent with momentum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opwright.autograd import no_grad
from opwright.backends.numpy_fallback import NumpyFallback
from opwright.backends.registered_backends import register_backend
from opwright.creation.construction import tensor
from opwright.namespaces import aten
from opwright_core.arrays.devices import element_strides
from opwright_core.dispatch.call.operator import Operator
from opwright_core.tensors.tensor import Tensor

__all__ = ["operators_of", "operators_of_training"]


class _Held:
    """An array of NumPy in other clothes."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array
        self.shape = array.shape
        self.dtype = array.dtype


def operators_of_training() -> list[str]:
    """Return the names of the operators that the backend is asked for in a training step, in the order of first use."""
    return operators_of(_training_step)


def operators_of(program: Callable[[str], object]) -> list[str]:
    """Return the names of the operators that a program asks the backend of its device for, which it is told by name.

    The device is there for the program alone, with no kernels: what is written over other operators does not count.
    Raises RegistrationError where no dispatch key is free for it.
    """
    backend = register_backend(
        "recorded",
        array_type=_Held,
        from_numpy=_Held,
        to_numpy=lambda held: held.array,
        strides=lambda held: element_strides(held.array),
        data_ptr=lambda held: int(held.array.__array_interface__["data"][0]),
    )
    seen: dict[str, None] = {}
    fallback = NumpyFallback(backend)
    fallback.install(_recording(fallback, seen))
    try:
        program(backend.name)
    finally:
        fallback.remove()
        backend.remove()
    return list(seen)


def _recording(fallback: NumpyFallback, seen: dict[str, None]) -> Callable[[Operator], Callable[..., Any]]:
    def make(operator: Operator) -> Callable[..., Any]:
        serve = fallback.kernel_of(operator)

        def call(*args: Any) -> Any:
            seen[operator.name] = None
            return serve(*args)

        return call

    return make


def _training_step(device: str) -> None:
    """Run two steps of the training of `examples/train_classifier.py`: a classifier of two layers."""
    random = np.random.default_rng(0)

    def parameter(*shape: int) -> Tensor:
        return tensor(random.normal(size=shape), dtype="float32", device=device, requires_grad=True)

    parameters = [parameter(3, 2), parameter(3), parameter(2, 3), parameter(2)]
    points = tensor(random.normal(size=(4, 2)), dtype="float32", device=device)
    labels = tensor(random.integers(0, 2, 4), device=device)
    speeds = [aten["zeros_like"](each) for each in parameters]
    for _ in range(2):
        hidden = aten["tanh"](aten["linear"](points, *parameters[:2]))
        loss = aten["cross_entropy_loss"](aten["linear"](hidden, *parameters[2:]), labels)
        loss.backward()
        with no_grad():
            for each, speed in zip(parameters, speeds, strict=True):
                speed.mul_(0.9).add_(each.grad)
                each.sub_(speed, alpha=0.1)
                each.grad = None
        loss.item()
