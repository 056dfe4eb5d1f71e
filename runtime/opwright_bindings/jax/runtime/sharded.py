"""Calls on arrays that lie on several devices, cut as the dimension rule says: sharded in, sharded out.

Note [Who cuts a call]
With Explicit axes an array's type says how it lies, so that a call is cut where it is traced, by `jax.shard_map`:
derivatives and batches are then JAX's, of that map, and our primitive sees blocks alone. With Auto axes XLA chooses
while it compiles, and asks (`custom_partitioning`): in the lowering of our primitive, which is after derivatives. There
C alone serves, since a callback to Python cannot be part of what XLA asks for; Python is called back with the whole.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import NamedSharding

from opwright.dimensions.rule import ONE, DimensionRule
from opwright_bindings.jax.runtime.batches import split
from opwright_bindings.jax.runtime.blocks import Axes, assigned, on_blocks, specs_of
from opwright_bindings.jax.runtime.private import varying
from opwright_bindings.jax.runtime.programs import Call, Form, Program
from opwright_bindings.jax.runtime.rules import resized, rule_of_program

__all__ = ["alike", "call_on_mesh", "partitioned", "refuse_export", "warn_of_gathering"]

Bind = Callable[[Any, Sequence[Any]], list[Any]]


def call_on_mesh(program: Program, operands: Sequence[Any], bind: Bind) -> list[Any]:
    """Return a program's results: cut over the Explicit axes of a mesh, where there are some."""
    mesh = _mesh_of(operands)
    if mesh is None:
        return bind(program, operands)
    rule = rule_of_program(program, _forms(operands))
    specs = [jax.typeof(each).sharding.spec for each in operands]
    sizes = dict(mesh.shape)
    axes = assigned(rule, specs, [each.shape for each in operands], sizes)

    def cut(given: Sequence[Any], axes: Axes) -> list[Any]:
        ins, outs = specs_of(rule.operands, axes), specs_of(rule.results, axes)
        run = on_blocks(rule, axes, sizes, lambda *blocks: bind(resized(program, _shapes(blocks)), blocks))
        # What all devices gathered is one for all, and JAX's check cannot see it.
        is_checked = all(rule.kind(name).word != "again" for name in axes)
        placed = [jax.sharding.reshard(one, NamedSharding(mesh, spec)) for one, spec in zip(given, ins, strict=True)]
        return list(jax.shard_map(run, mesh=mesh, in_specs=ins, out_specs=outs, check_vma=is_checked)(*placed))

    kept = {name: found for name, found in axes.items() if rule.kind(name).word not in ("max", "min")}
    if kept == axes:
        return cut(operands, axes)

    def derived(primals: Any, tangents: Any) -> Any:  # (of a maximum the derivative needs the whole)
        return jax.jvp(lambda *given: cut(given, kept), primals, tangents)

    extreme = jax.custom_jvp(lambda *given: cut(given, axes))
    extreme.defjvp(derived)
    return list(extreme(*operands))


def _mesh_of(operands: Sequence[Any]) -> Any:
    """Return the mesh by whose Explicit axes operands are cut; None without one, and where each device has a program
    of its own."""
    mesh: Any = jax.sharding.get_abstract_mesh()
    if mesh.manual_axes:
        return None
    if mesh.empty:
        found = [each.sharding.mesh for each in map(jax.typeof, operands) if not each.sharding.mesh.empty]
        mesh = found[0] if found else mesh
    return mesh if mesh.explicit_axes else None


def _forms(values: Sequence[Any]) -> tuple[Form, ...]:
    return tuple([(tuple(each.shape), np.dtype(each.dtype)) for each in values])


def _shapes(values: Sequence[Any]) -> list[tuple[int, ...]]:
    return [tuple(each.shape) for each in values]


def partitioned(program: Program, operands: Sequence[Any], traced: Callable[..., list[Any]]) -> list[Any]:
    """Return what C computes of operands of which XLA chooses how they lie: `traced(*operands, program=…)`, by blocks
    as the rule cuts them."""
    rule = rule_of_program(program, _forms(operands))
    shapes = [each.shape for each in operands]

    def run(*blocks: Any) -> list[Any]:
        return traced(*blocks, program=resized(program, _shapes(blocks)))

    def partition(mesh: Any, given: Sequence[Any], _: Any) -> Any:
        sizes = dict(mesh.shape)
        axes = assigned(rule, [getattr(each.sharding, "spec", ()) for each in given], shapes, sizes)
        sides = rule.operands, rule.results
        ins, outs = [tuple([NamedSharding(mesh, spec) for spec in specs_of(side, axes)]) for side in sides]
        return mesh, on_blocks(rule, axes, sizes, run), outs, ins

    call = custom_partitioning(lambda *given: tuple(traced(*given, program=program)))
    present = {name for own in rule.results for name in own}
    call.def_partition(
        partition=partition,
        sharding_rule=_shown(rule),
        reduction_factors=tuple([name for name in rule.factors if _is_lost(rule, name) and name not in present]),
        need_replication_factors=rule.of_kind("whole"),
    )
    return list(call(*operands))


def _is_lost(rule: DimensionRule, name: str) -> bool:
    return rule.kind(name).is_combined or rule.kind(name).word == "again"


def _shown(rule: DimensionRule) -> str:
    """Return the rule as JAX writes it, where what broadcasts has a factor of its own."""
    count = iter(range(1 << 30))
    sides = [
        ", ".join([" ".join([f"one{next(count)}" if name == ONE else name for name in own]) for own in side])
        for side in (rule.operands, rule.results)
    ]
    return " -> ".join(sides)


def warn_of_gathering(program: Program) -> None:
    """Say that Python is called back with whole arrays."""
    message = f"{_named(program)}: Python computes it, of arrays that are gathered on one device"
    hint = "a mesh of Explicit axes, jax.shard_map around the call, or a C kernel keeps them sharded"
    warnings.warn(f"{message}: {hint}", stacklevel=2)


def refuse_export(program: Program, is_taken: bool, *, is_cut: bool) -> None:
    """Raise NotImplementedError for what `jax.export` cannot hold: calls of Python, and what XLA asks while it
    compiles."""
    if not is_taken:
        raise NotImplementedError(
            f"{_named(program)}: Python computes it, and an exported program cannot call back: give it a C kernel, and "
            "run `opwright build`"
        )
    if is_cut:
        raise NotImplementedError(
            f"{_named(program)}: with Auto axes XLA asks how to cut it, and an exported program cannot: use a mesh of "
            "Explicit axes, or jax.shard_map around the call"
        )


def _named(program: Program) -> str:
    """Return the name of the operator that a program is about."""
    _, sample = split(program)
    while not isinstance(sample, Call):
        _, sample = split(sample.base)
    return sample.operator


def alike(operands: Sequence[Any]) -> list[Any]:
    """Return operands that differ over the same axes of a shard_map, as JAX's own primitives have them: the transposed
    map then sums what was one for all devices."""
    mesh = jax.sharding.get_abstract_mesh()
    if not mesh.manual_axes:
        return list(operands)
    each = [varying(one) for one in operands]
    union = frozenset().union(*each)
    kept = [tuple([name for name in mesh.axis_names if name in union - own]) for own in each]
    return [jax.lax.pcast(one, axes, to="varying") if axes else one for one, axes in zip(operands, kept, strict=True)]
