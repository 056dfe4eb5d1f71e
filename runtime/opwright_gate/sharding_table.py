"""The table of dimension rules, `opwright test --sharded`: what each says, whether it holds, what is missing.

By a framework (`--sharded=torch`) calls that are sharded there are judged, by `judge` of `judged_shardings` of its
binding; by PyTorch's own validator, of `validated_shardings`.

Exit status: 0 where all hold, 1 where a rule is wrong, 2 for wrong usage.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Final, TextIO

from opwright.dimensions.declared import declared_of
from opwright_core.dispatch.call.operator import Operator
from opwright_gate.loading import load_modules
from opwright_gate.properties import Sharded, missing_kinds, rule_for
from opwright_gate.samples import Samples
from opwright_gate.subjects import Subject, subjects_of

__all__ = ["Row", "main", "rows_of"]

BY: Final = ("numpy", "jax", "torch", "torch-validator")
_FEW: Final = 2  # calls that a framework judges, which takes it long
# What is wrong with a call that is sharded, and what is missing; of all its arguments.
Judge = Callable[[Operator, Sequence[Any]], tuple[str, Sequence[str]]]
_GROUPS: Final = {
    "parallel": ("parallel",),
    "reduced": ("sum", "max", "min", "again"),
    "window": ("window",),
    "whole": ("whole",),
}

_PAGE: Final = """# Dimension rules

