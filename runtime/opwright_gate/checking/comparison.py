"""The comparison of results without data with the real results of the same call."""

from __future__ import annotations

from typing import Any

from opwright.metadata.view_layouts import share_memory
from opwright.symbolic import ShapeEnv, SymInt
from opwright.testing.symbolic_results import at, bound_by
from opwright_core.arrays.dtypes import dtype_name
from opwright_core.tensors.tensor import Tensor
from opwright_gate.checking.calls import Call, Operand, results_of

__all__ = ["difference", "tensor_difference"]

Values = dict[str, Any]


def difference(fake: Call, found: Any, real: Call, wanted: Any, env: ShapeEnv | None) -> str | None:
    """Return how a call's results and writes without data differ from the real ones; None if in nothing."""
    problem = _structure_difference(found, wanted, "the result" if len(fake.operator.signature.returns) == 1 else "")
    if problem is not None:
        return problem
    values = {} if env is None else bound_by(env, found, wanted)
    try:
        problem = None if env is None else _range_difference(env, values, found)
        for one, other in zip(_compared(fake, found), _compared(real, wanted), strict=True):
            problem = problem or tensor_difference(one, other, values)
        return problem or _number_difference(found, wanted, values) or _alias_difference(fake, found, real, wanted)
    except KeyError:  # sizes that follow from numbers which stand nowhere in the result
        return None


def _compared(call: Call, result: Any) -> list[Operand]:
    return [*results_of(call.operator, result), *call.written]


def _structure_difference(found: Any, wanted: Any, name: str) -> str | None:
    """Return how results differ in number, or in the kinds of values among them."""
    if isinstance(found, list | tuple) and isinstance(wanted, list | tuple):
        what = name or "the results"
        if len(found) != len(wanted):
            return f"{what}: the fake kernel returns {len(found)} values, the operator {len(wanted)}"
        parts = (
            _structure_difference(one, other, f"{name}[{index}]" if name else f"result {index}")
            for index, (one, other) in enumerate(zip(found, wanted, strict=True))
        )
        return next((each for each in parts if each is not None), None)
    kinds = [_kind(found), _kind(wanted)]
    return None if kinds[0] == kinds[1] else f"{name}: the fake kernel returns {kinds[0]}, the operator {kinds[1]}"


def _kind(value: Any) -> str:
    if isinstance(value, Tensor):
        return "a Tensor"
    if isinstance(value, list | tuple):
        return f"{len(value)} values"
    return (
        "None"
        if value is None
        else "a number"
        if isinstance(value, int | float) or hasattr(value, "hint")
        else "a value"
    )


def tensor_difference(fake: Operand, real: Operand, values: Values) -> str | None:
    """Return how the metadata of a Tensor without data differs from that of the real one."""
    one, other = fake.tensor, real.tensor
    if one.dtype != other.dtype:
        return _mismatch("Dtype", real.name, dtype_name(one.dtype), dtype_name(other.dtype))
    if one.device != other.device:
        return _mismatch("Device", real.name, one.device, other.device)
    if one.dim() != other.dim():
        return _mismatch(
            "Rank", real.name, f"{one.dim()}, of {_shown(one.shape)}", f"{other.dim()}, of {tuple(other.shape)}"
        )
    for dim, (size, wanted) in enumerate(zip(one.shape, other.shape, strict=True)):
        if at(size, values) != wanted:
            return _mismatch("Shape", f"{real.name}, dimension {dim}", _shown(one.shape), _shown(other.shape))
    wrong = _other_stride(one, other, values)
    if wrong is not None:
        return _mismatch("Stride", f"{real.name}, dimension {wrong}", _shown(one.stride()), _shown(other.stride()))
    return None


def _other_stride(fake: Tensor, real: Tensor, values: Values) -> int | None:
    """Return the first dimension that lies otherwise. It does not matter where there is one element at most, and is
    unknown where a size is that only data tells."""
    if not real.numel():
        return None
    for dim, (stride, wanted) in enumerate(zip(fake.stride(), real.stride(), strict=True)):
        is_unknown = isinstance(stride, SymInt) and stride.hint is None
        if real.shape[dim] > 1 and not is_unknown and at(stride, values) != wanted:
            return dim
    return None


def _mismatch(what: str, where: str, fake: object, real: object) -> str:
    return f"{what} mismatch in {where}: the fake kernel says {fake}, the operator returned {real}"


def _shown(sizes: Any) -> str:
    return f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"


def _range_difference(env: ShapeEnv, values: Values, found: Any) -> str | None:
    """Return a size outside of what `new_dynamic_size(min=, max=)` said of it."""
    for name, symbol in env.symbols.items():
        low, high = symbol.range
        if symbol.hint is None and name in values and not low <= values[name] <= high:
            bounds = f"min={low}" if values[name] < low else f"max={high}"
            return (
                f"{' and '.join(symbol.sources)}, new_dynamic_size({bounds}) in the fake kernel, is {values[name]} in "
                "the operator's result"
            )
    return None


def _number_difference(found: Any, wanted: Any, values: Values) -> str | None:
    if isinstance(found, list | tuple):
        parts = (_number_difference(one, other, values) for one, other in zip(found, wanted, strict=True))
        return next((each for each in parts if each is not None), None)
    if isinstance(found, SymInt) and found.hint is not None and at(found, values) != wanted:
        return f"the fake kernel returns the number {found}, the operator {wanted}"
    return None


def _alias_difference(fake: Call, found: Any, real: Call, wanted: Any) -> str | None:
    """Return a result in the memory of an argument or another result, in one of the two calls alone."""
    mine, theirs = (_aliases(call, result) for call, result in ((fake, found), (real, wanted)))
    for name, shared in mine.items():
        if shared != theirs[name]:
            return (
                f"Alias mismatch: {name} of the fake kernel shares memory with {_listed(shared)}, that of the operator "
                f"with {_listed(theirs[name])}"
            )
    return None


def _listed(names: list[str]) -> str:
    return " and ".join(names) or "nothing"


def _aliases(call: Call, result: Any) -> dict[str, list[str]]:
    known = list(call.operands)
    found: dict[str, list[str]] = {}
    for each in results_of(call.operator, result):
        found[each.name] = [other.name for other in known if share_memory(each.tensor, other.tensor)]
        known.append(each)
    return found
