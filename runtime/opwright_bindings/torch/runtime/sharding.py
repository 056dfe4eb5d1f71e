"""Operators given to DTensor: how calls are sharded follows from dimension rules, at the first call of each shape.

Note [When DTensor is told]
`torch.distributed.tensor` takes as long to import as PyTorch, which does without it. So it is told of operators when it
is there, or else at the end of its import (`late_modules`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import torch

from opwright.dimensions.deriving import rule_of, tensors_in
from opwright.dimensions.layouts import fake, results, without_labels
from opwright.dimensions.rule import DimensionRule
from opwright.fake.modes import FakeTensorMode
from opwright_bindings.torch.runtime.arguments import Arguments
from opwright_bindings.torch.runtime.halos import Halos, has_windows, windowed
from opwright_bindings.torch.runtime.late_modules import when_imported
from opwright_bindings.torch.runtime.values import our_dtype

__all__ = ["Sharded", "register_gradient_sharding", "register_sharding"]

_DTENSOR: Final = ("torch.distributed.tensor", "DTensor")
_SIZE: Final = 4099  # stands for a size that only data tells


def register_sharding(overload: torch._ops.OpOverload, arguments: Arguments) -> None:
    """Tell DTensor how calls of an operator are sharded; of one with results that are no tensors nothing is told."""
    if all("Tensor" in str(each.type) for each in overload._schema.returns):
        has_halos = not arguments.written and has_windows(arguments.operator)
        when_imported(*_DTENSOR, lambda: _register(overload, Sharded(arguments), arguments.written, has_halos))


def register_gradient_sharding(overload: torch._ops.OpOverload, arguments: Arguments, positions: Sequence[int]) -> None:
    """Tell DTensor how an operator that computes gradients of the arguments at `positions` is sharded."""
    when_imported(*_DTENSOR, lambda: _register(overload, _Gradients(arguments, positions), ()))


class Sharded:
    """The rows of placements of an operator's calls (`placements`), by its dimension rule."""

    def __init__(self, arguments: Arguments) -> None:
        self._arguments = arguments

    def rows(self, args: Sequence[Any], kwargs: dict[str, Any], ranks: int = 0) -> list[Any]:
        """Return the rows of a call; tensors are given by shape and dtype. Windows are cut for so many `ranks`."""
        from opwright_bindings.torch.runtime.placements import rows_of

        values = self.values(args, kwargs)
        tensors = tensors_in(values)
        uncut = without_labels({key: shape for key, (shape, _) in tensors.items()})
        made = results(self._arguments.operator, values, tensors, uncut) or []
        dtypes = [dtype for _, dtype in tensors.values()], [each.dtype for each in made]
        return rows_of(self.rule(values), *dtypes, [shape for shape, _ in tensors.values()], ranks)

    def values(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        """Return all arguments, with tensors of ours without data."""
        values = self._arguments.filled(tuple(args), kwargs)
        mode = FakeTensorMode()
        self._arguments.ours(
            values, lambda like: fake(list(map(_known, like.shape)), our_dtype(like.dtype), mode), _known
        )
        return values

    def rule(self, values: Sequence[Any]) -> DimensionRule:
        """Return the dimension rule of a call."""
        return rule_of(self._arguments.operator, values)


class _Gradients(Sharded):
    """The rows of the operator that computes gradients: those of results come first, and which are needed."""

    def __init__(self, arguments: Arguments, positions: Sequence[int]) -> None:
        super().__init__(arguments)
        self._positions = positions

    def rows(self, args: Sequence[Any], kwargs: dict[str, Any], ranks: int = 0) -> list[Any]:
        """Return the rows of a call; tensors are given by shape and dtype."""
        from opwright_bindings.torch.runtime.placements import rows_of_gradients

        grads, needs, *rest = args
        values = self.values(rest, kwargs)
        keys = list(tensors_in(values))
        asked = [key for key in keys if (key[0] if isinstance(key, tuple) else key) in self._positions]
        wanted = [keys.index(key) for key, need in zip(asked, needs, strict=True) if need]
        given = [number for number, each in enumerate(grads) if each is not None]
        return rows_of_gradients(self.rule(values), given, wanted)


def _register(
    overload: torch._ops.OpOverload, sharded: Sharded, written: Sequence[int], has_halos: bool = False
) -> None:
    from torch.distributed.tensor import DTensor
    from torch.distributed.tensor._op_schema import OpStrategy, RuntimeSchemaInfo
    from torch.distributed.tensor._ops.utils import expand_to_full_mesh_op_strategy

    schema = overload._schema
    is_list = len(schema.returns) == 1 and "List[" in str(schema.returns[0].type)

    def strategy(call: Any) -> Any:
        mesh = call.get_mesh_from_args()
        rows = sharded.rows(call.args_meta, call.kwargs_meta, max(mesh.shape) if has_halos else 0)
        own = (*call.args_strategy, *call.kwargs_strategy)
        found = expand_to_full_mesh_op_strategy(
            mesh, call, [[*outs, *ins] for outs, ins in rows], input_index=len(rows[0][0])
        ).strategies
        if has_halos and mesh.ndim > 1:  # two dimensions of the mesh may not cut one that has windows
            dims = windowed(sharded.rule(sharded.values(call.args_meta, call.kwargs_meta)))
            found = [each for each in found if all(map(_is_cut_once, each.input_specs, dims))]
        if is_list:
            found = [
                each if isinstance(each.output_specs, tuple) else replace(each, output_specs=(each.output_specs,))
                for each in found
            ]
        return OpStrategy(_kept_in_place(call, found, own, written) if written else found)

    static = [position for position, each in enumerate(schema.arguments) if _is_static(each) and not each.kwarg_only]
    keywords = [each.name for each in schema.arguments if _is_static(each) and each.kwarg_only]
    info = RuntimeSchemaInfo(min(static, default=100), keywords or None, needs_pytree=True)
    DTensor._op_dispatcher.sharding_propagator.register_op_strategy(overload, strategy, info)
    if has_halos:
        DTensor._op_dispatcher._custom_op_handlers[overload] = Halos(sharded)


def _is_cut_once(spec: Any, dims: Sequence[int]) -> bool:
    return all(sum(each.is_shard(dim) for each in spec.placements) < 2 for dim in dims)


def _kept_in_place(call: Any, found: Sequence[Any], own: Sequence[Any], written: Sequence[int]) -> list[Any]:
    """Return the strategies by which what is written stays as it is placed. Raises RuntimeError where none is left."""
    arguments = call.op._schema.arguments
    given = [*call.args_schema, *[call.kwargs_schema.get(each.name) for each in arguments[len(call.args_schema) :]]]
    names = {id(each) for place in written for each in torch.utils._pytree.tree_leaves(given[place])}
    places = [number for number, each in enumerate(own) if id(each) in names]
    kept = [
        each
        for each in found
        if all(
            each.input_specs[place].placements == own[place].strategies[0].output_spec.placements for place in places
        )
    ]
    if not kept:
        placed = [own[place].strategies[0].output_spec.placements for place in places]
        raise RuntimeError(
            f"{call.op}: what is written is placed as {placed}, in which the operator cannot be computed: use the "
            "variant that returns its result, or redistribute first"
        )
    return kept


def _is_static(argument: Any) -> bool:
    """Whether the rule of a call may depend on an argument: tensors have shapes, and no rule asks for a fraction."""
    kind = str(argument.type)
    return "Tensor" not in kind and kind not in ("float", "Optional[float]")


def _known(value: Any) -> Any:
    """Return a number as it is now, of one that is symbolic in a program that is compiled."""
    if isinstance(value, torch.SymInt):
        return value.node.hint if value.node.has_hint() else _SIZE
    return value
