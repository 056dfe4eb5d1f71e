"""`grad(is_grads_batched=True)`: a stack of gradients, of which each sample is a backward pass of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opwright.dispatch.aten import aten
from opwright.tensors.tensor import Tensor

__all__ = ["split", "stack"]


def split(outputs: Sequence[Tensor], grads: Sequence[Tensor | None]) -> list[list[Tensor | None]]:
    """Yield the gradients of `outputs` sample by sample, from gradients with a leading batch dimension.

    Raises RuntimeError where a gradient is no batch of its output's shape, ValueError where the batches differ in size,
    IndexError where they are empty.
    """
    sizes = {}
    for index, (output, grad) in enumerate(zip(outputs, grads, strict=False)):
        if grad is None:
            continue
        if not grad.ndim or grad.shape[1:] != output.shape:
            raise RuntimeError(
                "If is_grads_batched=True, the first dimension of each grad_output is the batch, and the others are "
                f"those of its output: grad_output[{index}] has a shape of {list(grad.shape)} and output[{index}] has "
                f"a shape of {list(output.shape)}"
            )
        sizes[index] = grad.shape[0]
    if len(set(sizes.values())) > 1:
        found = ", ".join(f"{size} in grad_output[{index}]" for index, size in sizes.items())
        raise ValueError(f"is_grads_batched=True expects batches of one size, but got {found}")
    if 0 in sizes.values():
        raise IndexError("is_grads_batched=True expects at least one sample, but the batch is empty")
    count = next(iter(sizes.values()), 1)
    select = aten["select.int"]
    return [[None if grad is None else select(grad, 0, number) for grad in grads] for number in range(count)]


def stack(samples: Sequence[Sequence[Tensor | None]]) -> list[Any]:
    """Return the gradients of each input, stacked; None where no sample has one, zeros where only some have."""
    return [None if all(each is None for each in column) else _stacked(column) for column in zip(*samples, strict=True)]


def _stacked(column: Sequence[Tensor | None]) -> Any:
    like = next(each for each in column if each is not None)
    return aten["stack.default"]([aten["zeros_like.default"](like) if each is None else each for each in column])
