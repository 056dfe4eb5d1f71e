"""Node classes of `autograd.py`: a slot for each thing that formulas of an operator need again, and the gradients.

Note [What is saved]
Each formula keeps what it names, and only if its input needs a gradient: `other` of a product is saved if `self` does.
A fact about a tensor (`self.shape`) is saved in the tensor's position. In a backward pass a formula is evaluated only
where its gradient is asked for. The body of a class says how each thing is kept (`opwright.autograd.fields`), by which
the runtime records calls; for a fact that it does not know there is a function.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from opwright_codegen.declared.parts import Derivative, Differentiability
from opwright_codegen.formula.ast import (
    Attribute,
    Call,
    Comparison,
    Conditional,
    Constant,
    Formula,
    Kind,
    Reference,
    Subscript,
    Tuple,
    Verbatim,
    rewrite,
)
from opwright_codegen.formula.emit import Spelling
from opwright_codegen.formula.resolve import BUILTINS
from opwright_codegen.records import dataclass
from opwright_codegen.schema.model import Argument, FunctionSchema
from opwright_codegen.targets.gradients.node_formulas import formula_texts
from opwright_codegen.targets.gradients.node_slots import Slot, SlotBuilder
from opwright_codegen.views.annotations import Tensors
from opwright_codegen.views.layout import LINE, bracketed, condition, fill_comment, formula_lines, quoted
from opwright_codegen.views.names import BuiltinNames, Namer
from opwright_codegen.views.operators import OperatorView, signature, tuple_text

__all__ = ["NodeBuilder", "NodeClass"]

_LOCALS = (
    "Any", "Edge", "Sequence", "adjoint_of", "any", "conjugate_of", "each", "edges", "expanded", "grad", "grads", "len",
    "mask", "not_implemented", "ops", "reshaped", "self", "split_edges", "swapped", "turned", "unpack", "unpack_all",
    "unpack_optional", "zeros_for",
)  # fmt: skip
# Methods for which `apply` calls a function (`opwright.autograd.quick`), and how many arguments they have then.
_QUICK = {
    "conj": ("conjugate_of", 0), "expand": ("expanded", 1), "new_zeros": ("zeros_for", 1), "reshape": ("reshaped", 1),
    "t": ("turned", 0), "transpose": ("swapped", 2),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class NodeClass:
    """The class of one operator's calls, as the template shows it."""

    comment: str
    head: str
    fields: tuple[str, ...]
    functions: tuple[NodeFunction, ...]


@dataclass(frozen=True, slots=True)
class NodeFunction:
    """A function in the body of a class: `apply`; with a decorator, what computes a value that is kept, or says whether
    a call is recorded."""

    decorator: str
    signature: str
    statements: tuple[str, ...]


