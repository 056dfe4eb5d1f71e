"""Blocks of operands on the devices of a mesh: which axis cuts which factor, and what each device does with its blocks.

Every device runs one program on blocks of one shape. Where windows reach over edges of blocks, each takes `before` and
`after` together of both neighbours and keeps as many of them as it needs; the first and the last device have their own
edge at the end of their block, so that the operator sees the true edges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import jax
from jax import lax
from jax.sharding import PartitionSpec

from opwright.dimensions.kinds import Kind
from opwright.dimensions.rule import DimensionRule

__all__ = ["Axes", "assigned", "on_blocks", "specs_of"]

Axes = Mapping[str, tuple[Any, ...]]  # of the mesh, for each factor that is cut
Run = Callable[..., Sequence[Any]]
_TOGETHER: dict[str, Callable[[Any, Any], Any]] = {"sum": lax.psum, "max": lax.pmax, "min": lax.pmin}


def assigned(
    rule: DimensionRule, specs: Sequence[Any], shapes: Sequence[Sequence[int]], sizes: Mapping[Any, int]
) -> dict[str, tuple[Any, ...]]:
    """Return the axes that cut each factor, those of the first operand that has some there. What the rule does not cut,
    what has no equal blocks, and windows longer than a block stay whole."""
    found: dict[str, tuple[Any, ...]] = {}
    taken: set[Any] = set()
    for own, spec, shape in zip(rule.operands, specs, shapes, strict=True):
        for name, entry, size in zip(own, spec, shape, strict=False):
            axes = () if entry is None else entry if isinstance(entry, tuple) else (entry,)
            count = prod(sizes[axis] for axis in axes) if all(axis in sizes for axis in axes) else 1
            if count > 1 and name not in found and not taken & set(axes) and _is_cut(rule, name, size, count):
                found[name] = axes
                taken |= set(axes)
    return found


def _is_cut(rule: DimensionRule, name: str, size: int, count: int) -> bool:
    kind = rule.kind(name)
    is_kept = all(name in own for own in rule.results)
    if kind.word == "whole" or (not is_kept and kind.word in ("parallel", "window")) or size % count:
        return False
    return kind.word != "window" or size // count >= kind.before + kind.after


def specs_of(names: Sequence[Sequence[str]], axes: Axes) -> tuple[PartitionSpec, ...]:
    """Return how arrays lie on the mesh whose dimensions are these factors."""
    return tuple([PartitionSpec(*[_entry(axes.get(name, ())) for name in own]) for own in names])


def _entry(axes: tuple[Any, ...]) -> Any:
    return axes[0] if len(axes) == 1 else axes or None


def on_blocks(rule: DimensionRule, axes: Axes, sizes: Mapping[Any, int], run: Run) -> Callable[..., tuple[Any, ...]]:
    """Return the function of blocks: `run` on them, and what devices tell each other."""
    kinds = {name: rule.kind(name) for name in axes}
    windows = {name: kind for name, kind in kinds.items() if kind.word == "window" and kind.before + kind.after}

    def whole(*blocks: Any) -> tuple[Any, ...]:
        given = list(blocks)
        kept = []
        for name, kind in windows.items():
            count = prod(sizes[axis] for axis in axes[name])
            for place, own in enumerate(rule.operands):
                if name in own:
                    size = given[place].shape[own.index(name)]
                    given[place] = _with_neighbours(given[place], own.index(name), axes[name], count, kind)
            kept.append((name, _start(axes[name], count, 0, kind.before, kind.before + kind.after), size))
        found = list(run(*given))
        for name, start, size in kept:
            dims = [own.index(name) for own in rule.results]
            pairs = zip(found, dims, strict=True)
            found = [lax.dynamic_slice_in_dim(one, start, size, dim) for one, dim in pairs]
        return tuple(_put_together(rule, axes, kinds, found, run))

    return whole


def _start(axes: tuple[Any, ...], count: int, first: int, inner: int, last: int) -> Any:
    here = lax.axis_index(axes)
    return jax.numpy.where(here == 0, first, jax.numpy.where(here == count - 1, last, inner))


def _with_neighbours(block: Any, dim: int, axes: tuple[Any, ...], count: int, kind: Kind) -> Any:
    reach, size = kind.before + kind.after, block.shape[dim]
    end, begin = lax.slice_in_dim(block, size - reach, size, axis=dim), lax.slice_in_dim(block, 0, reach, axis=dim)
    left = lax.ppermute(end, axes, [(place, place + 1) for place in range(count - 1)])
    right = lax.ppermute(begin, axes, [(place + 1, place) for place in range(count - 1)])
    start = _start(axes, count, reach, reach - kind.before, 0)
    joined = jax.numpy.concatenate([left, block, right], dim)
    return lax.dynamic_slice_in_dim(joined, start, size + reach, dim)


def _put_together(
    rule: DimensionRule, axes: Axes, kinds: Mapping[str, Kind], found: list[Any], run: Run
) -> Sequence[Any]:
    """Return results of the whole mesh: an element of each device's, or the operator's of what all devices have."""
    for name, kind in kinds.items():
        if kind.is_combined:
            together, over = _TOGETHER[kind.word], axes[name]
            pairs = zip(found, rule.results, strict=True)
            found = [one if name in own else together(one, over) for one, own in pairs]
        elif kind.word == "again":
            own = next(own for own in rule.operands if name in own)
            kept = {each for result in rule.results for each in result}
            lost = [dim for dim, each in enumerate(own) if each not in kept or rule.kind(each).word == "again"]
            parts = [jax.numpy.expand_dims(one, lost) if one.ndim < len(own) else one for one in found]
            found = list(run(*[lax.all_gather(one, axes[name], axis=own.index(name), tiled=True) for one in parts]))
    return found
