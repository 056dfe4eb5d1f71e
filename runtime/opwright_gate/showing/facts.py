"""The facts of one operator for its page."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Final

from opwright.cost.tables import functional_of, said_of
from opwright.dimensions.declared import declared_of
from opwright.dimensions.deriving import rule_of
from opwright.inspection.tables import table
from opwright_core.arrays.dtypes import float32
from opwright_core.dispatch.call.operator import Operator, find_operator
from opwright_core.dispatch.registry.forward_rules import RULES
from opwright_core.dispatch.registry.precedence import MISSING
from opwright_core.dispatch.registry.rule_table import BATCHING, RuleTable
from opwright_core.keys import AUTOGRAD, BACKENDS, DispatchKey
from opwright_core.tensors.tensor import Tensor
from opwright_core.texts.package_tables import table_of
from opwright_gate.cases import Case
from opwright_gate.properties import PROPERTIES
from opwright_gate.samples import Samples
from opwright_gate.showing.examples import example_of
from opwright_gate.showing.kernel_places import formulas_of, kernels_of
from opwright_gate.showing.signature_texts import signature_text
from opwright_gate.subjects import Subject
from opwright_gate.verdicts import Verdict

__all__ = ["calls_of", "facts_of"]

_OF_AUTOGRAD: Final = {key.name for key in DispatchKey if not key.is_alias and key.bit & AUTOGRAD}
# What a page says of each property: transforms and gradients by themselves, the others by their group.
_ROWS: Final = {
    each.name: f"{each.title[0].lower()}{each.title[1:]}" if each.group in ("gradients", "transforms") else each.group
    for each in PROPERTIES
}


def facts_of(name: str, verdicts: Sequence[Verdict], run: str = "") -> dict[str, Any]:
    """Return the facts of an operator that need no call. `run` describes the run of the verdicts."""
    operator = find_operator(name)
    keys = [key for key in operator.registrations if isinstance(key, DispatchKey)]
    return {
        "name": name,
        "schema": f"{name}{operator.declaration}",
        "doc": operator.doc,
        "signature": signature_text(operator),
        "packet": signature_text(operator.overloadpacket),
        "where": operator.where,
        "writes": bool(operator.signature.written),
        "functional": functional_of(operator).name,
        "tags": sorted(map(str, operator.tags)),
        "backends": [key.name for key in sorted(keys, key=lambda each: each.bit) if key.bit & BACKENDS],
        "composite": any(key.name.startswith("Composite") for key in keys),
        "table": list(_rows(operator)),
        "kernels": list(kernels_of(operator)),
        "formulas": formulas_of(operator),
        "tangent": _has_rule(RULES, name),
        "batch": _has_rule(BATCHING, name),
        "reference": table_of(operator, "references", "REFERENCES").get(name.partition("::")[2], ""),
        "gate": list(_found(verdicts)),
        "run": run if verdicts else "",
    }


def _has_rule(rules: RuleTable[Any], name: str) -> bool:
    if (load := rules.find_unloaded(name)) is not None:
        load()
    return rules.find(name) is not None


def _rows(operator: Operator) -> Iterator[tuple[list[str], str, str]]:
    """Yield keys with the same kernel, its rule and its place of registration."""
    found: dict[tuple[str, str], list[str]] = {}
    for key, entry in table(operator).items():
        if entry.rule != MISSING and not entry.is_fallthrough:
            found.setdefault((entry.rule, entry.where), []).append(key)
    for (rule, where), keys in found.items():
        is_all = set(keys) >= _OF_AUTOGRAD
        named = [key for key in keys if not is_all or key not in _OF_AUTOGRAD]
        yield [*named, *["Autograd of every backend"] * is_all], rule, where


def _found(verdicts: Sequence[Verdict]) -> Iterator[dict[str, Any]]:
    """Yield results of the gate by backend and row: number of held properties, broken properties, dtypes."""
    rows = list(dict.fromkeys(_ROWS.values()))
    by_row: dict[tuple[str, int], list[Verdict]] = {}
    for each in verdicts:
        if each.property in _ROWS:
            by_row.setdefault((each.backend, rows.index(_ROWS[each.property])), []).append(each)
    for (backend, row), own in sorted(by_row.items()):
        yield {
            "backend": backend,
            "row": rows[row],
            "place": row,
            "held": sum(each.verdict == "held" for each in own),
            "broken": [[each.property, each.why] for each in own if each.verdict == "broken"],
            "undecided": [[each.property, each.why] for each in own if each.verdict == "undecided"],
            "dtypes": sorted({dtype for each in own for dtype in each.dtypes}),
        }


def calls_of(name: str) -> dict[str, Any]:
    """Return facts from calls of an operator: accepted dtypes, rule and cost of a call, an example.

    The arguments are random, and a call can crash. Run this in a separate process.
    """
    operator = find_operator(name)
    subject = Subject(name, operator)
    samples = Samples(subject)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = samples.bases.get(float32) or samples.first
        cases = [each for each in (first, samples.first) if each is not None]
        example = None if subject.returns_what_memory_held else example_of(subject, cases)
        return {
            "dtypes": [str(dtype) for dtype, each in samples.bases.items() if dtype in each.dtypes],
            "example": None if example is None else [list(example.lines), example.output],
            **(_told_by_call(operator, first) if first is not None else {}),
        }


def _told_by_call(operator: Operator, case: Case) -> dict[str, str]:
    """Return dimension rule and cost of a call."""
    arguments = case.call(operator).arguments
    said = said_of(functional_of(operator))
    positional = operator.signature.positional
    named = dict(zip(operator.signature.names[positional:], arguments[positional:], strict=True))
    try:
        cost = str(operator.cost(*arguments[:positional], **named))
    except Exception:  # nothing says it, of data that decides for one
        cost = ""
    rule = reason = ""
    if any(isinstance(each, Tensor) for each in arguments):
        try:
            found = rule_of(operator, arguments)
            rule, reason = str(found), found.reason
        except Exception:
            reason = declared_of(operator).reason
    return {
        "rule": rule,
        "reason": reason or declared_of(operator).reason,
        "cost": cost,
        "cost_text": said[0] if said is not None and isinstance(said[0], str) else "",
    }
