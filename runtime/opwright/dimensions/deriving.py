"""The rule of a call: of the operator's family, of what its declaration says (`dims`), and of fakes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from opwright.dimensions.declared import Declared, declared_of
from opwright.dimensions.derivatives import writing_rule
from opwright.dimensions.families import Kinds, Labels, Shapes, Whole, whole
from opwright.dimensions.kinds import Kind, whole_since
from opwright.dimensions.layouts import Result, results
from opwright.dimensions.rule import ONE, DimensionRule, Letters
from opwright.dimensions.windows import Windows
from opwright.dimensions.written import ByText
from opwright.errors import DataDependentOutputError, DynamicOutputShapeError
from opwright.variants.functional_variants import Variant, functional_variant
from opwright_core.dispatch.call.operator import Operator
from opwright_core.tensors.tensor import Tensor

__all__ = ["cut_of", "rule_of", "tensors_in"]

_UNKNOWN = "what it writes is not known before"
Tensors = dict[Any, tuple[tuple[int, ...], Any]]  # by Key: shape and dtype


def rule_of(operator: Operator, values: Sequence[Any]) -> DimensionRule:
    """Return the rule of a call with these arguments, all of them in order. Of tensors shapes and dtypes are asked.

    One that writes has the rule of its functional variant. Raises what the operator raises for fakes of these.
    """
    if operator.signature.written and (variant := functional_variant(operator)) is not None:
        return _of_variant(operator, variant, values)
    tensors = tensors_in(values)
    shapes = {key: shape for key, (shape, _) in tensors.items()}
    declared = declared_of(operator)
    if declared.sharding:
        made = results(operator, values, tensors, whole(shapes)) or []
        found = ByText(operator, declared).rule(shapes, values, [len(one.sizes) for one in made])
    elif declared.family is None or not shapes:
        found = _uncut(shapes, _shown(operator, values, tensors), declared.reason)
    else:
        found = _derived(operator, declared, values, tensors)
    keys = list(shapes)
    places = [each[0] if isinstance(each, tuple) else each for each in keys]
    said = () if _is_rounded(operator, values, tensors) else declared.linear
    linear = tuple([tuple([n for n, place in enumerate(places) if place in group]) for group in said])
    return DimensionRule(found.operands, found.results, found.kinds, found.reason, tuple(filter(None, linear)))


def _is_rounded(operator: Operator, values: Sequence[Any], tensors: Tensors) -> bool:
    """Whether an argument `dtype` makes integers of fractions, so that nothing is linear."""
    place = operator.signature.positions.get("dtype")
    dtype = None if place is None else values[place]
    return dtype is not None and dtype.kind in "biu" and any(each.kind in "fc" for _, each in tensors.values())


def _of_variant(operator: Operator, variant: Variant, values: Sequence[Any]) -> DimensionRule:
    """Return the rule of an operator that writes what its functional variant returns."""
    keys, places = list(tensors_in(values)), {}
    given = variant.arguments(tuple(values), min(operator.signature.written))
    theirs = list(tensors_in(given))
    for place, source in enumerate(variant.sources):
        places[source] = place
    at = [(places.get(key[0]), key[1]) if isinstance(key, tuple) else places.get(key) for key in keys]
    operands = [theirs.index(each) if each in theirs else None for each in at]
    written = [keys.index(each) if each in keys else None for each in variant.results]
    rule = rule_of(variant.operator, given)
    if len(rule.results) != len(written) or not {*variant.results} <= {None, *keys}:
        return _uncut({key: shape for key, (shape, _) in tensors_in(values).items()}, [], _UNKNOWN)
    found = writing_rule(rule, operands, written)
    return replace(found, results=found.results[: len(operator.signature.returns)])


def cut_of(operator: Operator) -> Any:
    """Return what labels an operator's dimensions: its family, or one that reads what `dims` names, which does not
    know of windows that are apart."""
    declared = declared_of(operator)
    if isinstance(declared.family, Windows):
        return declared.family
    return ByText(operator, declared) if declared.sharding else declared.family or Whole()


def _shown(operator: Operator, values: Sequence[Any], tensors: Tensors) -> Sequence[Result]:
    """Return the results of a call, none where data decides what they look like."""
    shapes = {key: shape for key, (shape, _) in tensors.items()}
    try:
        return results(operator, values, tensors, whole(shapes)) or []
    except (DataDependentOutputError, DynamicOutputShapeError):
        return []


def tensors_in(values: Sequence[Any]) -> Tensors:
    """Return shape and dtype of each tensor in a call's arguments, by position; in lists, by position and index."""
    found: Tensors = {}
    for position, value in enumerate(values):
        if isinstance(value, Tensor):
            found[position] = (tuple(value.shape), value.array.dtype)
        elif isinstance(value, list | tuple):
            for index, each in enumerate(value):
                if isinstance(each, Tensor):
                    found[position, index] = (tuple(each.shape), each.array.dtype)
    return found


