"""Windows over dimensions: what of an operand each block of the result needs, and what of its own result it keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opwright.dimensions.families import Kinds, Labels, Shapes, whole
from opwright.dimensions.kinds import window

__all__ = ["At", "Piece", "Span", "Windows"]


@dataclass(frozen=True)
class At:
    """The argument at a position, for a number that is not known before a call."""

    place: int


@dataclass(frozen=True)
class Piece:
    """A block of the result: its operand's `start` and `stop`, of whose results those from `first` to `last` count."""

    start: int
    stop: int
    first: int
    last: int


@dataclass(frozen=True)
class Span:
    """The windows along a dimension: `extent` positions each, `stride` apart, the first `padding` positions before
    0."""

    extent: int
    stride: int
    padding: int

    def pieces(self, chunks: Sequence[int], count: int) -> list[Piece]:
        """Return the pieces of `count` windows, which begin in the chunks of an operand.

        An operator pads what it is given, as it pads the whole: what that spoils is computed besides and not kept.
        """
        size, cuts, end = sum(chunks), [0], 0
        for chunk in chunks[:-1]:
            end += chunk
            cuts.append(min(count, -(-end // self.stride)))
        spoilt = -(-self.padding // self.stride)
        found = []
        for first, last in zip(cuts, [*cuts[1:], count], strict=True):
            if first < last:
                skipped = max(0, first - spoilt)
                stop = (last - 1) * self.stride - self.padding + self.extent
                stop = size if last == count else min(size, stop)
                found.append(Piece(skipped * self.stride, stop, first - skipped, last - skipped))
        return found or [Piece(0, size, 0, count)]


class Windows:
    """The family of operators on windows over dimensions `dim` of an operand, counted from 0 or from the end.

    Windows have a `size` (that of the last dimensions of a tensor, for the weight of a convolution), a `stride`
    (their size where it is empty), `padding` and `dilation`, one for each dimension or for all; or they reach `before`
    and `after` each position. `whole` are dimensions that are needed whole. All are numbers, or arguments (`At`).
    """

    reason = "windows over it are apart from each other, or it is needed whole"

    def __init__(
        self,
        operand: int,
        *,
        dim: Any,
        size: Any = 1,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        before: Any = None,
        after: Any = None,
        whole: Any = (),
    ) -> None:
        self.operand = operand
        self.dim = dim
        self.windows = (size, stride, padding, dilation)
        self.reach = None if before is None and after is None else (before or 0, after or 0)
        self.whole = whole

    def labels(self, shapes: Shapes, values: Sequence[Any]) -> Labels:
        """Return labels for the dimensions without windows."""
        rank = len(shapes[self.operand])
        needed = {*self._dims(rank, self.dim, values), *self._dims(rank, self.whole, values)}
        own = tuple([None if position in needed else position for position in range(rank)])
        return whole(shapes) | {self.operand: own}

    def combined(self, shapes: Shapes, values: Sequence[Any]) -> tuple[Labels, Kinds]:
        """Return labels, and how far windows reach where there is one for each position."""
        found: Kinds = {}
        for dim, span in self.spans(shapes, values).items():
            if span.stride == 1:
                found[self.operand, dim] = window(span.padding, span.extent - 1 - span.padding)
        return self.labels(shapes, values), found

    def spans(self, shapes: Shapes, values: Sequence[Any]) -> Mapping[int, Span]:
        """Return how windows lie, by dimension."""
        dims = self._dims(len(shapes[self.operand]), self.dim, values)

        def each(value: Any) -> list[Any]:
            if isinstance(value, At):
                value = shapes[value.place][-len(dims) :] if value.place in shapes else values[value.place]
            found = list(value) if isinstance(value, (list, tuple)) else [value]
            return found * len(dims) if len(found) == 1 else found

        if self.reach is not None:
            before, after = ([max(0, reach) for reach in each(value)] for value in self.reach)
            made = [Span(left + right + 1, 1, left) for left, right in zip(before, after, strict=True)]
            return dict(zip(dims, made, strict=True))
        size, stride, padding, dilation = (each(value) for value in self.windows)
        extents = [(one - 1) * spread + 1 for one, spread in zip(size, dilation, strict=True)]
        pads = [_padding(pad, extent) for pad, extent in zip(padding, extents, strict=True)]
        made = [Span(*numbers) for numbers in zip(extents, stride or size, pads, strict=True)]
        return dict(zip(dims, made, strict=True))

    @staticmethod
    def _dims(rank: int, given: Any, values: Sequence[Any]) -> list[int]:
        given = values[given.place] if isinstance(given, At) else given
        dims = list(given) if isinstance(given, (list, tuple)) else [given]
        return [each + rank if each < 0 else each for each in dims]


def _padding(given: Any, extent: int) -> int:
    """Return how far before 0 the first window begins; convolutions may say it in a word."""
    if isinstance(given, str):
        return (extent - 1) // 2 if given == "same" else 0
    return int(given)
