"""Gradients in `NAME_torch.py`: formulas of derivatives.yaml over `torch.ops`.

Two functions an operator: what is kept of a call, and the gradients from that. A formula that calls a function of the
project, or an operator that PyTorch does not have, is Python over our tensors: PyTorch then calls an operator that
computes the gradient as we do (`runtime.opaque`). So it is with operators that are composed of others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from opwright_codegen.declared.parts import Derivative, Differentiability, Saved
from opwright_codegen.formula.ast import (
    Call,
    Conditional,
    Constant,
    Formula,
    Kind,
    Reference,
    Subscript,
    Tuple,
    Verbatim,
    rewrite,
    walk,
)
from opwright_codegen.formula.emit import Spelling
from opwright_codegen.records import dataclass
from opwright_codegen.schema.model import SchemaKind
from opwright_codegen.targets.bindings.framework import Package
from opwright_codegen.views.layout import LINE, bracketed, formula_lines, quoted
from opwright_codegen.views.names import Namer
from opwright_codegen.views.operators import OperatorView, signature, tuple_text

__all__ = ["GradientBuilder", "GradientView", "calls_of"]

_TAKEN = ("Any", "aten", "binding", "grad", "grads", "len", "list", "math", "needs", "own", "torch", "tuple")
_PYTORCHS = "opwright_aten"  # the package whose operators PyTorch has, under the same names


@dataclass(frozen=True, slots=True)
class GradientView:
    """The lines of one operator's gradient or tangents: functions, and the statement that registers them."""

    statements: tuple[str, ...]
    registered: str


class GradientBuilder:
    """The builder of gradients for the operators of a package. `calls` is what PyTorch has, as formulas call it."""

    def __init__(self, package: Package, calls: Mapping[str, str]) -> None:
        self._package = package
        self._calls = calls

    def gradient(self, operator: OperatorView, name: str) -> GradientView | None:
        """Return the gradient of an operator's calls; None where nothing goes through it."""
        if operator.schema.kind is not SchemaKind.FUNCTIONAL:
            return None
        if any(argument.type.is_tensor_like for argument in operator.schema.kwarg_only):
            return None  # torch.library takes no gradients of operators with such
        entry = self._package.derivatives.find(operator.name) if self._package.derivatives else None
        full = str(operator.schema.name).partition("::")[2]
        if entry is None:
            is_composed = any(each.key.startswith("Composite") for each in self._package.bindings_of(operator))
            inputs = [a.name for a in operator.schema.positional if a.type.is_tensor_like]
            if not is_composed or not inputs:
                return None
            return GradientView((), bracketed("binding.opaque_gradient(", [quoted(full), _names(inputs)], ")"))
        if not entry.derivatives or not entry.differentiable_outputs:
            return None
        positional = {a.name for a in operator.schema.positional}
        if not positional.issuperset(entry.differentiable_inputs):
            return None
        if all(self._is_spelled(derivative) for derivative in entry.derivatives) and entry.condition is None:
            return _Formulas(operator, entry, name, full, self._calls).view()
        return GradientView(
            (), bracketed("binding.opaque_gradient(", [quoted(full), _names(entry.differentiable_inputs)], ")")
        )

    def _is_spelled(self, derivative: Derivative) -> bool:
        """Whether PyTorch has all that a formula calls."""
        if derivative.reason is not None or derivative.formula is None:
            return derivative.reason is not None
        for node in walk(derivative.formula):
            if not isinstance(node, Reference):
                continue
            if node.kind is Kind.FUNCTION or (node.kind is Kind.OPERATOR and node.name not in self._calls):
                return False
        return True


