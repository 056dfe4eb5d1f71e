"""Families of operators by which dimensions are cut into blocks, as the part that each argument plays says.

A family labels the dimensions of an operator's tensors. Those with the same number are cut alike, and each block of the
result needs one block of each; those with None are needed whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

__all__ = [
    "Along",
    "Elementwise",
    "Everything",
    "Family",
    "Folded",
    "Labels",
    "Leading",
    "Product",
    "Reducing",
    "Shapes",
    "whole",
]

Labels = dict[int, tuple[int | None, ...]]  # by the position of an argument, one for each of its dimensions
Shapes = Mapping[int, tuple[Any, ...]]


class Family(Protocol):
    """A family of operators whose blocks follow from each other alike."""

    def labels(self, shapes: Shapes, values: Sequence[Any]) -> Labels:
        """Return the labels of dimensions of the tensors at these positions, in a call with these arguments."""


class Elementwise:
    """The family of operators whose operands, at these positions, broadcast with each other."""

    def __init__(self, *operands: int, masks: Sequence[int] = (), onto_first: bool = False) -> None:
        self.operands = operands

    def labels(self, shapes: Shapes, values: Sequence[Any]) -> Labels:
        """Return labels counted from the last dimension, as broadcasting counts."""
        return _aligned(shapes, [(position, 0) for position in self.operands])


class Reducing(Elementwise):
    """The family of losses: elementwise, then reduced as the argument at `reduction` says."""

    def __init__(self, *operands: int, reduction: int, masks: Sequence[int] = (), onto_first: bool = False) -> None:
        super().__init__(*operands, masks=masks, onto_first=onto_first)
        self.reduction = reduction

    def labels(self, shapes: Shapes, values: Sequence[Any]) -> Labels:
        """Return labels where nothing is reduced."""
        return super().labels(shapes, values) if values[self.reduction] == 0 else whole(shapes)


class Leading:
    """The family of operators on the last dimensions of their operands, before which batches broadcast.

    `operands` are positions, each with the number of dimensions that one operand without a batch has.
    """

    def __init__(self, *operands: tuple[int, int]) -> None:
        self.operands = operands

    def labels(self, shapes: Shapes, values: Sequence[Any]) -> Labels:
        """Return labels for the dimensions of batches."""
        return _aligned(shapes, self.operands)


class Product:
    """The family of products of two operands, whose dimensions `signature` names: `(m,k),(k,n)->(m,n)`.

    A dimension that both operands have and the result has not is summed over. `...` stands for those that broadcast.
    """

    def __init__(self, signature: str, *operands: int) -> None:
        inputs, _, output = signature.partition("->")
        self.names = [group.strip("()").split(",") for group in inputs.split("),(")]
        self.kept = output.strip("()").split(",")
        self.operands = operands[:2]
        self.is_plain = len(operands) == 2  # nothing is added to the product

    def labels(self, shapes: Shapes, values: Sequence[Any]) -> Labels:
        """Return labels for all dimensions of the result."""
        return {
            position: tuple([None if each in self.summed() else each for each in labels])
            for position, labels in self.all_labels(shapes).items()
        }

    def summed(self) -> tuple[int, ...]:
        """Return the labels of dimensions that are summed over."""
        order = self._order()
        return tuple([order.index(name) for name in order if name not in self.kept])

    def all_labels(self, shapes: Shapes) -> Labels:
        """Return labels for all dimensions of the two operands, those that are summed over too."""
        order = self._order()
        found: Labels = whole(shapes)
        for position, names in zip(self.operands, self.names, strict=True):
            own = [name for name in names if name != "..."]
            extra = len(shapes[position]) - len(own)
            if extra < 0 or (extra and "..." not in names):
                return whole(shapes)
            found[position] = (*range(-extra, 0), *[order.index(name) for name in own])
        return found

    def _order(self) -> list[str]:
        return [name for name in dict.fromkeys([*self.names[0], *self.names[1]]) if name != "..."]


class Folded:
    """The family of operators on images of `core` dimensions, which may have a dimension N before them."""

    def __init__(self, *operands: int, core: int) -> None:
        self.operands = operands
        self.core = core

    def labels(self, shapes: Shapes, values: Sequence[Any]) -> Labels:
        """Return one label, that of N, if there is one."""
        has_batch = len(shapes[self.operands[0]]) == self.core + 1
        return whole(shapes) | {
            position: (0, *[None] * (len(shapes[position]) - 1))
            for position in self.operands
            if has_batch and position in shapes
        }


class Everything:
    """The family of operators on all dimensions. `combines`: the result of results of parts is that of the whole."""

    def __init__(self, *operands: int, combines: bool = False) -> None:
        self.operands = operands
        self.combines = combines

    def labels(self, shapes: Shapes, values: Sequence[Any]) -> Labels:
        """Return no labels."""
        return whole(shapes)

    def over(self, rank: int, values: Sequence[Any]) -> tuple[int, ...]:
        """Return the dimensions that a call reduces: all."""
        return tuple(range(rank))


class Along:
    """The family of operators along dimensions: those at the positions `dim` are needed whole, the others are not.

    `empty_is_all`: no dimensions are all of them. `combines`: the reduction of reductions of parts is that of the
    whole; and for operators that keep the dimension, a part goes on from the last element of the part before.
    """

    def __init__(
        self,
        *operands: int,
        dim: int | Sequence[int] = (),
        new: int | Sequence[int] = (),
        empty_is_all: bool = False,
        combines: bool = False,
    ) -> None:
        self.operands = operands
        self.dims = (dim,) if isinstance(dim, int) else tuple(dim)
        self.empty_is_all = empty_is_all
        self.combines = combines

    def labels(self, shapes: Shapes, values: Sequence[Any]) -> Labels:
        """Return a label for each dimension that the call does not name, where operands agree in these."""
        given = [shapes[position] for position in self.operands if position in shapes]
        over = self.over(len(given[0]), values)
        kept = {tuple([size for position, size in enumerate(shape) if position not in over]) for shape in given}
        if len({len(shape) for shape in given}) > 1 or len(kept) > 1:
            return whole(shapes)
        found = tuple([None if position in over else position for position in range(len(given[0]))])
        return whole(shapes) | {position: found for position in self.operands if position in shapes}

    def over(self, rank: int, values: Sequence[Any]) -> tuple[int, ...]:
        """Return the dimensions that a call names."""
        found: set[int] = set()
        for position in self.dims:
            dims = values[position]
            if dims is None or (self.empty_is_all and not isinstance(dims, int) and not dims):
                return tuple(range(rank))
            found |= {each + rank if each < 0 else each for each in ([dims] if isinstance(dims, int) else dims)}
        return tuple(sorted(found))


def whole(shapes: Shapes) -> Labels:
    """Return the labels of tensors that are all needed whole."""
    return {position: (None,) * len(shape) for position, shape in shapes.items()}


def _aligned(shapes: Shapes, operands: Sequence[tuple[int, int]]) -> Labels:
    """Return labels of what stands before the last dimensions of operands, counted from their ends."""
    given = [(position, len(shapes[position]) - core) for position, core in operands if position in shapes]
    most = max([rank for _, rank in given], default=0)
    found = whole(shapes)
    for position, rank in given:
        found[position] = (*range(most - rank, most), *[None] * (len(shapes[position]) - max(rank, 0)))
    return found