Printed by `opwright test aten --sharded --table-only --markdown`: the family of each functional operator's rule,
how many factors of a drawn call are parallel, reduced, windows and whole, and the rule of that call, or why nothing is
cut. The page of schema files explains the notation.
"""


@dataclass(frozen=True)
class Row:
    """The dimension rule of one operator: of its first drawn call, with how many factors are of which group."""

    operator: str
    family: str
    rule: str
    counts: tuple[int, int, int, int]
    reason: str
    wrong: str = ""
    missing: tuple[str, ...] = ()
    milliseconds: float = 0.0

    @property
    def is_answered(self) -> bool:
        """Whether some factor may be cut, or a reason says why none may."""
        return any(self.counts[:3]) or bool(self.reason) or self.family == "dims"


def rows_of(subjects: Sequence[Subject], *, checks: bool = True, by: Judge | None = None) -> Iterator[Row]:
    """Yield the row of each functional operator; with `checks`, judged by drawn calls: in NumPy, or by a framework's
    judge."""
    asked = Sharded()
    for subject in subjects:
        if not subject.operator.signature.written:
            yield _row(subject, asked, checks, by)


def _row(subject: Subject, asked: Sharded, checks: bool, by: Judge | None) -> Row:
    declared = declared_of(subject.operator)
    family = "dims" if declared.sharding else type(declared.family).__name__ if declared.family else "-"
    samples = Samples(subject)
    cases = [each for each in [samples.first] if each is not None]
    cases = [*asked.cases(subject, samples)][: None if by is None else _FEW] if checks and cases else cases
    rules = [rule for case in cases if (rule := rule_for(subject, case)) is not None]
    # The call that says most: others may be of sizes, or dtypes, that are not cut.
    rule = max(rules, key=lambda each: len(each.factors) - len(each.of_kind("whole")), default=None)
    if rule is None:
        return Row(subject.name, family, "", (0, 0, 0, 0), declared.reason)
    reasons = [declared.reason, rule.reason, *[rule.kind(each).reason for each in rule.of_kind("whole")]]
    counts = [len(rule.of_kind(*words)) for words in _GROUPS.values()]
    reason = next(filter(None, reasons), "")
    row = Row(subject.name, family, str(rule), (counts[0], counts[1], counts[2], counts[3]), reason)
    if not checks or not subject.operator.signature.tensors or samples.why_unstable:
        return row
    start = time.process_time()  # (the wall's clock tells of other work on the machine)
    missing: Sequence[str] = ()
    if by is not None:
        said = [by(subject.operator, case.call(subject.operator).arguments) for case in cases]
        wrong = next((why for why, _ in said if why), "")
        missing = sorted({each for _, some in said for each in some})
    else:
        wrong = next((problem.why for case in cases if (problem := asked.problem(subject, case)) is not None), "")
    spent = 1e3 * (time.process_time() - start)
    if not declared.reason and by is None:
        missing = missing_kinds(subject, cases)
    return Row(row.operator, family, row.rule, row.counts, row.reason, wrong, tuple(missing), spent)


def main(words: Sequence[str] | None = None, out: TextIO = sys.stdout) -> int:
    """Print the table of the namespaces or operators that the words name; return the exit status."""
    parser = argparse.ArgumentParser(prog="opwright test --sharded", description="Judge dimension rules.")
    parser.add_argument("targets", nargs="+", metavar="TARGET")
    parser.add_argument("--load", action="append", default=[], dest="modules", metavar="MODULE")
    parser.add_argument("--by", choices=BY, default="numpy", help="what calls are made by")
    parser.add_argument("--table-only", action="store_true", help="no calls beside the first")
    parser.add_argument("--markdown", action="store_true", help="as the table of a page")
    arguments = parser.parse_args(words)
    try:
        load_modules(arguments.modules)
        subjects = [each for target in arguments.targets for each in subjects_of(target)]
    except ValueError as error:
        print(f"opwright test: {error}", file=sys.stderr)
        return 2
    found = []
    with _judge(arguments.by) as judge:
        for row in rows_of(subjects, checks=not arguments.table_only, by=judge):
            if not arguments.markdown:
                _print(row, out)
            found.append(row)
    if arguments.markdown:
        _print_page(found, out)
    else:
        _print_sums(found, out)
    return 1 if any(row.wrong for row in found) else 0


def _judge(by: str) -> AbstractContextManager[Judge | None]:
    """Return what judges calls by a framework; None for NumPy."""
    if by == "numpy":
        return nullcontext()
    framework, _, way = by.partition("-")
    name = "validated_shardings" if way else "judged_shardings"
    found: AbstractContextManager[Judge] = importlib.import_module(f"opwright_bindings.{framework}.{name}").judge()
    return found


def _print(row: Row, out: TextIO) -> None:
    said = ", ".join(f"{count} {group}" for group, count in zip(_GROUPS, row.counts, strict=True) if count)
    print(f"{row.operator:44} {row.family:12} {said or '-':28} {row.rule or row.reason}", file=out)
    if row.wrong:
        print(f"  wrong    {row.wrong} [sharding-wrong]", file=out)
    for text in row.missing:
        print(f"  advice   {text} [sharding-missing]", file=out)


def _print_page(rows: Sequence[Row], out: TextIO) -> None:
    """Print the table of a page, a line for each operator."""
    cut = sum(any(row.counts[:3]) for row in rows)
    answered = sum(row.is_answered for row in rows) - cut
    print(_PAGE, file=out)
    print(
        f"{len(rows)} operators: {cut} with a factor that may be cut, {answered} with a reason why none is.\n", file=out
    )
    print(f"| operator | family | {' | '.join(_GROUPS)} | rule of a drawn call |", file=out)
    print(f"| --- | --- |{' --- |' * len(_GROUPS)} --- |", file=out)
    for row in rows:
        counts = " | ".join(str(count or "") for count in row.counts)
        said = f"`{row.rule}`" if any(row.counts[:3]) else row.reason
        print(f"| `{row.operator}` | {row.family} | {counts} | {said} |", file=out)


def _print_sums(rows: Sequence[Row], out: TextIO) -> None:
    answered = sum(row.is_answered for row in rows)
    cut = sum(any(row.counts[:3]) for row in rows)
    wrong = sum(bool(row.wrong) for row in rows)
    each = sorted(row.milliseconds for row in rows)[len(rows) // 2] if rows else 0.0
    print(
        f"{len(rows)} operators: {cut} with a factor that may be cut, {answered - cut} with a reason, {wrong} wrong; "
        f"{each:.1f} ms each (median)",
        file=out,
    )


if __name__ == "__main__":
    sys.exit(main())
