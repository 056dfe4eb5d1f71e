"""Windows over edges of blocks: each rank gets what its windows need of both neighbours, and keeps its own results.

A strategy of DTensor says how operands and results are placed, and not what is sent on the way. PyTorch's convolution
has a handler of its own for that, and so have operators whose rule has windows. Other calls of theirs go as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.utils import _pytree as pytree

from opwright.dimensions.declared import declared_of
from opwright.dimensions.kinds import Kind
from opwright.dimensions.rule import DimensionRule
from opwright.dimensions.windows import Windows
from opwright_core.dispatch.call.operator import Operator

if TYPE_CHECKING:
    from opwright_bindings.torch.runtime.sharding import Sharded

__all__ = ["Halos", "fits", "has_windows", "windowed"]


def has_windows(operator: Operator) -> bool:
    """Whether rules of an operator may have windows."""
    declared = declared_of(operator)
    return isinstance(declared.family, Windows) or "window(" in declared.sharding


def windowed(rule: DimensionRule) -> list[tuple[int, ...]]:
    """Return the dimensions of each operand over which windows reach."""
    names = {name for name in rule.of_kind("window") if rule.kind(name).before + rule.kind(name).after}
    return [tuple([dim for dim, name in enumerate(own) if name in names]) for own in rule.operands]


def fits(kind: Kind, size: int, ranks: int) -> bool:
    """Whether windows reach no further than the next block, the last of which may be shorter."""
    block = -(-size // ranks)
    return size - block * (ranks - 1) >= max(kind.before, kind.after, 1)


class _Reach(NamedTuple):
    """One dimension of one operand that is cut over a dimension of the mesh, and windows there."""

    place: int
    dim: int
    name: str
    kind: Kind
    mesh_dim: int


class Halos:
    """The handler of one operator's calls on DTensors."""

    def __init__(self, sharded: Sharded) -> None:
        self._sharded = sharded

    def __call__(self, overload: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return DTensors of the results."""
        from torch.distributed.tensor import DTensor

        dispatcher = DTensor._op_dispatcher
        info = dispatcher.unwrap_to_op_info(overload, args, kwargs)
        dispatcher.sharding_propagator.propagate(info)
        sharding: Any = info.output_sharding
        specs: Sequence[Any] = info.flat_args_schema
        if sharding.needs_redistribute:
            wanted = sharding.redistribute_schema
            dispatcher.redistribute_local_args(info, wanted, sharding.use_val_from_redistribute_schema)
            specs = pytree.tree_leaves(wanted.args_schema)
        rule = self._sharded.rule(self._sharded.values(args, kwargs))
        placed = [(place, each) for place, each in enumerate(specs) if hasattr(each, "placements")]
        reaches = [
            _Reach(place, dim, own[dim], rule.kind(own[dim]), mesh_dim)
            for (place, spec), own, dims in zip(placed, rule.operands, windowed(rule), strict=False)
            for dim in dims
            for mesh_dim, placement in enumerate(spec.placements)
            if placement.is_shard(dim) and info.compute_mesh.size(mesh_dim) > 1
        ]

        def run(given: Sequence[Any]) -> Any:
            local: Any = pytree.tree_unflatten(list(given), info.args_tree_spec) if info.args_tree_spec else given
            return overload(*local, **info.local_kwargs)

        found = _on_ranks(rule, list(info.local_args), reaches, info.compute_mesh, run)
        return dispatcher.wrap(found, sharding.output_spec)


def _on_ranks(
    rule: DimensionRule, given: list[Any], reaches: Sequence[_Reach], mesh: Any, run: Callable[[Sequence[Any]], Any]
) -> Any:
    """Return the results of this rank's blocks, or of each rank that is played."""
    played = next((each for each in given if hasattr(each, "_local_tensors")), None)
    if played is None or not reaches:
        for reach in reaches:
            given[reach.place] = torch.cat(_beside(given[reach.place], reach, mesh), reach.dim)
        return _kept(rule, run, given, reaches, [mesh.get_local_rank(reach.mesh_dim) for reach in reaches], mesh)
    each_of = {
        rank: [each._local_tensors[rank] if hasattr(each, "_local_tensors") else each for each in given]
        for rank in played._local_tensors
    }
    for reach in reaches:
        blocks = {rank: own[reach.place] for rank, own in each_of.items()}
        for rank, own in each_of.items():
            own[reach.place] = torch.cat(_played_beside(blocks, rank, reach, mesh), reach.dim)
    made = {}
    for rank, own in each_of.items():
        at = (mesh.mesh == rank).nonzero()[0].tolist()
        made[rank] = _kept(rule, run, own, reaches, [at[reach.mesh_dim] for reach in reaches], mesh)
    return _joined(type(played), made)


def _beside(block: Any, reach: _Reach, mesh: Any) -> list[Any]:
    """Return the end of the block before, this rank's, and the beginning of the one after, by one exchange."""
    from torch.distributed._functional_collectives import all_to_all_single

    rank, count = mesh.get_local_rank(reach.mesh_dim), mesh.size(reach.mesh_dim)
    rows = block.movedim(reach.dim, 0)
    sent, got = [0] * count, [0] * count
    parts = []
    if rank > 0:
        sent[rank - 1], got[rank - 1] = reach.kind.after, reach.kind.before
        parts.append(rows[: reach.kind.after])
    if rank < count - 1:
        sent[rank + 1], got[rank + 1] = reach.kind.before, reach.kind.after
        parts.append(rows[rows.shape[0] - reach.kind.before :])
    found = all_to_all_single(torch.cat(parts).contiguous(), got, sent, (mesh, reach.mesh_dim))
    first = got[rank - 1] if rank > 0 else 0
    return [found[:first].movedim(0, reach.dim), block, found[first:].movedim(0, reach.dim)]


def _played_beside(blocks: Mapping[int, Any], rank: int, reach: _Reach, mesh: Any) -> list[Any]:
    at = (mesh.mesh == rank).nonzero()[0].tolist()
    found = [blocks[rank]]
    for step, size in ((-1, reach.kind.before), (1, reach.kind.after)):
        there = list(at)
        there[reach.mesh_dim] += step
        if 0 <= there[reach.mesh_dim] < mesh.size(reach.mesh_dim):
            block = blocks[int(mesh.mesh[tuple(there)])]
            start = block.shape[reach.dim] - size if step < 0 else 0
            part = block.narrow(reach.dim, start, size)
            found = [part, *found] if step < 0 else [*found, part]
    return found


def _kept(
    rule: DimensionRule,
    run: Callable[[Sequence[Any]], Any],
    given: list[Any],
    reaches: Sequence[_Reach],
    places: Sequence[int],
    mesh: Any,
) -> Any:
    """Return what of results stands for a rank's own block, at `places` of the mesh. Forgets what was joined."""
    kept = {}
    for reach, at in zip(reaches, places, strict=True):
        before = reach.kind.before if at > 0 else 0
        after = reach.kind.after if at < mesh.size(reach.mesh_dim) - 1 else 0
        kept[reach.name] = before, given[reach.place].shape[reach.dim] - before - after
    made = run(given)
    given.clear()
    found = list(made) if isinstance(made, (list, tuple)) else [made]
    for name, (start, size) in kept.items():
        pairs = zip(found, rule.results, strict=True)
        found = [one.narrow(own.index(name), start, size).contiguous() for one, own in pairs]
    return tuple(found) if isinstance(made, (list, tuple)) else found[0]


def _joined(kind: Any, made: Mapping[int, Any]) -> Any:
    """Return played tensors of the results of each rank."""
    first = next(iter(made.values()))
    if not isinstance(first, tuple):
        return kind(dict(made))
    return tuple([kind({rank: each[number] for rank, each in made.items()}) for number in range(len(first))])
