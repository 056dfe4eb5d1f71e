"""Families of operators by what cutting their dimensions costs, as the part that each argument plays says.

A family labels the dimensions of an operator's tensors. Those with the same number are cut alike, and each block of the
result needs one block of each; those with None are needed whole, or parts are put together as `combined` says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from opwright.dimensions.kinds import AGAIN, SUM, Kind

__all__ = [
    "Along",
    "ByHand",
    "Elementwise",
    "Everything",
    "Family",
    "Folded",
    "Key",
    "Kinds",
    "Labels",
    "Leading",
    "Product",
    "Reducing",
    "Shapes",
    "Whole",
    "keys_of",
    "whole",
]

Key = int | tuple[int, int]  # the position of an argument, and in a list of tensors
# By Key (which is said here, since keys of mappings are invariant):
Labels = dict[Any, tuple[int | None, ...]]  # one for each dimension of a tensor
Shapes = Mapping[Any, tuple[Any, ...]]
Kinds = dict[tuple[Any, int], Kind]  # by tensor and dimension
Places = int | Sequence[int]


class Family(Protocol):
    """A family of operators whose blocks follow from each other alike."""

    reason: str  # why what has no label is needed whole

    def labels(self, shapes: Shapes, values: Sequence[Any]) -> Labels:
        """Return the labels of dimensions of the tensors at these positions, in a call with these arguments."""

    def combined(self, shapes: Shapes, values: Sequence[Any]) -> tuple[Labels, Kinds]:
        """Return labels with those of dimensions by which parts of the result are put together, and how they are."""


class Whole:
    """The family of operators whose tensors are needed whole; a base of those in which no parts are put together."""

    __slots__ = ()
    reason = "its elements are needed together"

    def labels(self, shapes: Shapes, values: Sequence[Any]) -> Labels:
        """Return no labels."""
        return whole(shapes)

    def combined(self, shapes: Shapes, values: Sequence[Any]) -> tuple[Labels, Kinds]:
        """Return the labels alone."""
        return self.labels(shapes, values), {}


class Elementwise(Whole):
    """The family of operators whose operands, at these positions, broadcast with each other.

    Of those in `promoted` dtypes are promoted together. `onto_first`: the others broadcast to the first one's shape.
    """

    __slots__ = ("onto_first", "operands", "promoted")

    def __init__(self, *operands: int, masks: Sequence[int] = (), onto_first: bool = False) -> None:
        self.operands = operands
        self.promoted = () if onto_first else tuple([each for each in operands if each not in masks])
        self.onto_first = onto_first

    def labels(self, shapes: Shapes, values: Sequence[Any]) -> Labels:
        """Return labels counted from the last dimension, as broadcasting counts."""
        return _aligned(shapes, [(position, 0) for position in self.operands])


class Reducing(Elementwise):
    """The family of losses: elementwise, then reduced as the number at `reduction` says: a mean (1), a sum (2)."""

    __slots__ = ("reduction",)
    reason = "a mean of means is not the mean"

    def __init__(self, *operands: int, reduction: int, masks: Sequence[int] = (), onto_first: bool = False) -> None:
        super().__init__(*operands, masks=masks, onto_first=onto_first)
        self.reduction = reduction

    def labels(self, shapes: Shapes, values: Sequence[Any]) -> Labels:
        """Return labels where nothing is reduced."""
        return super().labels(shapes, values) if values[self.reduction] == 0 else whole(shapes)

    def combined(self, shapes: Shapes, values: Sequence[Any]) -> tuple[Labels, Kinds]:
        """Return all labels, of a sum; but those of dimensions that broadcast."""
        found = super().labels(shapes, values)
        if values[self.reduction] != 2:
            return self.labels(shapes, values), {}
        return found, {(key, dim): SUM for key, own in found.items() for dim, label in enumerate(own)}


class Leading(Whole):
    """The family of operators on the last dimensions of their operands, before which batches broadcast.

    `operands` are positions, each with the number of dimensions that one operand without a batch has.
    """

    __slots__ = ("operands",)
    reason = "it is one of the last dimensions, of which nothing is said (dims)"

    def __init__(self, *operands: tuple[int, int]) -> None:
        self.operands = operands

    def labels(self, shapes: Shapes, values: Sequence[Any]) -> Labels:
        """Return labels for the dimensions of batches."""
        return _aligned(shapes, self.operands)


class Product(Whole):
    """The family of products of two operands, whose dimensions `signature` names: `(m,k),(k,n)->(m,n)`.

    A dimension that both operands have and the result has not is summed over. `...` stands for those that broadcast.
    `added`, `beta` and `alpha` are positions, of what is added and of the factors.
    """

    __slots__ = ("added", "alpha", "beta", "first", "kept", "left", "right", "second", "signature")
    reason = "what is added would be added to each part"

    def __init__(
        self, signature: str, first: int, second: int, added: int | None = None, beta: int = -1, alpha: int = -1
    ) -> None:
        inputs, _, output = signature.partition("->")
        self.left, self.right = [group.strip("()").split(",") for group in inputs.split("),(")]
        self.kept = [name for name in output.strip("()").split(",") if name]
        self.signature = signature
        self.first = first
        self.second = second
        self.added = added
        self.beta = beta
        self.alpha = alpha

    @property
    def is_plain(self) -> bool:
        """Whether nothing is added to the product."""
        return self.added is None

    def labels(self, shapes: Shapes, values: Sequence[Any]) -> Labels:
        """Return labels for all dimensions of the result."""
        return {
            position: tuple([None if each in self.summed() else each for each in labels])
            for position, labels in self.all_labels(shapes).items()
        }

    def combined(self, shapes: Shapes, values: Sequence[Any]) -> tuple[Labels, Kinds]:
        """Return the labels of what is summed over, too, if nothing is added."""
        if not self.is_plain:
            return self.labels(shapes, values), {}
        found, summed = self.all_labels(shapes), self.summed()
        return found, {
            (key, dim): SUM for key, own in found.items() for dim, label in enumerate(own) if label in summed
        }

    def summed(self) -> tuple[int, ...]:
        """Return the labels of dimensions that are summed over."""
        order = self._order()
        return tuple([order.index(name) for name in order if name not in self.kept])

    def all_labels(self, shapes: Shapes) -> Labels:
        """Return labels for all dimensions of the two operands, those that are summed over too."""
        order = self._order()
        found: Labels = whole(shapes)
        for position, names in ((self.first, self.left), (self.second, self.right)):
            own = [name for name in names if name != "..."]
            extra = len(shapes[position]) - len(own)
            if extra < 0 or (extra and "..." not in names):
                return whole(shapes)
            found[position] = (*range(-extra, 0), *[order.index(name) for name in own])
        if self.added is not None and self.added in shapes and len(shapes[self.added]) <= len(self.kept):
            last = self.kept[len(self.kept) - len(shapes[self.added]) :]
            found[self.added] = tuple([order.index(name) for name in last])
        return found

    def _order(self) -> list[str]:
        return [name for name in dict.fromkeys([*self.left, *self.right]) if name != "..."]


class Folded(Whole):
    """The family of operators on images, of `core` dimensions with their channels, which may have a dimension N."""

    __slots__ = ("core", "operands")
    reason = "an image is needed whole"

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


class Everything(Whole):
    """The family of operators that reduce all elements of an operand. `combines`: the result of results of parts is
    that of the whole; a word (sum, max, min) says what else puts them together."""

    __slots__ = ("combines", "operand")
    reason = "all elements are reduced together, and nothing says that parts may be (combines)"

    def __init__(self, operand: int, combines: bool | str = False) -> None:
        self.operand = operand
        self.combines = combines

    def combined(self, shapes: Shapes, values: Sequence[Any]) -> tuple[Labels, Kinds]:
        """Return the labels of all dimensions, if parts combine."""
        rank = len(shapes[self.operand])
        return whole(shapes), {(self.operand, d): AGAIN.by(self.combines) for d in range(rank) if self.combines}

    def over(self, rank: int, values: Sequence[Any]) -> tuple[int, ...]:
        """Return the dimensions that a call reduces: all."""
        return tuple(range(rank))


class Along(Whole):
    """The family of operators that work along dimensions of their operands, whose other dimensions they keep.

    All numbers are positions: of operands, of their dimensions (`dim`; None, and with `empty_is_all` an empty list,
    stands for all of them), of dimensions that are new in the result (`new`), and of sizes of the result (`size`).
    `combines`: the reduction of reductions of parts is that of the whole, or a word (sum, max, min) says what puts them
    together; and for operators that keep the dimension, a part goes on from the last element of the part before.
    """

    __slots__ = ("combines", "dims", "empty_is_all", "new", "operands", "sizes")
    reason = "the operator works along it"

    def __init__(
        self,
        *operands: int,
        dim: Places = (),
        new: Places = (),
        size: Places = (),
        empty_is_all: bool = False,
        combines: bool | str = False,
    ) -> None:
        self.operands = operands
        self.dims = _positions(dim)
        self.new = _positions(new)
        self.sizes = _positions(size)
        self.empty_is_all = empty_is_all
        self.combines = combines

    def labels(self, shapes: Shapes, values: Sequence[Any]) -> Labels:
        """Return a label for each dimension that the call does not name, where operands agree in these."""
        keys = [key for position in self.operands for key in keys_of(shapes, position)]
        given = [shapes[key] for key in keys]
        over = self.over(len(given[0]), values) if given else ()
        kept = {tuple([size for position, size in enumerate(shape) if position not in over]) for shape in given}
        if len({len(shape) for shape in given}) > 1 or len(kept) != 1:
            return whole(shapes)
        found = tuple([None if position in over else position for position in range(len(given[0]))])
        return whole(shapes) | dict.fromkeys(keys, found)

    def combined(self, shapes: Shapes, values: Sequence[Any]) -> tuple[Labels, Kinds]:
        """Return how parts of the dimensions that the call names combine, if they do: those of several operands have
        labels in common, and a word says by what."""
        labels, keys = self.labels(shapes, values), [key for each in self.operands for key in keys_of(shapes, each)]
        if not self.combines or (len(keys) > 1 and len({shapes[key] for key in keys}) > 1):
            return labels, {}
        rank, several = len(shapes[keys[0]]), len(keys) > 1
        over = [dim for dim in self.over(rank, values) if 0 <= dim < rank]
        for key in keys if several else ():
            labels[key] = tuple([rank + dim if dim in over else label for dim, label in enumerate(labels[key])])
        return labels, {(key, dim): AGAIN.by(self.combines) for key in keys for dim in over}

    def over(self, rank: int, values: Sequence[Any]) -> tuple[int, ...]:
        """Return the dimensions that a call names."""
        found: set[int] = set()
        for position in self.dims:
            dims = values[position]
            if dims is None or (self.empty_is_all and not isinstance(dims, int) and not dims):
                return tuple(range(rank))
            found |= {each + rank if each < 0 else each for each in ([dims] if isinstance(dims, int) else dims)}
        return tuple(sorted(found))


class ByHand(Whole):
    """The family of operators with a batching rule of their own, a function that is imported when it is needed."""

    __slots__ = ("module", "name")
    reason = ""

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name


def whole(shapes: Shapes) -> Labels:
    """Return the labels of tensors that are all needed whole."""
    return {position: (None,) * len(shape) for position, shape in shapes.items()}


def keys_of(shapes: Shapes, position: int) -> list[Key]:
    """Return the keys of the tensors of an argument: one, those of a list, or none."""
    return [key for key in shapes if key == position or (isinstance(key, tuple) and key[0] == position)]


def _positions(given: Places) -> tuple[int, ...]:
    return (given,) if isinstance(given, int) else tuple(given)


def _aligned(shapes: Shapes, operands: Sequence[tuple[int, int]]) -> Labels:
    """Return labels of what stands before the last dimensions of operands, counted from their ends."""
    given = [(key, len(shapes[key]) - core) for position, core in operands for key in keys_of(shapes, position)]
    most = max([rank for _, rank in given], default=0)
    found = whole(shapes)
    for key, rank in given:
        found[key] = (*range(most - rank, most), *[None] * (len(shapes[key]) - max(rank, 0)))
    return found
