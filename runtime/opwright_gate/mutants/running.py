"""Mutants run through the gate, beside their controls: what it finds of a mutant and not of its control is noticed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from opwright_gate.mutants.outcomes import Measure, Mutant, Result
from opwright_gate.run import Progress, gate
from opwright_gate.verdicts import Report, Verdict

__all__ = ["measure"]

Pair = tuple[Mutant, Mutant]  # a control and a mutant of it
Compare = Callable[[Sequence[Pair]], list[bool]]  # to whether they do the same
# What changes of these keys say is another promise, whatever the kernel does.
_PROMISES = ("func", "dtypes")
# What can notice a change of these keys, with a property that always says whether there were calls to ask with.
_OF_GRADIENTS: Final = ("gradients", "transforms", "writes-as-declared")
_ASKED: Final = {"gradient": _OF_GRADIENTS, "tangent": _OF_GRADIENTS, "batch": ("transforms", "writes-as-declared")}
_OF_ALL: Final = (
    "schema", "fakes", "layouts", "bounds", "sizes", "values", "determinism", "gradients", "transforms", "state"
)  # fmt: skip


def measure(
    mutants: Sequence[Mutant],
    refused: Mapping[str, str],
    compare: Compare,
    *,
    target: str,
    modules: Sequence[str],
    seed: int = 0,
    jobs: int | None = None,
    timeout: float = 10.0,
    report: Callable[[Progress], None] | None = None,
) -> Measure:
    """Return what came of each mutant. Those without a kind are controls, which stay as they were declared.

    `refused` are those that the generator refuses, by name, with its words. Raises ValueError where `modules` do not
    define the others.
    """
    begin = time.perf_counter()
    controls = {each.operator: each for each in mutants if not each.kind}
    versions, found, left_out = dict[str, str](), dict[tuple[str, ...], _Judged](), dict[str, str]()
    left_out |= {each.operator: refused[each.name] for each in controls.values() if each.name in refused}
    for properties, names in _questions(mutants, controls, refused).items():
        options = {"seed": seed, "jobs": jobs, "timeout": timeout, "report": report, "modules": modules}
        judged = gate(names, properties=properties, **options)  # type: ignore[arg-type]
        known, versions = _Judged(judged), judged.versions
        found[properties] = known
        left_out |= {each.operator: why for each in controls.values() if (why := known.unsampled(each.name))}
    counted = [each for each in mutants if each.kind and each.operator in controls and each.operator not in left_out]
    results = [_result(each, controls[each.operator], refused, found.get(_asked(each))) for each in counted]
    results = _without_equivalent(results, controls, compare)
    seconds = round(time.perf_counter() - begin, 3)
    return Measure(tuple(results), left_out, target, seconds, seed, versions)


def _asked(mutant: Mutant) -> tuple[str, ...]:
    return _ASKED.get(mutant.where, _OF_ALL)


def _questions(
    mutants: Sequence[Mutant], controls: Mapping[str, Mutant], refused: Mapping[str, str]
) -> dict[tuple[str, ...], list[str]]:
    """Return the names of the mutants that are asked the same properties, with their controls."""
    found: dict[tuple[str, ...], dict[str, None]] = {}
    for each in mutants:
        control = controls.get(each.operator)
        if each.kind and control is not None and not {each.name, control.name} & refused.keys():
            found.setdefault(_asked(each), {}).update({control.name: None, each.name: None})
    return {properties: list(names) for properties, names in found.items()}


class _Judged:
    """The verdicts of a report, by operator."""

    def __init__(self, report: Report) -> None:
        self._verdicts = report.by_operator

    def findings(self, name: str) -> dict[tuple[str, str], Verdict]:
        """Return what is broken, by property and cause."""
        return {(each.property, each.cause): each for each in self._verdicts.get(name, ()) if each.verdict == "broken"}

    def unsampled(self, name: str) -> str:
        """Return why nothing was asked, where there were no calls to ask with; else nothing."""
        verdicts = self._verdicts.get(name, ())
        if any(each.verdict != "undecided" for each in verdicts):
            return ""
        return next((each.why for each in verdicts if each.cause == "no-samples"), "")


def _result(mutant: Mutant, control: Mutant, refused: Mapping[str, str], found: _Judged | None) -> Result:
    if mutant.name in refused or found is None:
        return Result(mutant, "refused", "opwright check", refused[mutant.name])
    before = found.findings(control.name)
    new = [each for key, each in found.findings(mutant.name).items() if key not in before]
    if new:
        return Result(mutant, "noticed", new[0].property, new[0].why)
    if why := found.unsampled(mutant.name):
        return Result(mutant, "undecided", why=why)
    return Result(mutant, "unnoticed")


def _without_equivalent(results: Sequence[Result], controls: Mapping[str, Mutant], compare: Compare) -> list[Result]:
    """Return the results with those unnoticed ones as equivalent that do what their controls do."""
    asked = [each for each in results if each.outcome == "unnoticed" and each.mutant.where not in _PROMISES]
    answers = compare([(controls[each.mutant.operator], each.mutant) for each in asked])
    same = {id(each) for each, is_same in zip(asked, answers, strict=True) if is_same}
    why = "it does the same on all drawn samples"
    return [Result(each.mutant, "equivalent", why=why) if id(each) in same else each for each in results]
