"""Functions with right and wrong derivatives, written for PyTorch and for Opwright alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import seeds


def function(library: Any, name: str, forward: Any, backward: Any, jvp: Any = None) -> Any:
    """A Function of the library; `forward` takes no ctx, and the inputs are saved."""

    def with_context(ctx: Any, *inputs: Any) -> Any:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)
        return forward(*inputs)

    members = {"forward": staticmethod(with_context), "backward": staticmethod(backward)}
    if jvp is not None:
        members["jvp"] = staticmethod(jvp)
    return type(name, (library.autograd.Function,), members)


def leaf(library: Any, *shape: int, seed: int = 0, is_complex: bool = False, dtype: Any = None) -> Any:
    """Numbers around 1, the same in both libraries, in double precision unless a dtype is named."""
    random = seeds.numpy_generator(seed)
    values = random.uniform(0.5, 1.5, shape)
    if is_complex:
        values = values + 1j * random.uniform(0.5, 1.5, shape)
    made = library.tensor(values) if dtype is None else library.tensor(values, dtype=getattr(library, dtype))
    return made.requires_grad_()


def linear(library: Any, gradients: Callable[[Any, Any, Any], Any]) -> Any:
    """x @ weight.t(), with a backward of one's own: of the gradient, x and weight."""

    def backward(ctx: Any, grad: Any) -> Any:
        return gradients(grad, *ctx.saved_tensors)

    def forward(ctx: Any, x: Any, weight: Any) -> Any:  # named, for messages
        ctx.save_for_backward(x, weight)
        return x @ weight.t()

    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Linear", (library.autograd.Function,), members)


def square(library: Any, gradient: Callable[[Any, Any], Any]) -> Any:
    """x * x, with a backward of one's own: of the gradient and x."""
    return function(
        library, "Square", lambda x: x * x, lambda ctx, grad: gradient(grad, *ctx.saved_tensors)
    )  # fmt: skip
