"""Dimension rules of indexing, of what is moved, and of padding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["index", "index_put", "padded", "permuted", "repeated", "selected", "transposed"]

Shapes = Mapping[Any, tuple[int, ...]]


def index(shapes: Shapes, values: Sequence[Any]) -> str:
    """Return the rule of indexing by tensors: what is indexed is needed whole, all else is parallel."""
    own, result, kinds = _indexed(shapes, values)
    return f"{own}, ... -> {result}{kinds}" if result else "*, * -> *"


def index_put(shapes: Shapes, values: Sequence[Any]) -> str:
    """Return the rule of writing at indices: what is not indexed is parallel, if values do not broadcast."""
    own, _, kinds = _indexed(shapes, values)
    free = [name for name in own.split() if name.startswith("d")]
    count = len(shapes[0]) - len(free)
    is_whole = any(values[1][dim] is None for dim in range(min(count, len(values[1]))))
    if (
        is_whole
        or not kinds
        or len(shapes[2]) < len(free)
        or shapes[2][len(shapes[2]) - len(free) :] != shapes[0][count:]
    ):
        return "*, *, * -> *"
    return f"{own}, *, * {' '.join(free)} -> {own}{kinds}"


def _indexed(shapes: Shapes, values: Sequence[Any]) -> tuple[str, str, str]:
    """Return the dimensions of what is indexed, those of the result, and the kinds; no result where masks index."""
    given = values[1]
    tensors = [dim for dim, each in enumerate(given) if each is not None]
    if any("bool" in str(given[dim].dtype) or "uint8" in str(given[dim].dtype) for dim in tensors):
        return "*", "", ""
    names = [f"p{dim}" if dim in tensors else f"d{dim}" for dim in range(len(shapes[0]))]
    is_together = tensors == list(range(tensors[0], tensors[-1] + 1)) if tensors else True
    first = tensors[0] if tensors and is_together else 0
    free = [name for name in names if name.startswith("d")]
    before = [name for name in names[:first] if name.startswith("d")]
    result = " ".join([*before, "...", *free[len(before) :]])
    kinds = ", ".join(f"{name} whole" for name in names if name.startswith("p"))
    return " ".join(names), result, f"; {kinds}" if kinds else ""


def padded(shapes: Shapes, values: Sequence[Any]) -> str:
    """Return the rule of padding: dimensions that nothing is added to are parallel."""
    pads = list(values[1])
    rank = len(shapes[0])
    is_padded = [any(pads[2 * (rank - 1 - dim) :][:2]) for dim in range(rank)]
    return _by_dims(is_padded)


def repeated(shapes: Shapes, values: Sequence[Any]) -> str:
    """Return the rule of `repeat`: dimensions that are not repeated are parallel."""
    count = len(values[1]) - len(shapes[0])
    names = [f"d{dim}" for dim in range(len(shapes[0]))]
    again = [values[1][count + dim] != 1 for dim in range(len(names))]
    kinds = ", ".join(f"{name} whole" for name, is_again in zip(names, again, strict=True) if is_again)
    return f"{_shown(names)} -> {_shown(['1'] * count + names)}" + (f"; {kinds}" if kinds else "")


def permuted(shapes: Shapes, values: Sequence[Any]) -> str:
    """Return the rule of `permute`."""
    names = [f"d{dim}" for dim in range(len(shapes[0]))]
    return f"{_shown(names)} -> {_shown([names[dim] for dim in values[1]])}"


def transposed(shapes: Shapes, values: Sequence[Any]) -> str:
    """Return the rule of what reverses all dimensions."""
    names = [f"d{dim}" for dim in range(len(shapes[0]))]
    return f"{_shown(names)} -> {_shown(names[::-1])}"


def selected(shapes: Shapes, values: Sequence[Any]) -> str:
    """Return the rule of `select_scatter`: the dimension that is written at one position is needed whole."""
    names = [f"d{dim}" for dim in range(len(shapes[0]))]
    name = names[values[2]]
    others = [each for each in names if each != name]
    return f"{_shown(names)}, {_shown(others)} -> {_shown(names)}; {name} whole"


def _by_dims(is_whole: Sequence[bool]) -> str:
    names = [f"d{dim}" for dim in range(len(is_whole))]
    kinds = ", ".join(f"{name} whole" for name, whole in zip(names, is_whole, strict=True) if whole)
    return f"{_shown(names)} -> {_shown(names)}" + (f"; {kinds}" if kinds else "")


def _shown(names: Sequence[str]) -> str:
    return " ".join(names) or "()"
