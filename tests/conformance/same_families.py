"""Families of batching rules as generated packages have them, beside those that formulas given at run time tell."""

from __future__ import annotations

from declared import ROOT

from opwright.batching.formulas import FAMILIES
from opwright_codegen.commands.config import find_config
from opwright_codegen.commands.job import job_of
from opwright_codegen.declared.declare import declare
from opwright_codegen.declared.meta_formula import bind_meta
from opwright_codegen.declared.parts import Plans


def differing() -> tuple[int, list[str]]:
    """How many operators of aten were compared, and those whose families differ. Formulas that choose between rules, or
    plan a list, tell none at run time."""
    (declared,) = declare(job_of(find_config(ROOT))).values()
    generated = declared.cuts.composed
    groups = {member.name: group for group in declared.operators.groups for member in group.members}
    count, wrong = 0, []
    for binding in declared.bindings:
        operator, meta = binding.view.operator, binding.base.meta
        functional = groups[operator.name].functional
        members = [each.dims for each in (operator, binding.base, functional) if each is not None and each.dims]
        is_written = any(dims.is_batched or dims.batched_by for dims in members)
        if operator.name not in generated or not isinstance(binding.meta, Plans) or is_written or meta is None:
            continue
        bound = bind_meta(operator.schema, meta.text)
        if bound.family is None:
            if None not in bound.calls and not bound.is_list and len(set(bound.calls)) == 1:
                wrong.append(f"{operator.name}: nothing at run time")
            continue
        count += 1
        if bound.family != generated[operator.name] or bound.family.name not in FAMILIES:
            wrong.append(f"{operator.name}: {generated[operator.name]}, not {bound.family}")
    return count, wrong
