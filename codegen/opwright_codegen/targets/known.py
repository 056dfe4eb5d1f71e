"""Fast shims of operators that are planned again and again: Note [Known plans].

Note [Known plans]
What a rule of the runtime finds out depends on shapes and dtypes of arrays and on other arguments that its formula
names. `NAME_dense` keeps it by these, for simple tensors, where the plan casts nothing: then the kernel is called with
the arrays as they are, and its answer is wrapped as it is if it looks as planned. All else goes to the general shim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from opwright_codegen.bindings.metas import Plans
from opwright_codegen.formula.ast import Call, Verbatim
from opwright_codegen.targets.known_facts import KnownFacts, key_parts
from opwright_codegen.targets.shims import ShimBuilder, guarded, returned
from opwright_codegen.views.annotations import Tensors, tensors_in
from opwright_codegen.views.layout import bracketed, fill_comment, formula_lines

__all__ = ["KnownShim", "KnownShimBuilder"]


@dataclass(frozen=True, slots=True)
class KnownShim:
    """A `_dense` shim of known plans, and the line above it that makes what holds them."""

    forms: str
    comment: str
    signature: str
    statements: tuple[str, ...]

    def texts(self) -> list[str]:
        """Return all text, for finding the names used."""
        return [self.forms, self.signature, *self.statements]


class KnownShimBuilder:
    """The builder of the shim beside a general one."""

    def __init__(self, shim: ShimBuilder, facts: KnownFacts) -> None:
        meta = shim.binding.meta
        assert isinstance(meta, Plans)
        self._shim = shim
        self._facts = facts
        self._meta = meta
        self._forms = f"{shim.names.dense}_forms"
        self._outputs = len(shim.schema.returns)
        self._key, self._form = shim.claim("key"), shim.claim("form")
        self._spelled = {
            a.name: shim.arrays[a.name] if a.type.is_tensor_like else shim.own[a.name] for a in shim.schema.arguments
        }

    def build(self) -> KnownShim:
        """Return the shim."""
        shim = self._shim
        body = [*self._arrays(), *self._look_up(), *self._results()]
        return KnownShim(
            f"{self._forms} = KnownForms()",
            fill_comment(f"{shim.names.general} where simple tensors like these were planned before."),
            shim.head(shim.names.dense),
            tuple(guarded(body, shim.view.name, shim.binding.key) if shim.indent > 4 else body),
        )

    def _arrays(self) -> list[str]:
        """Return what takes the arrays of tensors."""
        shim = self._shim
        used = self._facts.planned | shim.mentioned()
        ones = [a.name for a in shim.schema.arguments if tensors_in(a.type) is Tensors.ONE and a.name in used]
        return [*(f"{shim.arrays[name]} = {shim.own[name]}.array" for name in ones), *shim.unwrapped()]

    def _look_up(self) -> list[str]:
        """Return what finds the forms of results, or leaves the call to the general shim."""
        shim, form = self._shim, self._form
        planned = [a for a in shim.schema.arguments if a.name in self._facts.planned]
        parts = [p for a in planned for p in key_parts(a, shim.own[a.name], self._spelled[a.name], shim.builtins)]
        passed = [shim.own[a.name] for a in shim.schema.arguments]
        plans = ["plan"] if self._outputs == 1 else [f"plan{place}" for place in range(self._outputs)]
        plan = plans[0] if self._outputs == 1 else f"({', '.join(plans)})"
        kept = bracketed(f"{form} = {self._forms}.learn(", [self._key, plan, *self._operands()], ")", shim.indent + 4)
        return [
            bracketed(f"{self._key} = (", parts, ")", shim.indent) if len(parts) > 1 else f"{self._key} = {parts[0]}",
            f"{form} = {self._forms}.get({self._key})",
            f"if {form} is None:",
            *(f"    {line}" for line in self._plans(plans)),
            f"    {kept}",
            f"if not {form}:",
            f"    {bracketed(f'return {shim.names.general}(', passed, ')', shim.indent + 4)}",
        ]

    def _plans(self, names: Sequence[str]) -> list[str]:
        """Return what makes the plans, as the general shim does."""
        shim = self._shim
        formulas = [shim.rule_call(formula) for formula in self._meta.formulas]
        targets = names if len(formulas) == len(names) else [", ".join(names)]
        spelling = shim.spelling(self._spelled)
        return [
            formula_lines(formula, spelling, shim.indent + 4, f"{name} = ")
            for name, formula in zip(targets, formulas, strict=True)
        ]

    def _operands(self) -> list[str]:
        """Return the arrays that the kernel gets as operands of the plan."""
        names = [self._spelled[name] for name in self._meta.operands if name is not None]
        return [f"*{names[0]}"] if self._meta.is_list else names

    def _given(self) -> list[str]:
        """Return all arrays that the kernel is given, none of which may be its answer."""
        used = self._facts.planned | self._shim.mentioned()
        held = {a.name: tensors_in(a.type) for a in self._shim.schema.arguments if a.name in used}
        return [
            f"*{self._spelled[name]}" if each is Tensors.LIST else self._spelled[name]
            for name, each in held.items()
            if each in (Tensors.ONE, Tensors.LIST)
        ]

    def _results(self) -> list[str]:
        """Return what calls the kernel and wraps its answer."""
        shim, form = self._shim, self._form
        given = self._given()
        arrays = tuple(map(Verbatim, given))
        if self._outputs == 1:
            call = Call(Verbatim("known_result"), (Verbatim(form), shim.kernel_call(), *arrays))
            return [formula_lines(call, shim.spelling(self._spelled), shim.indent, "return ")]
        results = [f"result{place}" for place in range(self._outputs)]
        wrapped = [
            f"known_result({', '.join([f'{form}[{place}]', result, *given])})" for place, result in enumerate(results)
        ]
        return [*shim.results(results, self._spelled), returned(wrapped, shim.indent)]
