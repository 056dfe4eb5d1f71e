"""`grad(is_grads_batched=True)`: a stack of gradients goes through one backward pass, by `vmap`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opwright.names.late_bound import late_bound
from opwright.namespaces import aten
from opwright_core.tensors.tensor import Tensor

__all__ = ["run"]

Pass = Callable[[Sequence[Tensor | None]], list[Any]]


def run(backward: Pass, outputs: Sequence[Tensor], grads: Sequence[Tensor | None]) -> list[Any]:
    """Return the gradients that a backward pass gives for a batch: each stacked, None where there is none.

    `grads` have a leading batch dimension. Raises RuntimeError where one is no batch of its output's shape, ValueError
    where the batches differ in size, IndexError where they are empty.
    """
    _check(outputs, grads)
    positions = [position for position, grad in enumerate(grads) if grad is not None]
    if not positions:
        return [None if each is None else aten["unsqueeze.default"](each, 0) for each in backward(grads)]
    kept: list[Any] = []

    def sample(*given: Tensor) -> list[Any]:
        each = iter(given)
        kept[:] = backward([None if grad is None else next(each) for grad in grads])
        return [found for found in kept if found is not None]

    stacked = iter(late_bound.transforms().vmap(sample)(*[grads[position] for position in positions]))
    return [None if found is None else next(stacked) for found in kept]


def _check(outputs: Sequence[Tensor], grads: Sequence[Tensor | None]) -> None:
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
