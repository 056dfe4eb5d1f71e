"""Operators given to PyTorch judged on DTensors: each row of placements, forward and backward, beside whole tensors.

Two ranks are played in one process (`LocalTensorMode`), so that no other is started and nothing is sent.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import torch
import torch.distributed as dist
from torch.distributed._local_tensor import LocalTensor, LocalTensorMode
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, distribute_tensor
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._pytree import tree_leaves

from opwright.dimensions.cutting import summands
from opwright_bindings.torch.runtime.arguments import Arguments
from opwright_bindings.torch.runtime.calls import overload_named, theirs_of
from opwright_bindings.torch.runtime.halos import Halos
from opwright_bindings.torch.runtime.sharding import Sharded
from opwright_core.dispatch.call.operator import Operator

__all__ = ["judge"]

_RANKS: Final = 2
_TOLERANCES: Final = {torch.float64: 1e-9, torch.complex128: 1e-9, torch.float16: 1e-2, torch.bfloat16: 3e-2}


@contextlib.contextmanager
def judge() -> Iterator[Callable[[Operator, Sequence[Any]], tuple[str, Sequence[str]]]]:
    """Have this process play ranks, and give what says how a call differs on them, "" where it does not, or PyTorch
    is not given the operator; nothing is missing. It takes all arguments, ours."""
    is_mine = not dist.is_initialized()
    if is_mine:
        dist.init_process_group("fake", rank=0, world_size=_RANKS, store=FakeStore())  # type: ignore[no-untyped-call]
    try:
        with LocalTensorMode(_RANKS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mesh = init_device_mesh("cpu", (_RANKS,))
            yield lambda operator, values: (_problem(operator, values, mesh), ())
    finally:
        if is_mine:
            dist.destroy_process_group()


def _problem(operator: Operator, values: Sequence[Any], mesh: Any) -> str:
    try:
        overload = overload_named(operator.name)
    except RuntimeError:
        return ""
    call = _Call(operator, overload, values)
    for outs, ins in call.rows():
        if why := call.wrong(outs, ins, mesh):
            return f"placed as {' '.join(map(str, ins))} -> {' '.join(map(str, outs))}: {why}"
    return ""


class _Call:
    """One call of an operator of PyTorch, whole and in parts."""

    def __init__(self, operator: Operator, overload: torch._ops.OpOverload, values: Sequence[Any]) -> None:
        self._overload = overload
        self._arguments = Arguments(operator, overload._schema)
        self._keywords = [each.name for each in self._overload._schema.arguments if each.kwarg_only]
        self._values = [theirs_of(value) for value in values]
        self._sizes = [tuple(each.shape) for each in _tensors(self._values)]
        self._has_gradients = True
        self._whole = self._run(lambda tensor, _: self._leaf(tensor.clone()))

    def rows(self) -> list[Any]:
        """Return the rows of placements in which each rank has some of each tensor."""
        has_halos = isinstance(DTensor._op_dispatcher._custom_op_handlers.get(self._overload), Halos)
        found: list[Any] = Sharded(self._arguments).rows(self._values, {}, _RANKS if has_halos else 0)
        return [
            (outs, ins)
            for outs, ins in found
            if all(size[each.dim] >= _RANKS for size, each in zip(self._sizes, ins, strict=True) if each.is_shard())
        ]

    def wrong(self, outs: Sequence[Any], ins: Sequence[Any], mesh: Any) -> str:
        """Return how results and gradients differ from those of the whole, "" where they do not."""
        try:
            found = self._run(lambda tensor, n: self._leaf(_placed(tensor, ins[n], mesh)))
        except Exception as error:
            return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        for what, one, two in zip(("results", "gradients"), found, self._whole, strict=True):
            if len(one) != len(two):
                return f"{len(one)} {what}, and not {len(two)}"
            for number, (part, whole) in enumerate(zip(one, two, strict=True)):
                if why := _different(part, whole):
                    return f"{what} {number + 1}: {why}"
        placed = [each.placements[0] for each in found[0] if isinstance(each, DTensor)]
        return f"results are placed as {placed}" if placed[: len(outs)] != list(outs) else ""

    def _leaf(self, tensor: Any) -> Any:
        """Return a tensor of which gradients are asked, unless the operator writes."""
        is_asked = not self._arguments.written and (tensor.dtype.is_floating_point or tensor.dtype.is_complex)
        return tensor.detach().requires_grad_(is_asked)

    def _run(self, made: Any) -> tuple[list[Any], list[Any]]:
        """Return results and gradients for tensors that are made of the call's, by their number."""
        given: list[Any] = []

        def convert(value: Any) -> Any:
            if isinstance(value, (list, tuple)):
                return type(value)(map(convert, value))
            if isinstance(value, torch.Tensor):
                given.append(made(value, len(given)))
                return given[-1]
            return value

        values = [convert(value) for value in self._values]
        count = len(values) - len(self._keywords)
        results = tree_leaves(self._overload(*values[:count], **dict(zip(self._keywords, values[count:], strict=True))))
        results = [each for each in results if isinstance(each, torch.Tensor)]
        if self._arguments.written:
            return [*results, *given], []
        losses = [_size(each) for each in results if each.requires_grad]
        inputs = [each for each in given if each.requires_grad]
        if not losses or not inputs or not self._has_gradients:
            return results, []
        try:
            return results, list(torch.autograd.grad(sum(losses[1:], losses[0]), inputs, allow_unused=True))
        except Exception:
            if hasattr(self, "_whole"):
                raise
            self._has_gradients = False  # (an operator may have none, and says so when they are asked for)
            return results, []


def _placed(tensor: torch.Tensor, placement: Any, mesh: Any) -> Any:
    """Return a DTensor of a tensor; of partial results, shares of it."""
    if isinstance(placement, Partial):
        whole = tensor if placement.reduce_op == "sum" else tensor * _RANKS
        parts = dict(enumerate(map(torch.from_numpy, summands(whole.detach().numpy()))))
        found = DTensor.from_local(LocalTensor(parts), mesh, [placement], run_check=False)
    else:
        found = distribute_tensor(tensor.clone(), mesh, [placement])  # whose memory the call may write to
    return found


def _different(part: Any, whole: Any) -> str:
    if part is None or whole is None:
        return "" if part is whole else "there is none"
    found = part.full_tensor() if isinstance(part, DTensor) else part
    for rank, each in found._local_tensors.items() if isinstance(found, LocalTensor) else [(0, found)]:
        if each.shape != whole.shape or each.dtype != whole.dtype:
            return f"{each.dtype}{list(each.shape)}, and not {whole.dtype}{list(whole.shape)}"
        tolerance = _TOLERANCES.get(whole.dtype, 1e-4)
        close = torch.isclose(each.detach(), whole.detach(), rtol=tolerance, atol=tolerance, equal_nan=True)
        if not close.all():
            at = tuple((~close).nonzero()[0].tolist())
            return f"{each[at].item():g} at {list(at)} of rank {rank}, and not {whole[at].item():g}"
    return ""


def _size(tensor: torch.Tensor) -> torch.Tensor:
    return (tensor.abs() if tensor.is_complex() else tensor).square().sum()


def _tensors(values: Sequence[Any]) -> list[torch.Tensor]:
    return [each for each in tree_leaves(list(values)) if isinstance(each, torch.Tensor)]
