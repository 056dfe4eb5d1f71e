"""All that is asked of JAX beside its public names; `tests/test_jax_sharded.py` says when some is gone."""

from __future__ import annotations

from typing import Any

import jax
from jax._src import dispatch
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec

__all__ = ["is_exported", "like_block", "need_devices", "spread_over", "varying"]


def varying(array: Any) -> frozenset[Any]:
    """Return the axes of the mesh over which blocks of an array differ, within a shard_map that checks it."""
    aval: Any = jax.typeof(array)
    kind = getattr(aval, "manual_axis_type", None)  # since JAX 0.10; `vma` before
    found: frozenset[Any] = aval.vma if kind is None else kind.varying
    return found


def like_block(aval: Any, shape: tuple[int, ...], dtype: Any, mesh: AbstractMesh) -> Any:
    """Return the type of another block, which differs over the same axes."""
    spec = NamedSharding(mesh, PartitionSpec(*[None] * len(shape)))
    return aval.update(shape=shape, dtype=dtype, weak_type=False, sharding=spec)


def need_devices(primitive: Any) -> None:
    """Have JAX say which devices a program is for when it lowers the primitive: custom_partitioning asks."""
    dispatch.prim_requires_devices_during_lowering.add(primitive)


def spread_over(context: Any) -> tuple[int, AbstractMesh | None]:
    """Return on how many devices a program runs that JAX lowers, where XLA is to choose who holds what, and their mesh,
    if there is one. It is one where each device has a program of its own, as in a shard_map."""
    axes = context.module_context.axis_context
    devices = getattr(axes, "device_assignment", None)
    if devices is None or getattr(axes, "manual_axes", None):
        return 1, None
    mesh = axes.abstract_mesh or jax.sharding.get_abstract_mesh()  # (none of operands that lie nowhere yet)
    return len(devices), None if mesh.empty else mesh


def is_exported(context: Any) -> bool:
    """Whether a program is lowered by `jax.export`, to be run elsewhere."""
    return bool(context.module_context.lowering_parameters.for_export)