def _uncut(shapes: Shapes, made: Sequence[Result], reason: str) -> DimensionRule:
    """Return the rule by which nothing is cut."""
    names = Letters()
    operands = tuple([tuple([names.new() for _ in shape]) for shape in shapes.values()])
    kinds = {name: whole_since(reason) for own in operands for name in own}
    return DimensionRule(operands, tuple([(ONE,) * len(one.sizes) for one in made]), kinds, reason)


def _derived(operator: Operator, declared: Declared, values: Sequence[Any], tensors: Tensors) -> DimensionRule:
    """Return the rule that follows from a family: results are cut as fakes show."""
    family = declared.family
    assert family is not None
    shapes = {key: shape for key, (shape, _) in tensors.items()}
    labels, kinds = family.combined(shapes, values)
    plain = family.labels(shapes, values)
    made = results(operator, values, tensors, plain)
    if made is None:
        reason = "arguments say what the whole result looks like, or sizes mean something to the operator"
        return _uncut(shapes, results(operator, values, tensors, whole(shapes)) or [], reason)
    if labels is plain or any(len(own) != len(shapes[key]) for key, own in labels.items()):
        labels = plain
    return _named(shapes, labels, kinds, made, family.reason, family if isinstance(family, Windows) else None)


def _named(
    shapes: Shapes, labels: Labels, kinds: Kinds, made: Sequence[Result], reason: str, windows: Windows | None
) -> DimensionRule:
    names = Letters()
    sizes: dict[int, int] = {}
    for key, own in labels.items():
        for label, size in zip(own, shapes[key], strict=True):
            if label is not None:
                sizes[label] = max(sizes.get(label, 1), size) if size != 0 else 0
    found: dict[str, Kind] = {}
    out = [[ONE if label is None else names.of(label) for label in one.labels] for one in made]
    operands = []
    for key, own in labels.items():
        row = []
        for dim, (label, size) in enumerate(zip(own, shapes[key], strict=True)):
            is_one = label is not None and size == 1 and sizes[label] != 1
            name = ONE if is_one else names.new() if label is None else names.of(label)
            kind = kinds.get((key, dim), whole_since(reason) if label is None else None)
            if kind is not None and not is_one:
                found[name] = _checked(kind, key, dim, made, shapes, windows, out, name)
            row.append(name)
        operands.append(tuple(row))
    return DimensionRule(tuple(operands), tuple(map(tuple, out)), found)


def _checked(
    kind: Kind, key: Any, dim: int, made: Sequence[Result], shapes: Shapes, windows: Windows | None, out: Any, name: str
) -> Kind:
    """Return a kind that a result allows: windows give an element for each position, what runs along keeps none."""
    size = shapes[key][dim]
    is_kept = len(made) == 1 and len(made[0].sizes) == len(shapes[key]) and made[0].sizes[dim] == size != 1
    if kind.word == "window":
        if not is_kept or windows is None or key != windows.operand:
            return whole_since("windows do not give an element for each position")
        out[0][dim] = name
    elif kind.word == "again" and (is_kept or len(made) != 1):
        return whole_since("each part goes on from the last element of the part before")
    return kind
