"""Core dimensions of operands, by the operator's family, and the names of dimensions of results, by fakes.

The other dimensions of operands are loop dimensions: they broadcast by name, and come first, as in xarray.apply_ufunc.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import xarray as xr

from opwright.dimensions.declared import Dimensions, declared_of
from opwright.dimensions.families import Along, Elementwise, Everything, Folded, Labels, Leading, Product, Reducing
from opwright.dimensions.layouts import labelled, without_labels
from opwright.dimensions.windows import Windows
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.registry.rule_table import BATCHING

__all__ = ["Call", "Names", "Result", "core_dims", "loop_dims", "result_dims"]

Names = tuple[Hashable, ...]


@dataclass(frozen=True)
class Call:
    """A call of an operator: all arguments in order, and the labelled arrays among them by position."""

    operator: Operator
    values: list[Any]
    arrays: Mapping[int, xr.DataArray]

    def argument(self, position: int) -> str:
        """Return the words for an argument in an error."""
        return f"{self.operator.name}: argument {self.operator.signature.names[position]!r}"


def core_dims(call: Call, named: str, given: Sequence[Sequence[Hashable]] | None) -> dict[int, Names]:
    """Return the core dimensions of each labelled array, by position.

    `named` has the names that are declared for them, `n d, m d`; `given` those that the caller gives, one list for each
    labelled array. Raises ValueError if neither tells which dimensions they are.
    """
    family = _family(call.operator)
    if given is not None:
        return _given(call, family, given)
    if isinstance(family, Along):
        return _along(call, family)
    if isinstance(family, Elementwise) and not (isinstance(family, Reducing) and call.values[family.reduction]):
        return dict.fromkeys(call.arrays, ())
    counts = dict(_counts(family, call))
    groups = [each.split() for each in named.split(",")] if named else []
    texts = dict(zip([each.position for each in call.operator.signature.tensors], groups, strict=False))
    return {
        position: _chosen(call, position, texts.get(position, ()), counts.get(position)) for position in call.arrays
    }


def _family(operator: Operator) -> Any:
    """Return the family that says which dimensions an operator works on."""
    family = declared_of(operator).family
    if isinstance(family, Windows):  # of blocks
        found = BATCHING.find(operator.name)
        return found.batch if isinstance(found, Dimensions) else None
    return family


def _given(call: Call, family: Any, given: Sequence[Sequence[Hashable]]) -> dict[int, Names]:
    if isinstance(family, (Along, Elementwise)):
        raise ValueError(f"{call.operator.name} takes no input_core_dims: its arguments tell its dimensions")
    if len(given) != len(call.arrays):
        raise ValueError(
            f"{call.operator.name}: input_core_dims has {len(given)} lists, and {len(call.arrays)} arrays are labelled"
        )
    found = {}
    for (position, array), names in zip(call.arrays.items(), given, strict=True):
        missing = [each for each in names if each not in array.dims]
        if missing:
            raise ValueError(f"{call.argument(position)} has no dimension {missing[0]!r}, but {_shown(array.dims)}")
        found[position] = tuple(names)
    return found


def _along(call: Call, family: Along) -> dict[int, Names]:
    """Return the dimensions that arguments name, of operands; all dimensions of other arrays.

    If another array has a dimension that would loop, as `index` of `gather` has, all dimensions are core dimensions.
    """
    operands = [each for each in call.arrays if each in family.operands]
    first = call.arrays[operands[0] if operands else next(iter(call.arrays))]
    over = family.over(first.ndim, call.values)
    if any(not 0 <= each < first.ndim for each in over):
        raise IndexError(f"{call.argument(family.dims[0])} is no dimension of an array with {_shown(first.dims)}")
    names = tuple([first.dims[each] for each in over])
    others = [name for position, array in call.arrays.items() if position not in operands for name in array.dims]
    if {*others} & {*first.dims} - {*names}:
        names = tuple(first.dims)
    found = {}
    for position, array in call.arrays.items():
        found[position] = names if position in operands else tuple(array.dims)
        missing = [each for each in found[position] if each not in array.dims]
        if missing:
            raise ValueError(f"{call.argument(position)} has no dimension {missing[0]!r}, but {_shown(array.dims)}")
    for place in family.dims:
        call.values[place] = _from_the_end(call.values[place], first, names)
    return found


def _from_the_end(value: Any, array: xr.DataArray, names: Names) -> Any:
    """Return positions among core dimensions, which come last, for positions in an array."""
    if isinstance(value, int):
        return value if not array.ndim else names.index(array.dims[value]) - len(names)
    return value if value is None else [_from_the_end(each, array, names) for each in value]


def _counts(family: Any, call: Call) -> Iterator[tuple[int, int]]:
    """Yield how many core dimensions an operand has, as far as the family tells."""
    if isinstance(family, Leading):
        yield from family.operands
    elif isinstance(family, Product):
        for position, names in ((family.first, family.left), (family.second, family.right)):
            yield position, sum(name != "..." for name in names)
    elif isinstance(family, Folded):
        for position in family.operands:
            yield position, family.core
    elif isinstance(family, (Everything, Reducing)):
        for position, array in call.arrays.items():
            yield position, array.ndim


def _chosen(call: Call, position: int, names: Sequence[str], count: int | None) -> Names:
    """Return core dimensions: of the declared names, or all dimensions if there are no more of them."""
    dims = call.arrays[position].dims
    if names and set(names) <= set(dims):
        return tuple(names)
    wanted = len(names) if names else len(dims) if count is None else count
    if wanted == len(dims):
        return tuple(dims)
    declared = f" ({', '.join(names)})" if names else ""
    hint = f"name {'it' if wanted == 1 else 'them'}: input_core_dims=[[…]]"
    plural = "dimension" if wanted == 1 else "dimensions"
    raise ValueError(
        f"{call.argument(position)} has {_shown(dims)}, and the operator works on {wanted} {plural}{declared}: {hint}"
    )


def _shown(dims: Sequence[Hashable]) -> str:
    plural = "dimension" if len(dims) == 1 else "dimensions"
    return f"the {plural} {', '.join(map(repr, dims))}" if dims else "no dimensions"


def loop_dims(arrays: Mapping[int, xr.DataArray], core: Mapping[int, Names]) -> Names:
    """Return the dimensions that broadcast, in the order in which operands have them."""
    found = [name for position, array in arrays.items() for name in array.dims if name not in core[position]]
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class Result:
    """A result: its core dimensions, and the order of its axes in which loop dimensions come first."""

    core: Names
    axes: tuple[int, ...]


def result_dims(call: Call, core: Mapping[int, Names], new: Sequence[Hashable]) -> tuple[list[Result], set[Hashable]]:
    """Return the dimensions of each result, and the core dimensions whose size changes.

    Fakes tell which dimension of a result has the size of which dimension of an operand. Names of dimensions that no
    operand has are taken from `new`. Raises ValueError if these are too few.
    """
    loop = loop_dims(call.arrays, core)
    numbers = {name: number for number, name in enumerate({**dict.fromkeys(loop), **_sizes(call)})}
    names_of = {number: name for name, number in numbers.items()}
    tensors: dict[int, tuple[tuple[int, ...], Any]] = {}
    labels: Labels = {}
    for position, array in call.arrays.items():
        own = [name for name in loop if name in array.dims]
        looped = loop[loop.index(own[0]) :] if own else ()
        names = [name if name in own else None for name in looped] + list(core[position])
        tensors[position] = (tuple([1 if name is None else array.sizes[name] for name in names]), array.dtype)
        labels[position] = tuple([None if name is None else numbers[name] for name in names])
    made = labelled(call.operator, call.values, tensors, labels)
    if made is None:  # sizes mean something to the operator
        plain = labelled(call.operator, call.values, tensors, without_labels(labels)) or []
        first = tuple([numbers[name] for name in loop])
        made = [replace(one, labels=(*first, *one.labels[len(first) :])) for one in plain]
    changed: set[Hashable] = set()
    results = []
    for one in made:
        names = [None if label is None else names_of[label] for label in one.labels]
        behind = [axis for axis, name in enumerate(names) if name not in loop]
        found = _filled(call, [names[axis] for axis in behind], core, list(new))
        sizes = dict(zip(found, [one.sizes[axis] for axis in behind], strict=True))
        changed |= {name for name, size in sizes.items() if _sizes(call).get(name, size) != size}
        results.append(Result(found, (*[names.index(name) for name in loop], *behind)))
    return results, changed


def _sizes(call: Call) -> dict[Hashable, int]:
    return {name: size for array in call.arrays.values() for name, size in array.sizes.items()}


def _filled(call: Call, found: list[Hashable | None], core: Mapping[int, Names], new: list[Hashable]) -> Names:
    """Return the names of a result's core dimensions, with those that no size told."""
    first = next(iter(core.values()), ())
    lost = [name for name in first if name not in found]
    if found.count(None) == len(lost) and len(found) == len(first):  # each stands where it stood
        found = [lost.pop(0) if name is None else name for name in found]
    names = [new.pop(0) if name is None and new else name for name in found]
    if None in names:
        raise ValueError(f"{call.operator.name}: a result has a dimension that no argument has: name it, new_dims=[…]")
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ValueError(
            f"{call.operator.name}: a result has the dimension {repeated!r} twice: rename it in one of the arguments"
        )
    return tuple(names)
