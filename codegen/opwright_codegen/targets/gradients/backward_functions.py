"""Calls of backward functions in the modules generated from derivatives.yaml."""

from __future__ import annotations

from collections.abc import Iterable

from opwright_codegen.declared.parts import KernelModules
from opwright_codegen.formula.ast import Formula, Kind, Reference, walk
from opwright_codegen.views.names import Namer

__all__ = ["backward_functions"]


def backward_functions(
    formulas: Iterable[Formula], functions: KernelModules, taken: Iterable[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the modules to import, with their names, none of `taken`; and the text for each backward function."""
    namer = Namer(taken)
    modules: dict[str, str] = {}
    texts: dict[str, str] = {}
    for formula in formulas:
        for node in walk(formula):
            if not isinstance(node, Reference) or node.kind is not Kind.FUNCTION or node.name in texts:
                continue
            function = functions.find(node.name)
            assert function is not None  # the formula was resolved
            if function.module not in modules:
                last = function.module.rpartition(".")[2]
                modules[function.module] = namer.claim(last if last.endswith("gradients") else f"{last}_gradients")
            texts[node.name] = f"{modules[function.module]}.{node.name}"
    return modules, texts