def calls_of(package: Package, bound: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield what formulas call, by base name, as PyTorch calls it. `bound` are the base names that it is given."""
    for name, text in package.view.calls.items():
        alias = text.partition(".")[0]
        if alias == "ops" and name in bound:
            yield name, f"own.{name}"
        elif alias != "ops" and package.view.used[alias].name == _PYTORCHS:
            yield name, f"aten.{name}"


def _names(names: Sequence[str]) -> str:
    return tuple_text([quoted(name) for name in names])


class _Formulas:
    """The gradient of one operator by formulas."""

    def __init__(
        self, operator: OperatorView, entry: Differentiability, name: str, full: str, calls: Mapping[str, str]
    ) -> None:
        self._schema = operator.schema
        self._entry = entry
        self._name = name
        self._full = full
        self._operators = calls
        self._types = {a.name: a.type for a in self._schema.arguments}
        namer = Namer(_TAKEN)
        given = [a.name for a in self._schema.arguments]
        self._own = {each: namer.claim(each) for each in (*given, *self._schema.output_names)}
        self._saved = self._kept()
        self._variables = {each.name: self._variable(each, namer) for each in self._saved}
        outputs = [self._schema.returns[position].name for position in entry.differentiable_outputs]
        self._gradients = {f"grad_{each}": namer.claim(f"grad_{each}") for each in outputs if each is not None}

    def _variable(self, saved: Saved, namer: Namer) -> str:
        """Return the name of what is kept: that of the argument for the whole, of a fact its own."""
        return self._own[saved.of] if saved.fact is None else namer.claim(saved.name)

    def _kept(self) -> list[Saved]:
        found = (*self._entry.saved_inputs, *self._entry.saved_outputs)
        return list({each.name: each for each in found}.values())

    @property
    def _is_several(self) -> bool:
        positions = self._entry.differentiable_outputs
        return len(positions) > 1 or any(self._schema.returns[position].type.is_list_like for position in positions)

    def view(self) -> GradientView:
        """Return its functions, and what registers them."""
        kept, backward = f"{self._name}_kept", f"{self._name}_backward"
        statements = [*self._kept_function(kept), "", "", *self._backward_function(backward)]
        arguments = [quoted(self._full), kept, backward, f"of={_names(self._entry.differentiable_inputs)}"]
        if len(self._schema.returns) > 1:
            arguments.append(
                f"outputs={tuple_text([str(position) for position in self._entry.differentiable_outputs])}"
            )
        return GradientView(tuple(statements), bracketed("binding.gradient(", arguments, ")"))

    def _kept_function(self, name: str) -> list[str]:
        parameters = [f"{self._own[each]}: Any" for each in self._own]
        values = [
            self._own[each.of] if not isinstance(each.fact, Formula) else formula_lines(each.fact, self._spelling(), 4)
            for each in self._saved
        ]
        text = bracketed("return (", values, ")", 4) if len(values) > 1 else f"return {tuple_text(values)}"
        return [signature(name, parameters, "tuple[Any, ...]"), f"    {text}"]

    def _backward_function(self, name: str) -> list[str]:
        grad = "grads: Any" if self._is_several else "grad: Any"
        parameters = [grad, "needs: Any", *(f"{self._variables[each.name]}: Any" for each in self._saved)]
        lines = [signature(name, parameters, "Any")]
        used = {name for derivative in self._entry.derivatives for name in derivative.gradient_names}
        if self._is_several and any(each in self._gradients for each in used):
            names = [f"grad_{self._schema.returns[position].name}" for position in self._entry.differentiable_outputs]
            lines.append(
                "    " + ", ".join(self._gradients[each] if each in used else "_" for each in names) + " = grads"
            )
        return [*lines, *(f"    {line}" for line in self._returned())]

    def _returned(self) -> list[str]:
        inputs = self._entry.differentiable_inputs
        derivatives = self._entry.derivatives
        if len(derivatives) == 1 and len(inputs) > 1:
            return [self._one(derivatives[0])]
        if any(len(each.inputs) > 1 or each.reason is not None for each in derivatives):
            return self._one_by_one()
        by_input = {each.inputs[0]: each for each in derivatives}
        none = Constant(None)
        items = tuple(
            Conditional(Subscript(Verbatim("needs"), Constant(position)), self._formula(by_input[name]), none)
            if len(inputs) > 1
            else self._formula(by_input[name])
            for position, name in enumerate(inputs)
        )
        chosen = formula_lines(Tuple(items), self._spelling(), 4, "return ")
        is_short = all(len(line) <= LINE for line in chosen.splitlines()) and chosen.count("\n") <= 2 * len(items) + 1
        return [chosen] if is_short or len(items) == 1 else self._one_by_one()

    def _one(self, derivative: Derivative) -> str:
        if derivative.reason is not None:
            return self._refused(derivative, 4)
        formula = self._formula(derivative)
        return formula_lines(formula, self._spelling(), 4, "return ")

    def _one_by_one(self) -> list[str]:
        """Return statements, one group a formula: where one gives several gradients, or none."""
        inputs = self._entry.differentiable_inputs
        names = {name: f"grad_of_{position}" for position, name in enumerate(inputs)}
        lines = [f"{' = '.join(names.values())} = None"]
        for derivative in self._entry.derivatives:
            asked = " or ".join(f"needs[{inputs.index(name)}]" for name in derivative.inputs)
            lines.append(f"if {asked}:")
            if derivative.reason is not None:
                lines.append(f"    {self._refused(derivative, 8)}")
            else:
                targets = ", ".join(names[name] for name in derivative.inputs)
                formula = self._formula(derivative)
                lines.append(f"    {formula_lines(formula, self._spelling(), 8, f'{targets} = ')}")
        return [*lines, f"return {tuple_text(list(names.values()))}"]

    def _refused(self, derivative: Derivative, indent: int) -> str:
        names = ", ".join(derivative.inputs)
        text = f"{self._full}: the gradient of {names} is not implemented: {derivative.reason}"
        return bracketed("raise NotImplementedError(", [quoted(text)], ")", indent)

    def _formula(self, derivative: Derivative) -> Formula:
        assert derivative.formula is not None

        def change(part: Formula) -> Formula | None:
            match part:
                case Reference(Kind.OPERATOR, name):
                    return Verbatim(self._operators[name])
                case Subscript(Reference(Kind.GRAD, "grads"), Constant()) if not self._is_several:
                    return Verbatim("grad")
                case Reference(Kind.GRAD, "grads") if not self._is_several:
                    return Call(Verbatim("list"), (Tuple((Verbatim("grad"),)),))
                case Reference(Kind.GRAD, name) if not self._is_several and name != "grad":
                    return Verbatim("grad")
                case Reference(Kind.MASK):
                    positions = [self._entry.differentiable_inputs.index(name) for name in derivative.inputs]
                    return Verbatim("[" + ", ".join(f"needs[{position}]" for position in positions) + "]")
                case _:
                    return None

        return rewrite(derivative.formula, change)

    def _spelling(self) -> Spelling:
        words = dict(self._own) | self._gradients | self._variables
        return Spelling(dtype="torch.", arguments=words)
