"""Rules as `dims` writes them, for all calls, made into the rule of one call.

Beside names there are `...`, dimensions that broadcast, and `*`, any number of them that are needed whole. Without
`...` batches come before what is named, as the family of the operator says.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from opwright.dimensions.declared import Declared
from opwright.dimensions.families import Kinds, Labels, Leading, Shapes, whole
from opwright.dimensions.kinds import Kind, whole_since
from opwright.dimensions.rule import ONE, DimensionRule, Letters, Names, parse
from opwright_core.dispatch.call.operator import Operator

__all__ = ["ByText"]

_BATCHES, _OTHERS = "...", "*"
_UNFIT = "the call has other dimensions than dims names"
_SAID = "dims says so"


class ByText:
    """The family of an operator whose declaration writes its rule (`dims`)."""

    reason = _SAID

    def __init__(self, operator: Operator, declared: Declared) -> None:
        self._operator = operator
        self._declared = declared

    def labels(self, shapes: Shapes, values: Sequence[Any]) -> Labels:
        """Return a label for each parallel factor."""
        found, kinds = self.combined(shapes, values)
        return {
            key: tuple([None if (key, dim) in kinds else label for dim, label in enumerate(own)])
            for key, own in found.items()
        }

    def combined(self, shapes: Shapes, values: Sequence[Any]) -> tuple[Labels, Kinds]:
        """Return a label for each factor that is parallel, or of which parts are put together element by element."""
        rule, _, found = self._fitted(shapes, values)
        if found is None:
            return whole(shapes), {}
        numbers: dict[str, int] = {}
        labels: Labels = {}
        kinds: Kinds = {}
        for key, own in found.items():
            row: list[int | None] = []
            for dim, name in enumerate(own):
                kind = rule.kind(name)
                is_cut = kind.is_combined or (kind.word == "parallel" and not name.startswith("_w"))
                row.append(numbers.setdefault(name, len(numbers)) if is_cut else None)
                if kind.is_combined:
                    kinds[key, dim] = kind
            labels[key] = tuple(row)
        return labels, kinds

    def rule(self, shapes: Shapes, values: Sequence[Any], ranks: Sequence[int]) -> DimensionRule:
        """Return the rule of a call. `ranks` are those of its results."""
        rule, most, found = self._fitted(shapes, values)
        if found is None:
            return _uncut(shapes, ranks)
        made = []
        for own, rank in zip(rule.results, ranks, strict=True):
            fitted = _fitted(own, rank, most, 0)
            if fitted is None:
                return _uncut(shapes, ranks)
            made.append(tuple([ONE if _is_whole(name, rule.kinds) else name for name in fitted]))
        kinds = {name: whole_since(_SAID) if kind.word == "whole" else kind for name, kind in rule.kinds.items()}
        kinds |= {name: whole_since(_SAID) for own in found.values() for name in own if name.startswith("_w")}
        present = {name for own in found.values() for name in own}
        kinds = {name: kind for name, kind in kinds.items() if name in present}
        results = tuple([tuple([name if name in present else ONE for name in own]) for own in made])
        return _lettered(DimensionRule(_with_ones(list(found.values()), list(shapes.values())), results, kinds))

    def _fitted(self, shapes: Shapes, values: Sequence[Any]) -> tuple[DimensionRule, int, dict[Any, Names] | None]:
        """Return the rule as it is written, how many dimensions broadcast, and the names of those of each tensor."""
        names = self._operator.signature.names
        rule = parse(self._text(shapes, values), dict(zip(names, values, strict=True)))
        sides = (*rule.operands, *rule.results)
        if isinstance(self._declared.family, Leading) and not any(_BATCHES in own for own in sides):
            rule = DimensionRule(_before(rule.operands), _before(rule.results), rule.kinds)
        groups = dict(zip([each.position for each in self._operator.signature.tensors], rule.operands, strict=True))
        given = [(key, groups[key[0] if isinstance(key, tuple) else key], shape) for key, shape in shapes.items()]
        batches = [_free(own, len(shape)) for _, own, shape in given if _BATCHES in own and _OTHERS not in own]
        most = max(batches, default=0)
        if _BATCHES in rule.kinds:
            kinds = dict(rule.kinds) | {f"_b{number}": rule.kinds[_BATCHES] for number in range(most)}
            rule = DimensionRule(rule.operands, rule.results, kinds)
        found: dict[Any, Names] = {}
        count = 0
        for key, own, shape in given:
            fitted = _fitted(own, len(shape), most, count)
            if fitted is None:
                return rule, most, None
            count += sum(name.startswith("_w") for name in fitted)
            found[key] = fitted
        return rule, most, found

    def _text(self, shapes: Shapes, values: Sequence[Any]) -> str:
        """Return the text of the rule, which a function may make for a call."""
        said = self._declared.sharding
        if "->" in said:
            return said
        module, _, name = said.partition(":")
        made: str = getattr(importlib.import_module(module), name)(shapes, values)
        return made


def _lettered(rule: DimensionRule) -> DimensionRule:
    """Return the rule with letters for what the text does not name."""
    letters = Letters(rule.factors)
    names = {name: letters.new() if name.startswith("_") else name for name in rule.factors} | {ONE: ONE}
    sides = [tuple([tuple([names[name] for name in own]) for own in side]) for side in (rule.operands, rule.results)]
    return DimensionRule(sides[0], sides[1], {names[name]: kind for name, kind in rule.kinds.items()})


def _is_whole(name: str, kinds: Mapping[str, Kind]) -> bool:
    """Whether a result has no factor there."""
    return name.startswith("_w") or (name in kinds and kinds[name].word in ("whole", "again")) or name == ONE


def _before(side: tuple[Names, ...]) -> tuple[Names, ...]:
    return tuple([(_BATCHES, *own) for own in side])


def _free(own: Names, rank: int) -> int:
    return rank - sum(name not in (_BATCHES, _OTHERS) for name in own)


def _fitted(own: Names, rank: int, most: int, count: int) -> Names | None:
    """Return the names of all dimensions of a tensor, None where they are not as many. `most` is the number of those
    that broadcast, of which a tensor may have fewer."""
    free = _free(own, rank)
    if free < 0 or (free and not {_BATCHES, _OTHERS} & set(own)):
        return None
    found: list[str] = []
    for name in own:
        if name == _BATCHES:
            mine = min(free, most)
            found += [f"_b{number}" for number in range(most - mine, most)]
            free -= mine
        elif name == _OTHERS:
            found += [f"_w{count + number}" for number in range(free)]
            free = 0
        else:
            found.append(name)
    return tuple(found) if not free or _OTHERS in own or _BATCHES not in own else None


def _with_ones(operands: Sequence[Names], shapes: Sequence[Sequence[int]]) -> tuple[Names, ...]:
    """Return the names of operands with dimensions of size 1 that broadcast marked."""
    sizes: dict[str, int] = {}
    for own, shape in zip(operands, shapes, strict=True):
        for name, size in zip(own, shape, strict=True):
            sizes[name] = max(sizes.get(name, 0), size)
    return tuple(
        tuple([ONE if size == 1 and sizes[name] > 1 else name for name, size in zip(own, shape, strict=True)])
        for own, shape in zip(operands, shapes, strict=True)
    )


def _uncut(shapes: Shapes, ranks: Sequence[int]) -> DimensionRule:
    operands: list[Names] = []
    kinds: dict[str, Kind] = {}
    count = 0
    for shape in shapes.values():
        own = tuple([f"_w{count + number}" for number in range(len(shape))])
        count += len(own)
        kinds |= {name: whole_since(_UNFIT) for name in own}
        operands.append(own)
    return DimensionRule(tuple(operands), tuple([(ONE,) * rank for rank in ranks]), kinds, _UNFIT)
