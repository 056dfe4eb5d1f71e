"""Arrays whose blocks overlap, as windows need them, and their gradients put back together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import dask.array as da
import numpy as np

from opwright.dimensions.windows import Piece, Span

__all__ = ["Overlap", "gathered", "overlapping"]


@dataclass(frozen=True)
class Overlap:
    """An array whose blocks repeat what they share with their neighbours: the pieces of each dimension."""

    array: da.Array
    pieces: Mapping[int, Sequence[Piece]]

    def ends(self, dim: int) -> Any:
        """Return where what counts of each block's results begins and ends, two numbers for each."""
        return np.array([end for piece in self.pieces[dim] for end in (piece.first, piece.last)])

    def sizes(self, dim: int) -> tuple[int, ...]:
        """Return the sizes of the results' blocks."""
        return tuple([piece.last - piece.first for piece in self.pieces[dim]])


def overlapping(array: da.Array, spans: Mapping[int, Span], counts: Mapping[int, int]) -> Overlap:
    """Return an array laid out for windows, of which each dimension has as many as `counts` says."""
    pieces = {dim: span.pieces(array.chunks[dim], counts[dim]) for dim, span in spans.items()}
    for dim, own in pieces.items():
        parts = [array[_along(dim, piece.start, piece.stop)] for piece in own]
        together = da.concatenate(parts, axis=dim) if len(parts) > 1 else parts[0]
        array = together.rechunk({dim: tuple([piece.stop - piece.start for piece in own])})
    return Overlap(array, pieces)


def gathered(grad: da.Array, overlap: Overlap, sizes: Mapping[int, int]) -> da.Array:
    """Return the gradient of the array that overlapped: what its blocks shared is the sum of theirs."""
    for dim, pieces in overlap.pieces.items():
        grad = _gathered_along(grad, dim, pieces, sizes[dim])
    return grad


def _gathered_along(grad: da.Array, dim: int, pieces: Sequence[Piece], size: int) -> da.Array:
    offsets = np.cumsum([0, *[piece.stop - piece.start for piece in pieces]]).tolist()
    cuts = sorted({0, size, *[end for piece in pieces for end in (piece.start, piece.stop)]})
    parts = []
    for start, stop in pairwise(cuts):
        shared = [
            grad[_along(dim, offset + start - piece.start, offset + stop - piece.start)]
            for offset, piece in zip(offsets, pieces, strict=False)
            if piece.start <= start and stop <= piece.stop
        ]
        if shared:
            parts.append(sum(shared[1:], start=shared[0]))
        else:  # no window begins there
            shape = tuple([stop - start if position == dim else each for position, each in enumerate(grad.shape)])
            chunks = tuple([stop - start if position == dim else each for position, each in enumerate(grad.chunks)])
            parts.append(da.zeros(shape, grad.dtype, chunks=chunks))
    return da.concatenate(parts, axis=dim) if parts else grad


def _along(dim: int, start: int, stop: int) -> tuple[slice, ...]:
    return (*[slice(None)] * dim, slice(start, stop))
