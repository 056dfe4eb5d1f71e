"""Families of batching rules as the generator finds them, held against those that the runtime finds for `meta`."""

from __future__ import annotations

from typing import Any

from declared import ROOT

from opwright import rules
from opwright.batching.roles import family_of
from opwright_codegen.bindings.batches import Family, families
from opwright_codegen.bindings.bind import Binding, bind
from opwright_codegen.bindings.metas import Plans
from opwright_codegen.commands.config import find_config
from opwright_codegen.formula.ast import Call, Conditional, Constant, Formula, Kind, Reference
from opwright_codegen.kernels.modules import KernelModules
from opwright_codegen.read.files import read
from opwright_codegen.views.operators import namespace_view

_NUMBERS = ("int", "SymInt", "bool", "float")


def differing() -> list[str]:
    """The operators of aten whose families differ."""
    config = find_config(ROOT)
    operators = read(list(config.schemas), tags=config.tags)
    kernels = KernelModules(config.kernels)
    modules = KernelModules(("opwright.rules",), of="rule")
    view = namespace_view(operators, "aten", "opwright_aten", None, ())
    bindings = bind(view, operators, kernels, modules, strict=True)
    generated = families(operators, bindings, kernels, modules)
    groups = {member.name: group for group in operators.groups for member in group.members}
    wrong = []
    for binding in bindings:
        operator = binding.view.operator
        functional = groups[operator.name].functional
        texts = (operator.batch, binding.base.batch, None if functional is None else functional.batch)
        if operator.name not in generated or not isinstance(binding.meta, Plans) or any(texts):
            continue
        found = _at_run_time(binding, binding.meta)
        if _shown(found) != _said(generated[operator.name]):
            wrong.append(f"{operator.name}: {_said(generated[operator.name])}, not {_shown(found)}")
    return wrong


def _at_run_time(binding: Binding, meta: Plans) -> Any:
    formula: Formula = meta.formulas[0]
    while isinstance(formula, Conditional):
        formula = formula.then
    assert isinstance(formula, Call) and isinstance(formula.function, Reference)
    rule = getattr(rules, formula.function.name)
    arguments = binding.view.schema.arguments
    places = {argument.name: place for place, argument in enumerate(arguments)}
    code = rule.__code__
    positional, vararg = code.co_varnames[: code.co_argcount], code.co_varnames[-1:]
    if code.co_flags & 4:
        vararg = (code.co_varnames[code.co_argcount + code.co_kwonlyargcount],)
    passed = [(positional[n] if n < len(positional) else vararg[0], value) for n, value in enumerate(formula.arguments)]
    positions: dict[str, list[int]] = {}
    constants: dict[str, object] = {}
    for name, value in (*passed, *formula.keywords):
        match value:
            case Reference(Kind.ARGUMENT, argument):
                kind = arguments[places[argument]].type
                if kind.is_tensor_like or str(kind).rstrip("?]0123456789[") in _NUMBERS:
                    positions.setdefault(name, []).append(places[argument])
            case Constant(constant):
                constants[name] = constant
    return family_of(rule, positions, constants)


def _shown(family: Any) -> tuple[str, dict[str, Any]]:
    return type(family).__name__, {name: getattr(family, name) for name in type(family).__slots__}


def _said(family: Family) -> tuple[str, dict[str, Any]]:
    from opwright import abi

    return _shown(getattr(abi, family.name)(*family.arguments, **dict(family.keywords)))
