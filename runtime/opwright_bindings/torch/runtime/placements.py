"""Placements of operands and results on one dimension of a mesh: a row for each factor of a dimension rule.

    n d, m d -> n m; d sum     ─▶  S(0) R -> S(0),  R S(0) -> S(1),  S(1) S(1) -> P(sum),  R R -> R

A factor that is parallel shards what has it; parts that are summed, or of which the largest counts, are Partial.
What the operator itself puts together is no placement: it is replicated. So are windows where no `halos` are exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch.distributed.tensor import Partial, Replicate, Shard

from opwright.dimensions.kinds import Kind
from opwright.dimensions.rule import DimensionRule, Names
from opwright_bindings.torch.runtime.halos import fits

__all__ = ["Row", "rows_of", "rows_of_gradients"]

Row = tuple[list[Any], list[Any]]  # placements of results, and of operands
_PASSED = ("sum", "avg")  # what goes through a linear operator


def rows_of(
    rule: DimensionRule,
    operands: Sequence[Any],
    results: Sequence[Any],
    shapes: Sequence[Sequence[int]] = (),
    ranks: int = 0,
) -> list[Row]:
    """Return the rows of a call, the first one replicated, given dtypes. Windows that reach over edges of blocks are
    cut for so many `ranks`, of operands of these shapes."""
    rows = [_replicated(len(rule.results), len(rule.operands))]
    for factor in rule.factors:
        kind = rule.kind(factor)
        if kind.word == "parallel" or _is_cut_window(kind, rule.size(factor, shapes) if shapes else 0, ranks):
            missing = Replicate()
        elif kind.is_combined and _may_be_partial(operands, results):
            missing = Partial(kind.word)
        else:
            continue
        outs = [_placed(own, factor, missing) for own in rule.results]
        rows.append((outs, [_placed(own, factor, Replicate()) for own in rule.operands]))
    for group in rule.linear if _may_be_partial(operands, results) else ():
        rows += _linear(len(rule.results), len(rule.operands), group)
    return rows


def _is_cut_window(kind: Kind, size: int, ranks: int) -> bool:
    return kind.word == "window" and (not kind.before + kind.after or (ranks > 0 and fits(kind, size, ranks)))


def rows_of_gradients(rule: DimensionRule, grads: Sequence[int], wanted: Sequence[int]) -> list[Row]:
    """Return the rows of gradients of the operands at `wanted`, given those of the results at `grads`, then operands.

    What a gradient's operand lacks is a partial sum. What was summed has one gradient for all parts. Gradients are
    linear in those that are given.
    """
    rows = [_replicated(len(wanted), len(grads) + len(rule.operands))]
    for factor in rule.of_kind("parallel", "sum"):
        ins = [rule.results[number] for number in grads] + list(rule.operands)
        outs = [_placed(rule.operands[number], factor, Partial()) for number in wanted]
        rows.append((outs, [_placed(own, factor, Replicate()) for own in ins]))
    if grads:
        rows += _linear(len(wanted), len(grads) + len(rule.operands), range(len(grads)))
    return rows


def _replicated(results: int, operands: int) -> Row:
    return [Replicate()] * results, [Replicate()] * operands


def _placed(own: Names, factor: str, missing: Any) -> Any:
    return Shard(own.index(factor)) if factor in own else missing


def _linear(results: int, operands: int, group: Sequence[int]) -> list[Row]:
    """Return the rows by which partial sums of some operands pass, the others held."""
    return [
        (
            [Partial(way)] * results,
            [Partial(way) if number in group else Replicate() for number in range(operands)],
        )
        for way in _PASSED
    ]


def _may_be_partial(operands: Sequence[Any], results: Sequence[Any]) -> bool:
    """Whether partial results are numbers that may be summed: none of truth values, or rounded to integers."""
    kinds = {np.dtype(each).kind if _is_plain(each) else "f" for each in results}
    is_rounded = bool(kinds & set("iu")) and any(np.dtype(each).kind in "fc" for each in operands if _is_plain(each))
    return "b" not in kinds and not is_rounded


def _is_plain(dtype: Any) -> bool:
    return np.dtype(dtype).kind in "biufc"
