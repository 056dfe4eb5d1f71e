"""Sources of errors of backward passes: the operator that made a node, the formula, and the declaration."""

from __future__ import annotations

import ast
import inspect
import textwrap
import traceback
from types import CodeType
from typing import Any

from opwright.inspection.formula_places import formula_place
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.registry.kernel_kinds import LazyWrapper
from opwright_core.dispatch.registry.tables import registry

__all__ = ["gradient_text", "name_backward", "recorded_by"]


def recorded_by(node: Any, index: int | None = None) -> str:
    """Return lines that name the operator which made a node, and the formula of a gradient, the `index`th; "" if the
    operator is not known."""
    operator = _operator_of(node)
    if operator is None:
        return ""
    where = f", declared at {operator.where}" if operator.where else ""
    said = f"\nDeclaration: {operator.name}{operator.declaration}{where}"
    return said if index is None else f"{_formula(type(node), operator, index)}{said}"


def _formula(kind: type, operator: Operator, index: int) -> str:
    """Return a line with the formula of a gradient, and its place in the project's files where it is found there."""
    positions, formulas = getattr(kind, "operands", ()), getattr(kind, "formulas", ())
    if index >= len(formulas):
        return ""
    name = operator.signature.names[positions[index] if index < len(positions) else index]
    place = formula_place(operator, name)
    return f"\nFormula: {name}: {formulas[index]}{f', at {place}' if place else ''}"


def name_backward(error: Exception) -> None:
    """Note on an error of a backward pass which operator's backward function raised it, and where that is declared."""
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__) if frame.f_code.co_name == "apply")
    nodes = [node for frame in frames if (node := frame.f_locals.get("self")) is not None]
    operator = _operator_of(nodes[-1]) if nodes else None
    if operator is None or operator.name in str(error):
        return
    where = f", declared at {operator.where}" if operator.where else ""
    note = f"In the backward function of {operator.name}{where}: {operator.name}{operator.declaration}"
    if note not in getattr(error, "__notes__", ()):  # which a pass inside another one added
        error.add_note(note)


def _operator_of(node: Any) -> Operator | None:
    """Return the operator whose recording kernel made a node."""
    kind = type(node)
    for name, by_key in registry.kernels.copy().items():
        for registrations in list(by_key.values()):
            for wrapper in (registration.kernel for registration in registrations):
                if (
                    not isinstance(wrapper, LazyWrapper)
                    or wrapper.loaded is None
                    or getattr(wrapper, "module", "") != kind.__module__
                ):
                    continue
                if name in registry.operators and _makes(wrapper.loaded.make, kind):
                    return registry.operators[name]
    return None


def _makes(make: Any, kind: type) -> bool:
    """Whether what makes a recording kernel, a `Recorder` or a function that is written out, makes nodes of a class."""
    code = getattr(make, "__code__", None)
    return getattr(make, "node", None) is kind or (code is not None and kind.__name__ in _names_in(code))


def _names_in(code: CodeType) -> set[str]:
    """Return the names that a function and those inside it use."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_names_in, inner))


def gradient_text(kind: type) -> str:
    """Return the call of a generated Node class that gives all its gradients, as far as its text is known."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, SyntaxError, TypeError):
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "gradients_of":
            return ast.unparse(node.args[1])
    return ""
