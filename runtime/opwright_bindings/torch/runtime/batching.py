"""Rules for `torch.vmap`, by the part that arguments play: the same families as our own `vmap` has.

An operator without one is called for each sample by PyTorch itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch

from opwright.dimensions import families
from opwright_bindings.torch.runtime.arguments import Arguments
from opwright_bindings.torch.runtime.samples import Batch, Rule

__all__ = ["Along", "Elementwise", "Everything", "Family", "Reducing"]


class Family(Protocol):
    """A family of operators that are batched alike."""

    def rule_of(self, overload: torch._ops.OpOverload, arguments: Arguments) -> Rule:
        """Return the rule `(info, in_dims, *args, **kwargs)` of one operator."""


class Elementwise(families.Elementwise):
    """The family of operators whose operands broadcast with each other."""

    __slots__ = ()

    def rule_of(self, overload: torch._ops.OpOverload, arguments: Arguments) -> Rule:
        """Return the rule: sizes of 1 stand behind the batch, so that samples broadcast as they would alone."""

        def rule(info: Any, in_dims: Sequence[Any], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
            batch = Batch(info, in_dims, args, kwargs, arguments)
            _align(self, batch)
            return batch.called(overload)

        return rule


def _align(family: families.Elementwise, batch: Batch) -> None:
    """Put sizes of 1 behind the batch of operands."""
    operands = [position for position in family.operands if isinstance(batch.values[position], torch.Tensor)]
    _promote(batch, [position for position in operands if position in family.promoted])
    most = max(batch.rank(position) for position in operands)
    for position in operands:
        if family.onto_first and position == family.operands[0]:
            batch.values[position] = batch.expanded(position)
        elif batch.dims[position] is not None:
            batch.values[position] = batch.padded(position, most)


def _promote(batch: Batch, positions: Sequence[int]) -> None:
    """Cast operands as samples are promoted: one without dimensions gives way, and its batch would not."""
    values = [batch.values[position] for position in positions]
    if len({value.dtype for value in values}) < 2 or all(batch.rank(position) for position in positions):
        return
    samples = [value if dim is None else value.select(dim, 0) for value, dim in batch.of(positions)]
    dtype = samples[0].dtype
    dtype = _promoted(samples) if len(samples) > 1 else dtype
    for position in positions:
        batch.values[position] = batch.values[position].to(dtype)


class Reducing(families.Reducing):
    """The family of losses: elementwise, and then reduced."""

    __slots__ = ()

    def rule_of(self, overload: torch._ops.OpOverload, arguments: Arguments) -> Rule:
        """Return the rule: the elementwise loss of all samples, reduced for each."""

        def rule(info: Any, in_dims: Sequence[Any], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
            batch = Batch(info, in_dims, args, kwargs, arguments)
            reduction, batch.values[self.reduction] = batch.values[self.reduction], 0
            _align(self, batch)
            losses, _ = batch.called(overload)
            if reduction and losses.dim() > 1:
                losses = losses.flatten(1)
                losses = losses.mean(1) if reduction == 1 else losses.sum(1, dtype=losses.dtype)
            return losses, 0

        return rule


def _promoted(samples: Sequence[torch.Tensor]) -> torch.dtype:
    with_dims = [each.new_empty(1, device="meta") for each in samples if each.dim()]
    without = [each.new_empty((), device="meta") for each in samples if not each.dim()]
    found = [*with_dims, *without]
    result = found[0]
    for each in found[1:]:
        result = torch.empty((1,) if with_dims else (), dtype=torch.result_type(result, each), device="meta")
    return result.dtype


class Along(families.Along):
    """The family of operators along dimensions, which are counted after the batch."""

    __slots__ = ()

    def rule_of(self, overload: torch._ops.OpOverload, arguments: Arguments) -> Rule:
        """Return the rule: operands have the batch first, and dimensions are one more."""

        def rule(info: Any, in_dims: Sequence[Any], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
            batch = Batch(info, in_dims, args, kwargs, arguments)
            operands = [position for position in self.operands if isinstance(batch.values[position], torch.Tensor)]
            rank = max(batch.rank(position) for position in operands)
            if rank == 0 or self.sizes:
                return batch.looped(overload)
            for position in operands:
                batch.values[position] = batch.expanded(position)
            for position in self.dims:
                if batch.values[position] is None and not _takes_lists(overload, position):
                    return self._flat(overload, batch, operands, position, rank)
                batch.values[position] = self._moved(batch.values[position], rank)
            for position in self.new:
                batch.values[position] = self._moved(batch.values[position], rank + 1)
            return batch.called(overload)

        return rule

    @staticmethod
    def _flat(
        overload: torch._ops.OpOverload, batch: Batch, operands: Sequence[int], position: int, rank: int
    ) -> tuple[Any, Any]:
        """Return what the operator gives for all elements of each sample, along the only dimension of these."""
        for each in operands:
            batch.values[each] = batch.values[each].flatten(1)
        batch.values[position] = 1
        result, dims = batch.called(overload)

        def kept(value: torch.Tensor) -> torch.Tensor:
            return value.reshape(batch.size, *[1] * rank) if value.dim() == 2 else value

        return (tuple([kept(each) for each in result]) if isinstance(result, tuple) else kept(result)), dims

    def _moved(self, dim: Any, rank: int) -> Any:
        if dim is None or (self.empty_is_all and isinstance(dim, (list, tuple)) and not dim):
            return list(range(1, rank + 1))
        if isinstance(dim, (list, tuple)):
            return [self._moved(each, rank) for each in dim]
        return dim if dim < 0 else dim + 1


def _takes_lists(overload: torch._ops.OpOverload, position: int) -> bool:
    return "List" in str(overload._schema.arguments[position].real_type)


class Everything(families.Everything):
    """The family of operators that reduce all elements of an operand, and have an overload with `dim`."""

    __slots__ = ()

    def rule_of(self, overload: torch._ops.OpOverload, arguments: Arguments) -> Rule:
        """Return the rule: each sample is reduced over its only dimension. Without such an overload, it is a loop."""

        def rule(info: Any, in_dims: Sequence[Any], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
            batch = Batch(info, in_dims, args, kwargs, arguments)
            other = self._along_one(overload)
            if other is None or batch.dims[self.operand] is None:
                return batch.looped(overload)
            value = batch.expanded(self.operand).reshape(batch.size, -1)
            if value.shape[1] == 0:
                return batch.looped(overload)
            named = dict(zip(arguments.names, batch.values, strict=True)) | {arguments.names[self.operand]: value}
            kind = next(str(each.real_type) for each in other._schema.arguments if each.name == "dim")
            result = other(**named, dim=[1] if "List" in kind else 1)
            return (result[0] if isinstance(result, tuple) and len(overload._schema.returns) == 1 else result), 0

        return rule

    @staticmethod
    def _along_one(overload: torch._ops.OpOverload) -> torch._ops.OpOverload | None:
        """Return the overload that takes a dimension besides."""
        packet = overload.overloadpacket
        own = {each.name for each in overload._schema.arguments}
        for name in packet.overloads():
            other: torch._ops.OpOverload = getattr(packet, name)
            taken = {each.name for each in other._schema.arguments}
            needed = {each.name for each in other._schema.arguments if not each.has_default_value()}
            is_out = any(each.alias_info is not None for each in other._schema.arguments)
            if "dim" in taken and own <= taken and needed <= {*own, "dim"} and not is_out:
                return other
        return None
