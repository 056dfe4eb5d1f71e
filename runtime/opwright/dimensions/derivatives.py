"""Rules of derivatives, tangents, batches and writing variants, which follow from the rule of the operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from opwright.dimensions.kinds import PARALLEL, SUM, Kind, whole_since
from opwright.dimensions.rule import ONE, DimensionRule, Names

__all__ = ["batched_rule", "gradient_rule", "tangent_rule", "writing_rule"]

_NOT_LINEAR = "the derivative of a part needs the result of the whole"
_WRITTEN = "what is written is a part of the whole"
_BATCH = "batch"


def gradient_rule(rule: DimensionRule, wanted: Sequence[int]) -> DimensionRule:
    """Return the rule of the gradients of the operands at `wanted`, given those of the results, then the operands.

    What the gradient's operand lacks is summed, and so is a factor that an operand broadcasts over. What was summed has
    one gradient for all parts: it is parallel where an operand has it. Of maxima, and of windows, whose gradients reach
    over edges of blocks, the derivative needs the whole.
    """
    operands = (*rule.results, *rule.operands)
    results = tuple([rule.operands[position] for position in wanted])
    kinds = {}
    for factor in rule.factors:
        kind = rule.kind(factor)
        if kind.word in ("max", "min", "again", "window"):
            kinds[factor] = whole_since(_NOT_LINEAR)
        elif kind.word == "whole":
            kinds[factor] = kind
        elif any(factor not in own for own in results):
            kinds[factor] = SUM if all(factor not in own for own in results) else whole_since("some gradients sum it")
    return _settled(operands, results, kinds, rule.reason)


def tangent_rule(rule: DimensionRule, moved: Sequence[int]) -> DimensionRule:
    """Return the rule of the tangents of results, given the operands, then tangents of those at `moved`: they have the
    names of what they belong to. A sum stays one; of a maximum the tangent needs the whole."""
    operands = (*rule.operands, *[rule.operands[position] for position in moved])
    kinds = {
        factor: whole_since(_NOT_LINEAR) if kind.word in ("max", "min", "again") else kind
        for factor, kind in rule.kinds.items()
    }
    return _settled(operands, rule.results, kinds, rule.reason)


def batched_rule(rule: DimensionRule, in_dims: Sequence[int | None]) -> DimensionRule:
    """Return the rule of a batch of calls: `in_dims` say where each operand has it; results have it first. It is
    parallel, whatever the rule."""
    operands = tuple(
        own if dim is None else (*own[:dim], _BATCH, *own[dim:])
        for own, dim in zip(rule.operands, in_dims, strict=True)
    )
    return DimensionRule(operands, tuple([(_BATCH, *own) for own in rule.results]), rule.kinds, "", rule.linear)


def writing_rule(rule: DimensionRule, operands: Sequence[int | None], written: Sequence[int | None]) -> DimensionRule:
    """Return the rule of the variant that writes results: `operands` say which of the rule's each of its own is, None
    of one that is only written, and `written` which operand each result is a new value of.

    A part writes its part alone: what is put together, or is not cut as what it is written to, is whole.
    """
    into = {place: number for number, place in enumerate(written) if place is not None}
    own = [rule.results[into[place]] if each is None else rule.operands[each] for place, each in enumerate(operands)]
    kinds = dict(rule.kinds)
    for factor in dict.fromkeys(name for names in own for name in names):
        is_same = all(_place(own[place], factor) == _place(rule.results[n], factor) for place, n in into.items())
        if (
            factor != ONE
            and rule.kind(factor).word != "whole"
            and (rule.kind(factor).word != "parallel" or not is_same)
        ):
            kinds[factor] = whole_since(_WRITTEN)
    found = _settled(tuple(own), rule.results, kinds, rule.reason)
    groups = [{place for place, each in enumerate(operands) if each in group} for group in rule.linear]
    is_whole = [group for group in groups if {*into} <= group]
    return replace(found, linear=tuple([tuple(sorted(group)) for group in is_whole]))


def _place(own: Names, factor: str) -> int | None:
    return own.index(factor) if factor in own else None


def _settled(
    operands: tuple[Names, ...], results: tuple[Names, ...], kinds: dict[str, Kind], reason: str
) -> DimensionRule:
    """Return the rule in which what is whole is no factor of a result."""
    whole = {name for name, kind in kinds.items() if kind.word == "whole"}
    shown = tuple([tuple([ONE if name in whole else name for name in own]) for own in results])
    return DimensionRule(operands, shown, {name: kind for name, kind in kinds.items() if kind != PARALLEL}, reason)
