"""Dimension rules of convolution, normalization and losses of classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["class_loss", "class_loss_with_weight", "convolved", "mapped_linearly", "rows_normalized"]

Shapes = Mapping[Any, tuple[int, ...]]


def convolved(shapes: Shapes, values: Sequence[Any]) -> str:
    """Return the rule of a convolution: samples are parallel, without groups channels, too, and those of the input are
    summed if nothing is added. Images are windows where each position has a result."""
    *_, stride, padding, dilation, is_transposed, _, groups = values
    if groups != 1:
        return "n *, *, * -> n *"
    summed = "c whole" if 2 in shapes else "c sum"
    if is_transposed:
        return f"n c *, c o *, o -> n o *; {summed}"
    count = len(shapes[0]) - 2

    def each(given: Sequence[int]) -> list[int]:
        return list(given) * count if len(given) == 1 else list(given)

    names, windows = [], []
    numbers = zip(each(stride), each(padding), each(dilation), shapes[1][2:], strict=True)
    for dim, (step, pad, spread, size) in enumerate(numbers):
        reach = spread * (size - 1)
        is_window = step == 1 and reach == 2 * pad
        names.append(f"s{dim}")
        windows.append(f", s{dim} window({pad}, {reach - pad})" if is_window else f", s{dim} whole")
    images = " ".join(names)
    return f"n c {images}, o c *, o -> n o {images}; {summed}{''.join(windows)}"


def rows_normalized(shapes: Shapes, values: Sequence[Any]) -> str:
    """Return the rule of `native_layer_norm`: what comes before the normalized dimensions is parallel."""
    names = [f"w{dim}" for dim in range(len(values[1]))]
    own, ones = " ".join(names), " ".join("1" for _ in names)
    return f"... {own}, {own}, {own} -> ... {own}, ... {ones}, ... {ones}; {', '.join(f'{n} whole' for n in names)}"


def mapped_linearly(shapes: Shapes, values: Sequence[Any]) -> str:
    """Return the rule of `linear`: a sum, if nothing is added."""
    return f"... k, {'n k' if len(shapes[1]) == 2 else 'k'}, n -> ... {'n' if len(shapes[1]) == 2 else ''}; k " + (
        "whole" if 2 in shapes else "sum"
    )


def class_loss(shapes: Shapes, values: Sequence[Any]) -> str:
    """Return the rule of a loss of scores of classes, of one result: a sum, or one loss for each sample."""
    return {0: "n c, n, c -> n; c whole", 2: "n c, n, c -> (); n sum, c whole"}.get(values[-1], "*, *, * -> ()")


def class_loss_with_weight(shapes: Shapes, values: Sequence[Any]) -> str:
    """Return the rule of a loss of classes that returns the sum of weights, too, which a sum of losses is beside."""
    images = " ".join(f"s{dim}" for dim in range(len(shapes[0]) - 2))
    if values[3] == 2 and len(shapes[0]) > 1:
        kinds = "".join(f", s{dim} sum" for dim in range(len(shapes[0]) - 2))
        return f"n c {images}, n {images}, c -> (), (); n sum, c whole{kinds}"
    return "*, *, * -> (), ()" if values[3] else "*, *, * -> *, ()"
