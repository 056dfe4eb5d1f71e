"""Dimension rules of convolution, normalization and losses of classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = [
    "class_loss",
    "class_loss_with_weight",
    "convolved",
    "convolved_simply",
    "mapped_linearly",
    "rows_normalized",
]

Shapes = Mapping[Any, tuple[int, ...]]


def convolved(shapes: Shapes, values: Sequence[Any]) -> str:
    """Return the rule of a convolution: samples are parallel, without groups channels, too, and those of the input are
    summed if nothing is added. Images are windows where each position has a result."""
    *_, stride, padding, dilation, is_transposed, _, groups = values
    if groups == 1 and is_transposed:
        return f"n c *, c o *, o -> n o *; {_summed(shapes)}"
    return _convolved(shapes, stride, padding, dilation, groups)


def convolved_simply(shapes: Shapes, values: Sequence[Any]) -> str:
    """Return the rule of `conv1d` and its like, which take an image without a batch, and padding in words."""
    *_, stride, padding, dilation, groups = values
    return _convolved(shapes, stride, padding, dilation, groups)


def _summed(shapes: Shapes) -> str:
    return "c whole" if 2 in shapes else "c sum"


def _convolved(shapes: Shapes, stride: Sequence[int], padding: Sequence[int] | str, dilation: Any, groups: int) -> str:
    batch = "n " if len(shapes[0]) == len(shapes[1]) else ""
    if groups != 1:
        return f"{batch}*, *, * -> {batch}*"
    count = len(shapes[1]) - 2

    def each(given: Sequence[int]) -> list[int]:
        return list(given) * count if len(given) == 1 else list(given)

    names, windows = [], []
    pads: Sequence[int] = [0] if padding == "valid" else [] if isinstance(padding, str) else padding
    reaches = [spread * (size - 1) for spread, size in zip(each(dilation), shapes[1][2:], strict=True)]
    befores = each(pads) if pads else [reach // 2 for reach in reaches]
    for dim, (step, before, reach) in enumerate(zip(each(stride), befores, reaches, strict=True)):
        is_window = step == 1 and (reach == 2 * before or not pads)
        names.append(f"s{dim}")
        windows.append(f", s{dim} window({before}, {reach - before})" if is_window else f", s{dim} whole")
    images = " ".join(names)
    return f"{batch}c {images}, o c *, o -> {batch}o {images}; {_summed(shapes)}{''.join(windows)}"


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
