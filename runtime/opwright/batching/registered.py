"""Rules of users: `function(info, in_dims, *args, **kwargs)`, which returns `(output, out_dims)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from opwright.batching.batching import Batching, Randomness
from opwright.batching.tables import BatchRule, VmapRule
from opwright.levels.inside import InsideArray
from opwright.levels.mode_kernels import mapped
from opwright_core.errors import ContractError
from opwright_core.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["VmapInfo", "batched_results", "registered_rule", "taken"]


class VmapInfo(NamedTuple):
    """The facts that a rule is told of the `vmap` around the call."""

    batch_size: int
    randomness: Randomness


def registered_rule(operator: Operator, function: VmapRule) -> BatchRule:
    """Return a user's rule as the level calls it. Tensors given by name have the batch first, where they have one."""
    split = operator.signature.split

    def rule(level: Batching, *args: Any) -> Any:
        positional, keywords = split(args)
        values, in_dims = taken(level, positional)
        if keywords:
            keywords = {name: mapped(value, lambda each: _first(level, each)) for name, value in keywords.items()}
        returned = function(VmapInfo(level.size, level.randomness), in_dims, *values, **keywords)
        return batched_results(level, operator.name, returned)

    return rule


def taken(level: Batching, args: Sequence[Any]) -> tuple[list[Any], tuple[Any, ...]]:
    """Return arguments with values instead of batched tensors, and the batch dimension of each argument, None where
    there is none; for a list with tensors, a list of them."""
    values: list[Any] = []
    dims: list[Any] = []
    for value in args:
        dim: Any = None
        if isinstance(value, Tensor):
            array = value.array
            if type(array) is InsideArray and array.level is level:
                value, dim = array.value, array.dim
        elif type(value) is list and [each for each in value if isinstance(each, Tensor)]:
            value, several = taken(level, value)
            dim = list(several)
        elif isinstance(value, tuple):
            value = mapped(value, level.out_of)
        values.append(value)
        dims.append(dim)
    return values, tuple(dims)


def _first(level: Batching, tensor: Tensor) -> Any:
    found = level.front(tensor)
    return tensor if found is None else found


def batched_results(level: Batching, name: str, returned: Any) -> Any:
    """Return what a rule gave as batched tensors. Raises ContractError for what is no `(output, out_dims)`."""
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise ContractError(
            f"the vmap rule of {name} returned {returned!r:.80}: Expected it to return (output, out_dims), where "
            "out_dims says which dimension of each output is the batch, None where there is none"
        )
    output, dims = returned
    return _put(level, name, output, dims)


def _put(level: Batching, name: str, output: Any, dims: Any) -> Any:
    if isinstance(output, tuple | list):
        if isinstance(dims, tuple | list):
            if len(dims) != len(output):
                raise ContractError(
                    f"the vmap rule of {name} returned {len(output)} outputs, but out_dims for {len(dims)}: Expected "
                    "output and out_dims to have the same structure"
                )
            made = [_put(level, name, *pair) for pair in zip(output, dims, strict=True)]
        else:
            made = [_put(level, name, each, dims) for each in output]
        return type(output)(made) if type(output) in (tuple, list) else tuple(made)
    if not isinstance(output, Tensor):
        return output
    if dims is None:
        return level.put(level.repeated(output), 0)
    if type(dims) is not int or not -output.ndim <= dims < output.ndim:
        raise ContractError(
            f"the vmap rule of {name} returned the out_dim {dims!r} for an output of {output.ndim} dimensions: it is "
            "an int that names one of them, or None"
        )
    found = level.put(output, dims % output.ndim)
    if output.shape[dims] != level.size:
        raise ContractError(
            f"the vmap rule of {name} returned an output of shape {list(output.shape)} with the batch in dimension "
            f"{dims}, but the batch has {level.size} samples"
        )
    return found
