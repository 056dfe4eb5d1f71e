"""`cost_of`: the cost of a call, by what is said of the operator, by its dimension rule, or by what it calls."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opwright.cost.model import Cost
from opwright.cost.tables import Said, functional_of, said_of
from opwright.cost.written import numbers_of
from opwright.dimensions.declared import declared_of
from opwright.dimensions.deriving import tensors_in
from opwright.dimensions.families import Along, Elementwise, Everything, Family, Product, Reducing
from opwright.metadata.tags import Tag
from opwright_core.dispatch.call.operator import Operator
from opwright_core.keys import DispatchKey
from opwright_core.tensors.tensor import Tensor

__all__ = ["cost_of", "tensors_of_results"]


def cost_of(operator: Operator, values: Sequence[Any], results: Sequence[Tensor]) -> Cost | None:
    """Return the cost of a call with these arguments, all of them in order, that gave these results: tensors, of
    which shapes and dtypes are asked. None where it is that of what the operator calls. Tensors that are written and
    not returned count as results."""
    results = [*results, *_unreturned(operator, values)]
    if operator.signature.written and any(operator.signature.aliases) and "inplace_view" in operator.tags:
        return Cost(source="view")
    base = functional_of(operator)
    read, written = _traffic(operator, values, results)
    said = said_of(base)
    if said is not None:
        return _by_text(base, *said, operator, values, results, read, written)
    if not operator.signature.written and any(each is not None for each in operator.signature.aliases):
        return Cost(source="view")
    if _is_composite(base) and not _has_kernel(operator):
        return None
    flops, source = _of_family(base, _given(operator, base, values), results)
    return Cost(flops, 0, read, written, source)


def _is_composite(operator: Operator) -> bool:
    """Whether an operator is written over others: a backend has no kernel of its own."""
    return any(str(key).partition(".")[2].startswith("Composite") for key in operator.registrations)


def _has_kernel(operator: Operator) -> bool:
    return any(key in operator.registrations for key in (DispatchKey.CPU, DispatchKey.CUDA))


def _unreturned(operator: Operator, values: Sequence[Any]) -> list[Tensor]:
    """Return the tensors that a call writes and does not return, in the order in which a functional variant does."""
    left = [place for place in sorted(operator.signature.written) if place not in operator.signature.aliases]
    return [each for place in left for each in tensors_of_results(values[place])]


def tensors_of_results(result: Any) -> list[Tensor]:
    """Return the tensors of a result."""
    if isinstance(result, Tensor):
        return [result]
    return [each for part in result for each in tensors_of_results(part)] if isinstance(result, list | tuple) else []


def _given(operator: Operator, base: Operator, values: Sequence[Any]) -> list[Any]:
    """Return the arguments of the operator that returns what this one writes."""
    places = operator.signature.positions
    return [values[places[name]] for name in base.signature.names]


def _by_text(
    base: Operator, said: Said, source: str, operator: Operator, values: Sequence[Any], results: Sequence[Tensor],
    read: int, written: int,
) -> Cost:  # fmt: skip
    given = _given(operator, base, values)
    if not isinstance(said, str):
        found = said(*given, out_val=results[0] if len(results) == 1 else tuple(results))
        return found if isinstance(found, Cost) else Cost(int(found), 0, read, written, source)
    known = dict(zip(base.signature.names, given, strict=True)) | {f"result{n}": each for n, each in enumerate(results)}
    known |= {"result": results[0]} if results else {}
    numbers = {"read": read, "written": written} | numbers_of(said, known)
    return Cost(**numbers, source=source)


def _traffic(operator: Operator, values: Sequence[Any], results: Sequence[Tensor]) -> tuple[int, int]:
    """Return the bytes that a call reads and writes, each array once."""
    signature = operator.signature
    outputs = {place for place in signature.written if place >= signature.positional}
    read: dict[int, int] = {}
    for each in signature.tensors:
        if each.position not in outputs:
            for tensor in tensors_of_results(values[each.position]):
                read[id(tensor)] = _stored(tensor)
    return sum(read.values()), sum([_stored(each) for each in results])


def _stored(tensor: Tensor) -> int:
    """Return the bytes of a tensor's elements, of those that are there several times once."""
    sizes = [int(size) for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if stride or size == 0]
    return math.prod(sizes) * int(tensor.dtype.itemsize)


def _of_family(operator: Operator, values: Sequence[Any], results: Sequence[Tensor]) -> tuple[int, str]:
    """Return the operations of a call as the family of its dimension rule says: a product of sizes."""
    family: Family | None = declared_of(operator).family
    shapes = {key: shape for key, (shape, _) in tensors_in(values).items()}
    made = sum([math.prod(map(int, each.shape)) for each in results])
    match family:
        case Product():
            return 2 * _sizes_of_factors(family, shapes), "product"
        case Reducing() if values[family.reduction] != 0:
            return max([2 * math.prod(shapes[place]) for place in family.operands if place in shapes]), "reduction"
        case Elementwise():
            return made, "elementwise"
        case Everything():
            return math.prod(shapes[family.operand]), "reduction"
        case Along(combines=combines, operands=operands) if combines:
            return sum([math.prod(shape) for key, shape in shapes.items() if key in operands]), "reduction"
    return (made, "elementwise") if Tag.pointwise in operator.tags else (0, "bytes")


def _sizes_of_factors(family: Product, shapes: Any) -> int:
    """Return the product of the sizes of all factors."""
    sizes: dict[int | None, int] = {}
    for key, own in family.all_labels(shapes).items():
        if key in (family.first, family.second):
            for label, size in zip(own, shapes[key], strict=True):
                sizes[label] = max(int(size), sizes.get(label, 1)) if size else 0
    return math.prod(sizes.values())