class NodeBuilder:
    """The builder of the class for an entry of derivatives.yaml, which shows itself as `shown`, if that is given.
    `functions` are the texts that operators and backward functions are called by. A `condition` is one for calls to be
    recorded."""

    def __init__(
        self,
        view: OperatorView,
        entry: Differentiability,
        name: str,
        shown: str,
        builtins: BuiltinNames,
        operators: Mapping[str, str],
        functions: Mapping[str, str],
        condition: Formula | None = None,
    ) -> None:
        self.schema: FunctionSchema = view.schema
        self.entry = entry
        self.name = name
        self._shown = shown
        self.inputs = entry.differentiable_inputs
        self._view = view
        self._builtins = builtins
        self.operators = operators
        self._functions = functions
        self._condition = condition
        self._arguments = [argument.name for argument in self.schema.arguments]
        self._saved = SlotBuilder(self.schema, entry)
        self._is_list = self._saved.is_list
        self.slots = self._saved.build()
        namer = Namer((*_LOCALS, *functions.values()))
        self._edges = {name: namer.claim(f"{name}_edge" + "s" * self._is_list(name)) for name in self.inputs}
        self._grads = {name: namer.claim(f"grad_{name}") for name in self.inputs}
        outputs = [self.schema.returns[position].name for position in entry.differentiable_outputs]
        self._own = {f"grad_{name}": namer.claim(f"grad_{name}") for name in outputs if name is not None}
        self._own |= {name: namer.claim(name) for name in self._saved.types}

    # -- what is kept

    @property
    def is_several(self) -> bool:
        """Whether gradients of several results arrive."""
        positions = self.entry.differentiable_outputs
        return len(positions) > 1 or any(self.schema.returns[position].type.is_list_like for position in positions)

    @property
    def counts_inputs(self) -> bool:
        """Whether a node keeps how many tensors its lists have: from several, edges alone do not tell."""
        return sum(self._is_list(name) for name in self.inputs) > 1

    # -- the class

    def build(self) -> NodeClass:
        """Return the class as text."""
        parameters = ["self", "*grads: Any" if self.is_several else "grad: Any", "edges: Sequence[Edge] | None = None"]
        fields = [f"{slot.name} = {field}" for slot in self.slots if (field := self._saved.field(slot))]
        if self.counts_inputs:
            fields.append("counts = kept_counts()")
        if texts := formula_texts(self._formulas(), self._plain_slots()):
            fields.append(_tuple_field("formulas", [quoted(text) for text in texts]))
        apply = NodeFunction("", signature("apply", parameters, "Sequence[Any]", 4), tuple(self._statements()))
        values = [self._value(slot) for slot in self.slots if not self._saved.field(slot)]
        return NodeClass(
            fill_comment(self._view.declaration),
            bracketed(f"class {self.name}(", self._facts(), "):"),
            tuple(fields),
            (*values, *self._conditions(), apply),
        )

    def _value(self, slot: Slot) -> NodeFunction:
        """Return the function for a fact that the runtime does not know."""
        assert isinstance(slot.saved.fact, Formula)
        word = "kept_result_value" if slot.is_result else "kept_value"
        head = signature(slot.name, [f"{self._own[slot.saved.of]}: Any"], "Any", 4)
        line = formula_lines(self.spelled(slot.saved.fact), self._spelling(), 8, "return ")
        return NodeFunction(f"@{word}({self._saved.position(slot)})", head, (line,))

    def _conditions(self) -> Iterator[NodeFunction]:
        """Yield the function that says whether a call is recorded, where there is a condition."""
        if self._condition is not None:
            head = signature("is_recorded", [f"{self._own[name]}: Any" for name in self._arguments], "bool", 4)
            line = formula_lines(self.spelled(self._condition), self._spelling(), 8, "return ")
            yield NodeFunction("@recorded_if", head, (line,))

    def _facts(self) -> list[str]:
        """Return what stands in the head of the class: its base, positions of operands, and what else is uncommon."""
        entry, returns = self.entry, self.schema.returns
        operands = [str(self._arguments.index(name)) for name in self.inputs]
        refused = [str(at) for at, argument in enumerate(self.schema.arguments) if self._is_refused(argument)]
        facts = ["RecordedSeveral" if self.is_several else "Recorded", f"operands={tuple_text(operands)}"]
        if refused:
            facts.append(f"refused={tuple_text(refused)}")
        if len(returns) > 1:
            facts.append(f"results={tuple_text([str(position) for position in entry.differentiable_outputs])}")
        if self._shown:
            facts.append(f"shown={quoted(self._shown)}")
        return facts

    def _is_refused(self, argument: Argument) -> bool:
        """Whether a tensor is no operand, and may require no gradient."""
        is_operand = argument.name in self.inputs or argument.name in self.entry.non_differentiable
        return argument.type.is_tensor_like and not is_operand

    def _formulas(self) -> Iterator[tuple[Formula, Formula]]:
        """Yield the formula of each edge, as it was read and as the module spells it: where each edge has one."""
        derivatives = self.entry.derivatives
        has_all = [derivative.inputs for derivative in derivatives] == [(name,) for name in self.inputs]
        if self.is_several or not has_all or any(self._is_list(name) for name in self.inputs):
            return
        for derivative in derivatives:
            read = derivative.formula
            if read is None or derivative.reason is not None or derivative.uses_mask:
                read = Tuple(())
            yield read, self.spelled(read)

    def _plain_slots(self) -> dict[str, str]:
        """Return the slots whose tensors, if they keep any, are surely there, by what they keep."""
        plain = (Tensors.ONE, Tensors.NONE)
        return {slot.saved.name: slot.name for slot in self.slots if slot.tensors in plain}

    def _statements(self) -> list[str]:
        derivatives = self.entry.derivatives
        statements = self._named_gradients()
        is_spread = len(self.inputs) > 1 and any(self._is_list(name) for name in self.inputs)
        if len(derivatives) == 1 and derivatives[0].inputs == self.inputs and not is_spread:
            (derivative,) = derivatives
            if derivative.uses_mask:
                statements.append(self._edge_line())
            return [*statements, *self._prepared(derivative, 8), self._returned(derivative)]
        statements.append(self._edge_line())
        if self._are_expressions() and (chosen := self._chosen()).count("\n") <= len(self.inputs) + 1:
            return [*statements, chosen]
        statements += [
            f"{self._grads[name]}: Any = " + (f"[None] * len({self._edges[name]})" if self._is_list(name) else "None")
            for name in self.inputs
        ]
        for derivative in derivatives:
            statements.append(condition([self._is_asked(name) for name in derivative.inputs], "or", 8))
            statements += [f"    {line}" for line in (*self._prepared(derivative, 12), self._assigned(derivative))]
        parts = [("*" if self._is_list(name) else "") + self._grads[name] for name in self.inputs]
        statements.append(f"return {', '.join(parts)}" if len(parts) > 1 else f"return {tuple_text(parts)}")
        return statements

    def _are_expressions(self) -> bool:
        """Whether every gradient is one expression over what is kept: then none needs a variable."""
        inputs = [derivative.inputs for derivative in self.entry.derivatives]
        return (
            inputs == [(name,) for name in self.inputs]
            and not any(self._is_list(name) for name in self.inputs)
            and not any(slot.is_tensor for slot in self.slots)
            and not any(derivative.uses_mask or derivative.reason is not None for derivative in self.entry.derivatives)
        )

    def _chosen(self) -> str:
        """Return the return statement of gradients that one call gives, chosen by which are asked for."""
        none = Constant(None)
        items = tuple(
            Conditional(Comparison(Verbatim(self._edges[name]), (("is", none),)), none, self._formula(derivative))
            for name, derivative in zip(self.inputs, self.entry.derivatives, strict=True)
        )
        return formula_lines(Tuple(items), self._spelling(), 8, "return ")

    def _named_gradients(self) -> list[str]:
        """Return `grad_U, grad_S = grads`, for formulas that call them by the names of results."""
        used = {name for derivative in self.entry.derivatives for name in derivative.gradient_names}
        if not self.is_several or not any(name in self._own for name in used):
            return []
        names = [f"grad_{self.schema.returns[position].name}" for position in self.entry.differentiable_outputs]
        return [", ".join(self._own[name] if name in used else "_" for name in names) + " = grads"]

    def _edge_line(self) -> str:
        given = "self.edges if edges is None else edges"
        if self.counts_inputs:
            names = ", ".join(self._edges[name] for name in self.inputs)
            return bracketed(f"{names} = split_edges(", [given, "self.counts"], ")", 8)
        edges = ", ".join(f"*{self._edges[name]}" if self._is_list(name) else self._edges[name] for name in self.inputs)
        text = f"{edges}{',' if len(self.inputs) == 1 else ''} = "
        return text + (given if len(text + given) + 8 <= LINE else f"(\n{' ' * 12}{given}\n{' ' * 8})")

    def _is_asked(self, name: str) -> str:
        edge = self._edges[name]
        return f"any(each is not None for each in {edge})" if self._is_list(name) else f"{edge} is not None"

    def _prepared(self, derivative: Derivative, indent: int) -> list[str]:
        """Return the lines that unpack saved tensors and ask which gradients are wanted."""
        wanted = {saved.name for saved in (*derivative.saved_inputs, *derivative.saved_outputs)}
        statements = [
            f"{self._own[slot.saved.of]} = {slot.unpacked}"
            for slot in self.slots
            if slot.is_tensor and slot.saved.name in wanted
        ]
        if derivative.uses_mask:
            statements.append(bracketed("mask = [", [self._is_asked(name) for name in derivative.inputs], "]", indent))
        return statements

    def _returned(self, derivative: Derivative) -> str:
        """Return the return statement where there is one formula."""
        if derivative.reason is not None:
            return self._refused(derivative, 8)
        formula = self._formula(derivative)
        if len(self.inputs) == 1 and not self._is_list(self.inputs[0]):
            formula = Tuple((formula,))
        elif not isinstance(formula, Tuple):
            count = "len(self.edges)" if len(self.inputs) == 1 else str(len(self.inputs))
            formula = _counted(formula, count)
        return formula_lines(formula, self._spelling(), 8, "return ")

    def _assigned(self, derivative: Derivative) -> str:
        if derivative.reason is not None:
            return self._refused(derivative, 12)
        targets = ", ".join(self._grads[name] for name in derivative.inputs)
        formula = self._formula(derivative)
        if len(derivative.inputs) > 1 and not isinstance(formula, Tuple):
            formula = _counted(formula, str(len(derivative.inputs)))
        elif len(derivative.inputs) == 1 and self._is_list(derivative.inputs[0]):
            formula = _counted(formula, f"len({self._edges[derivative.inputs[0]]})")
        return formula_lines(formula, self._spelling(), 12, f"{targets} = ")

    def _refused(self, derivative: Derivative, indent: int) -> str:
        name = self.schema.name
        texts = [quoted(text) for text in (str(name), ", ".join(derivative.inputs), derivative.reason or "")]
        return bracketed("raise not_implemented(", texts, ")", indent)

    def _formula(self, derivative: Derivative) -> Formula:
        assert derivative.formula is not None  # formulas of derivatives that are generated are in our language
        return rewrite(self.spelled(derivative.formula), _shortened)

    def spelled(self, formula: Formula) -> Formula:
        """Return the formula with operators, backward functions, dtypes and gradients as the module has them."""

        def change(part: Formula) -> Formula | None:
            match part:
                case Reference(Kind.OPERATOR, name):
                    return Verbatim(self.operators[name])
                case Reference(Kind.FUNCTION, name):
                    return Verbatim(self._functions[name])
                case Reference(Kind.DTYPE, "bool"):
                    return Verbatim("dtypes.bool_")
                case Subscript(Reference(Kind.GRAD, "grads"), Constant()) if not self.is_several:
                    return Verbatim("grad")
                case Reference(Kind.GRAD, "grads") if not self.is_several:
                    return Call(Verbatim("list"), (Tuple((Verbatim("grad"),)),))
                case Reference(Kind.GRAD, name) if not self.is_several and name != "grad":
                    return Verbatim("grad")
                case _:
                    return None

        return rewrite(formula, change)

    def _spelling(self) -> Spelling:
        words = dict(self._own) | {"grad_input_mask": "mask"}
        words |= {slot.saved.name: f"self.{slot.name}" for slot in self.slots if not slot.is_tensor}
        return Spelling(builtin=self.builtin_prefix, arguments=words)

    @property
    def builtin_prefix(self) -> str:
        """Return what stands before builtins that operators hide."""
        return "builtins." if self._builtins.hides(BUILTINS) else ""


def _tuple_field(name: str, items: Sequence[str]) -> str:
    """Return the line of a field that is a tuple."""
    head = f"{name} = ("
    return f"{name} = {tuple_text(items)}" if len(items) == 1 else bracketed(head, items, ")", 4)


def _shortened(part: Formula) -> Formula | None:
    """Return the call of a function for a method that formulas are full of."""
    match part:
        case Call(Attribute(value, name), arguments, ()) if _QUICK.get(name, ("", -1))[1] == len(arguments):
            return Call(Verbatim(_QUICK[name][0]), tuple(rewrite(each, _shortened) for each in (value, *arguments)))
        case Attribute(value, "mH"):
            return Call(Verbatim("adjoint_of"), (rewrite(value, _shortened),))
        case _:
            return None


def _counted(formula: Formula, count: str) -> Formula:
    """Return the call that gives several gradients, looked at: a function of users may return another number."""
    return Call(Verbatim("gradients_of"), (Verbatim("self"), formula, Verbatim(count)))
