"""Families of operators that count dimensions: along some of them, over all of them, or with sizes for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from opwright.batching.loop import looping, unbatched_write
from opwright.batching.results import as_results, batched_results
from opwright.batching.samples import call_sample, refuse_as_sample
from opwright.batching.tables import BatchRule
from opwright.dimensions import families
from opwright.namespaces import aten, ops
from opwright_core.arrays.devices import shape_of
from opwright_core.dispatch.call.lookup import find1
from opwright_core.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright.batching.batching import Batching
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["Along", "Everything"]


class Along(families.Along):
    """The family of operators that work along dimensions of their operands, whose other dimensions they keep."""

    __slots__ = ()

    def rule_of(self, operator: Operator) -> BatchRule:
        """Return the rule: the batch comes first, and every dimension is one further on."""
        is_inplace = 0 in operator.signature.written
        is_quick = self.operands == (0,) and len(self.dims) == 1 and not (self.new or self.sizes or is_inplace)
        position = self.dims[0] if is_quick else 0

        def rule(level: Batching, *args: Any) -> Any:
            if is_quick and (dim := args[position]) is not None and dim != [] and type(args[0]) is Tensor:
                value = level.front(args[0])
                moved = _moved(dim, len(shape_of(value.array)) - 1)
                if moved is not None:
                    result = operator.call(value, *args[1:position], moved, *args[position + 1 :])
                    return level.put(result, 0) if type(result) is Tensor else batched_results(level, operator, result)
            if is_inplace and not level.is_batched(args[0]):
                raise RuntimeError(unbatched_write(operator, args))
            ranks = [rank for position in self.operands for rank in _ranks(level, args[position])]
            if 0 in ranks and not self.new and not self.sizes:
                result = self._of_numbers(level, operator, args)
            else:
                result = self._call(
                    level, operator, args, ranks[0], [self._value(level, args, p) for p in self.operands]
                )
            return args[0] if is_inplace else batched_results(level, operator, result)

        return rule

    def _value(self, level: Batching, args: Sequence[Any], position: int) -> Any:
        value = args[position]
        if value is None:
            return None
        if type(value) is list:
            return [level.expanded(each) for each in _joined(level, value)]
        return level.expanded(value)

    def _call(self, level: Batching, operator: Operator, args: Sequence[Any], rank: int, values: Sequence[Any]) -> Any:
        found = list(args)
        for position, value in zip(self.operands, values, strict=True):
            found[position] = value
        for position in self.sizes:
            found[position] = [level.size, *_without_unknown(level, args, found[position])]
        for position in self.dims:
            given = found[position]
            is_list = "[" in operator.signature.types[position]
            if given is None and not is_list:
                return self._flat(level, operator, found, position, rank)
            if given is None or (not given and is_list and self.empty_is_all):
                found[position] = list(range(1, max(rank, 1) + 1))
            else:
                found[position] = self._shifted(level, operator, args, given, max(rank, 1))
        for position in self.new:
            found[position] = self._shifted(level, operator, args, found[position], rank + 1)
        return operator.call(*found)

    def _shifted(self, level: Batching, operator: Operator, args: Sequence[Any], given: Any, count: int) -> Any:
        """Return dimensions of samples, of which there are `count`, as dimensions of the batch."""
        dims = given if type(given) is list else [given]
        if any(not -count <= each < count for each in dims):
            refuse_as_sample(level, operator, args)
        moved = [each % count + 1 for each in dims]
        return moved if type(given) is list else moved[0]

    def _flat(self, level: Batching, operator: Operator, found: list[Any], position: int, rank: int) -> Any:
        """Return what the operator gives for all elements of each sample."""
        found[0] = flattened(level, found[0])
        found[position] = 1
        result = operator.call(*found)

        def kept(value: Any) -> Any:
            return aten["view.default"](value, [level.size, *[1] * rank]) if value.ndim == 2 else value

        return tuple([kept(each) for each in result]) if isinstance(result, tuple) else kept(result)

    def _of_numbers(self, level: Batching, operator: Operator, args: Sequence[Any]) -> Any:
        """Return the result where an operand has no dimensions: it stands for one with a single one, and a sample says
        what the result looks like."""
        one = call_sample(level, operator, args)
        values = [self._value(level, args, position) for position in self.operands]
        values = [
            aten["unsqueeze.default"](value, 1) if type(value) is Tensor and value.ndim == 1 else value
            for value in values
        ]
        result = self._call(level, operator, args, max(values[0].ndim - 1, 0), values)
        if isinstance(result, tuple | list):
            made = [_like(level, *pair) for pair in zip(result, one, strict=True)]
            return made if type(result) is list else tuple(made)
        return _like(level, result, one)


def _moved(dim: Any, rank: int) -> Any:
    """Return dimensions of a sample as those of the batch; None where they are none of it."""
    if type(dim) is int:
        return (dim % rank + 1) if -rank <= dim < rank else None
    if type(dim) is list and all(-rank <= each < rank for each in dim):
        return [each % rank + 1 for each in dim]
    return None


def _like(level: Batching, value: Any, one: Any) -> Any:
    if not value.numel() and one.numel():
        return level.repeated(one)
    return aten["reshape.default"](value, [level.size, *one.shape])


def _without_unknown(level: Batching, args: Sequence[Any], sizes: Sequence[int]) -> Sequence[int]:
    """Return sizes with the one that -1 stands for, where there are no samples that it would follow from."""
    if level.size != 0 or -1 not in sizes:
        return sizes
    known = -math.prod(sizes)
    return [math.prod(args[0].shape) // known if each == -1 and known > 0 else each for each in sizes]


def _ranks(level: Batching, value: Any) -> list[int]:
    if value is None:
        return []
    return [level.rank(each) for each in _joined(level, value)] if type(value) is list else [level.rank(value)]


def _joined(level: Batching, values: list[Any]) -> list[Any]:
    """Return the tensors without those that `cat` skips: empty ones of one dimension, beside others."""
    if len({level.rank(each) for each in values}) > 1:
        return [each for each in values if each.ndim != 1 or each.shape[0]] or values
    return values


def flattened(level: Batching, value: Any) -> Any:
    """Return a value, whose batch comes first, with one dimension for all of each sample."""
    return aten["reshape.default"](value, [level.size, math.prod(value.shape[1:])])


class Everything(families.Everything):
    """The family of operators that reduce all elements of an operand to a number, and have an overload with `dim`."""

    __slots__ = ()

    def rule_of(self, operator: Operator) -> BatchRule:
        """Return the rule: each sample is reduced over its only dimension. Without such an overload, it is a loop."""
        found = _along_one(operator)
        if found is None:
            return looping(operator)
        other, dim = found
        count = len(operator.signature.returns)
        position = self.operand
        one = [1] if "[" in other.signature.types[dim] else 1
        positions = {**operator.signature.positions, other.signature.names[dim]: -1}
        defaults = dict(zip(other.signature.names, other.signature.defaults, strict=True))
        defaults |= {"keepdim": False, other.signature.names[dim]: one}
        # Of each argument of the other overload, which one of this is it? -1: none, but a value.
        sources = [(positions.get(name, -1), defaults[name]) for name in other.signature.names]
        find = find1 if len(other.signature.tensors) == 1 else _call_of

        def rule(level: Batching, *args: Any) -> Any:
            value = level.front(args[position])
            if value is None:
                return looping(operator)(level, *args)
            if value.ndim != 2:
                value = flattened(level, value)
            if value.shape[1] == 0:
                return as_results(operator, call_sample(level, operator, args), lambda one: _repeated(level, one))
            values = [value if at == position else args[at] if at >= 0 else default for at, default in sources]
            result = find(other, value)(*values)
            if isinstance(result, tuple | list) and count == 1:
                result = result[0]
            return batched_results(level, operator, result)

        return rule


def _call_of(operator: Operator, value: Any) -> Callable[..., Any]:
    return operator.call


def _repeated(level: Batching, one: Any) -> Any:
    return level.put(level.repeated(one), 0)


def _along_one(operator: Operator) -> tuple[Operator, int] | None:
    """Return the overload that takes a dimension besides, and where it takes it."""
    packet = getattr(getattr(ops, operator.namespace), operator.base)
    names = set(operator.signature.names)
    for overload in packet.overloads():
        other: Operator = getattr(packet, overload)
        signature = other.signature
        dim = signature.positions.get("dim", -1)
        takes_all = other is not operator and names <= set(signature.names) and not signature.written
        if takes_all and dim >= 0 and signature.types[dim].startswith("int"):
            return other, dim
    return None
