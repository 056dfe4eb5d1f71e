"""Declarations of schema files and derivatives, as pages show them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright_codegen.declared.parts import ForwardKind
from opwright_codegen.reference.definitions import expanded
from opwright_codegen.reference.mathematics import Notation, formula_of, shown_formula

if TYPE_CHECKING:
    from opwright_codegen.declared.model import DeclaredSet
    from opwright_codegen.declared.parts import Differentiability, Operator
    from opwright_codegen.formula.ast import Formula

__all__ = ["Declared", "declared_by_schemas", "of_package"]

_OTHERWISE = {
    ForwardKind.LINEAR: "the operator itself, of tangents: it is linear",
    ForwardKind.ELEMENT_WISE: "the formula of the gradient, conjugated: it works on each element",
}


@dataclass(frozen=True)
class Declared:
    """The declaration of one operator: kernels by their keys, blocks of Markdown for gradients and tangents."""

    kernels: tuple[tuple[str, str], ...] = ()
    gradients: tuple[str, ...] = ()
    tangents: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()


def declared_by_schemas(sets: Iterable[DeclaredSet], notation: Notation, names: Collection[str]) -> dict[str, Declared]:
    """Return what the schema files of a project declare about each of these operators, by its name."""
    found = {}
    for declared in sets:
        entries = {} if declared.derivatives is None else declared.derivatives.entries
        for operator in (each for each in declared.all if each.name in names):
            name = operator.name
            entry = next(iter(entries.get(name, {}).values()), None)
            formulas = ((), (), ()) if entry is None else _formulas(entry, notation, _shown_of(name))
            found[name] = Declared(tuple(_kernels(operator)), *formulas, tuple(_facts(operator)))
    return found


def of_package(operator: str, formulas: Mapping[str, str], notation: Notation) -> tuple[str, ...]:
    """Return the gradients that a generated package has formulas of, where no schema files are there."""
    shown = _shown_of(operator)
    return tuple(shown_formula([name], shown(formula_of(text)), text, notation) for name, text in formulas.items())


def _shown_of(operator: str) -> Callable[[Formula | None], Formula | None]:
    """Return what makes the formula that is shown: functions of ATen's formulas are shown as what they compute."""
    is_aten = operator.startswith("aten::")
    return lambda formula: expanded(formula) if is_aten and formula is not None else formula


def _formulas(
    entry: Differentiability, notation: Notation, shown: Callable[[Formula | None], Formula | None]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    gradients = tuple(
        shown_formula(each.inputs, shown(each.formula), each.text.text, notation)
        for each in entry.derivatives
        if each.reason is None
    )
    tangents = tuple(
        _OTHERWISE.get(each.kind)
        or shown_formula(each.outputs, shown(each.formula), each.text.text, notation, is_tangent=True)
        for each in entry.forward
    )
    refused = tuple(name for each in entry.derivatives if each.reason is not None for name in each.inputs)
    return gradients, tuple(dict.fromkeys(tangents)), (*entry.non_differentiable, *refused)


def _kernels(operator: Operator) -> Sequence[tuple[str, str]]:
    """Return kernels with the keys that they serve."""
    by_kernel: dict[str, list[str]] = {}
    for key, kernel in operator.dispatch:
        by_kernel.setdefault(str(kernel), []).append(key)
    return [(", ".join(keys), kernel) for kernel, keys in by_kernel.items()]


def _facts(operator: Operator) -> Sequence[tuple[str, str]]:
    autocast = ", ".join(f"{device} {policy}".strip() for device, policy in operator.autocast)
    found = [
        ("result", f"`{operator.meta}`" if operator.meta is not None else ""),
        ("autocast", autocast),
        ("since", operator.since),
        ("deprecated", str(operator.deprecated) if operator.deprecated is not None else ""),
        ("version", str(operator.version) if operator.version > 1 else ""),
    ]
    return [(word, text) for word, text in found if text]
