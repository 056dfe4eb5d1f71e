"""Sequences of different lengths as one tensor, padded or packed: what `torch.nn.utils.rnn` is made of."""

from __future__ import annotations

from collections.abc import Sequence

import opwright

__all__ = ["pack_padded_sequence", "pad_packed_sequence", "pad_sequence"]

Tensor = opwright.Tensor


def pad_sequence(
    sequences: Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Return sequences as one tensor, filled up to the longest."""
    length = max(map(len, sequences))
    made = sequences[0].new_full((len(sequences), length, *sequences[0].shape[1:]), padding_value)
    for row, sequence in zip(made.unbind(0), sequences, strict=True):
        part = row[length - len(sequence) :] if padding_side == "left" else row[: len(sequence)]
        part.copy_(sequence)
    return made if batch_first else made.transpose(0, 1)


def pack_padded_sequence(x: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Tensor, Tensor]:
    """Return the elements of a padded batch by time, and how many sequences there are at each; the longest come first.

    Raises RuntimeError for lengths that are not positive or grow.
    """
    counts: list[int] = lengths.tolist()
    if any(count <= 0 for count in counts):
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' <= 0")
    if counts != sorted(counts, reverse=True):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. Pass "
            "enforce_sorted=False to have them sorted"
        )
    by_time = x.transpose(0, 1) if batch_first else x
    sizes = [sum(count > time for count in counts) for time in range(counts[0])]
    data = opwright.cat([by_time[time, :size] for time, size in enumerate(sizes)])
    return data, opwright.tensor(sizes)


def pad_packed_sequence(
    data: Tensor, batch_sizes: Tensor, batch_first: bool, padding_value: float, total_length: int
) -> tuple[Tensor, Tensor]:
    """Return a packed batch as a padded one, of at least `total_length` times, and the lengths of its sequences."""
    sizes: list[int] = batch_sizes.tolist()
    parts = data.split(sizes)
    times = [
        opwright.cat([part, part.new_full((sizes[0] - size, *part.shape[1:]), padding_value)])
        for part, size in zip(parts, sizes, strict=True)
    ]
    times += [data.new_full((sizes[0], *data.shape[1:]), padding_value)] * max(total_length - len(sizes), 0)
    lengths = [sum(size > row for size in sizes) for row in range(sizes[0])]
    return opwright.stack(times, 1 if batch_first else 0), opwright.tensor(lengths)
