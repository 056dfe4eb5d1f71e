"""Wrappers of `autograd.py`, which record a call straight-line, by the form of the variant.

Note [When things are saved]
A functional call is recorded after it: what it wrote to beside its results, such as running statistics, is saved as it
is then. An in-place call is recorded around it: checked, and what formulas need of the old value kept, before anything
is written; results and history after.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from opwright_codegen.formula.ast import (
    Attribute,
    Boolean,
    Call,
    Comparison,
    Conditional,
    Constant,
    Formula,
    Kind,
    Reference,
    Verbatim,
)
from opwright_codegen.formula.emit import Spelling
from opwright_codegen.schema.model import Argument, FunctionSchema, SchemaKind
from opwright_codegen.targets.gradients.nodes import NodeBuilder, Slot
from opwright_codegen.views.annotations import Side, Tensors, annotation, return_annotation, tensors_in
from opwright_codegen.views.layout import bracketed, condition, fill_comment, formula_lines, quoted, returned
from opwright_codegen.views.names import BuiltinNames, Namer
from opwright_codegen.views.operators import OperatorView, signature, tuple_text

__all__ = ["Refusal", "Wrapper", "WrapperBuilder", "refusal"]

_RESERVED = (
    "Any", "Callable", "DType", "Device", "GRAD", "Generator", "Kernel", "Layout", "MemoryFormat", "Sequence", "Tensor",
    "_", "any", "array", "below", "builtins", "check_inplace", "check_no_gradient", "dtypes", "edges_of", "is_recorded",
    "kernel", "len", "list", "move_history", "ndarray", "next_sequence", "node", "ops", "rebase_history", "record",
    "record_several", "records", "save", "save_all", "save_optional", "save_original", "save_result",
    "save_results", "type",
)  # fmt: skip

_SINGLE = (Tensors.ONE, Tensors.OPTIONAL)


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A function that makes a recording kernel: its comment, what the compiled core is told of it, its `def` line, and
    the kernel's with its statements."""

    comment: str
    decorator: str
    head: str
    signature: str
    statements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """The wrapper of a variant with `out=`, which cannot be recorded."""

    comment: str
    name: str
    value: str


def refusal(view: OperatorView, name: str, inputs: Sequence[str] | None = None) -> Refusal:
    """Return the wrapper of a variant with `out=`: none of its differentiable inputs, any tensor if none are given, and
    of its outputs may require grad."""
    if inputs is None:
        inputs = [argument.name for argument in view.schema.arguments if argument.type.is_tensor_like]
    asked = {*inputs, *(argument.name for argument in view.schema.out_arguments)}
    positions = [str(place) for place, argument in enumerate(view.schema.arguments) if argument.name in asked]
    value = bracketed("refuse_recording(", [quoted(view.schema.name.base), *positions], ")", 0)
    return Refusal(fill_comment(view.declaration), name, value)


class WrapperBuilder:
    """The builder of the wrapper of an operator whose calls are recorded as `node`, under the condition `guard` if any.
    With `is_fast` its result is a new tensor, and the history is written here rather than by a function."""

    def __init__(
        self,
        view: OperatorView,
        name: str,
        node: NodeBuilder,
        builtins: BuiltinNames,
        guard: Formula | None,
        is_fast: bool,
    ) -> None:
        self.view = view
        self.name = name
        self._node = node
        self._builtins = builtins
        self._guard = guard
        self._is_fast = is_fast
        self.schema: FunctionSchema = view.schema
        self._namer = Namer((*_RESERVED, node.name))
        self._own = {a.name: self._namer.claim(a.name) for a in self.schema.arguments}
        self._arguments: dict[str, Argument] = {a.name: a for a in self.schema.arguments}
        self._results = self._result_names()

    def _result_names(self) -> list[str]:
        schema = self.schema
        if schema.kind is SchemaKind.INPLACE:
            (written,) = schema.mutated_arguments
            return [self._own[written.name]]
        if len(schema.returns) == 1 and schema.returns[0].type.is_list_like:
            return [self._namer.claim("results")]
        return [self._namer.claim(name) for name in schema.output_names]

    def build(self) -> Wrapper:
        """Return the wrapper as text."""
        parameters = [
            f"{self._own[a.name]}: {annotation(a.type, self._builtins, side=Side.KERNEL)}"
            for a in self.schema.arguments
        ]
        found = return_annotation(self.schema.returns, self._builtins)
        statements = self._inplace() if self.schema.kind is SchemaKind.INPLACE else self._functional()
        return Wrapper(
            fill_comment(self.view.declaration),
            self._decorator(),
            signature(self.name, [f"below: Callable[..., {found}]"], "Kernel"),
            signature("kernel", parameters, found, 4),
            tuple(statements),
        )

    def _decorator(self) -> str:
        """Return what tells the compiled core how calls are recorded, where it can do that: edges and saved things by
        the places of arguments. Empty for any other form."""
        slots, inputs = self._node.slots, self._node.inputs
        places = {argument.name: place for place, argument in enumerate(self.schema.arguments)}
        if (
            self.schema.kind is SchemaKind.INPLACE
            or self._node.is_several
            or self._guard is not None
            or self._node.counts_inputs
        ):
            return ""
        if not all(tensors_in(self._arguments[each].type) in _SINGLE for each in inputs):
            return ""
        saved = [self._kept_text(slot, places) for slot in slots]
        refused = [place for name, place in places.items() if self._is_refused(self._arguments[name])]
        if "" in saved or any(tensors_in(self.schema.arguments[each].type) not in _SINGLE for each in refused):
            return ""
        edges = tuple_text([str(places[name]) for name in inputs])
        facts = [f"refused={tuple_text(list(map(str, refused)))}"] if refused else []
        if len(self._results) > 1:
            facts.append(f"output={self._node.entry.differentiable_outputs[0]}")
        return bracketed("@records(", [self._node.name, edges, *map(quoted, saved), *facts], ")", 0)

    def _is_refused(self, argument: Argument) -> bool:
        """Whether a tensor is no operand, and may require no gradient."""
        is_operand = argument.name in self._node.inputs or argument.name in self._node.entry.non_differentiable
        return argument.type.is_tensor_like and not is_operand

    def _kept_text(self, slot: Slot, places: Mapping[str, int]) -> str:
        """Return `other = save(1) for 0`: what a slot keeps, and the operands whose gradients need it. Empty for what
        only Python keeps."""
        if slot.saved.fact is not None:
            return self._fact_text(slot, places)
        if slot.is_result:
            place = self._node.schema.output_names.index(slot.saved.of)
            if self._node.schema.returns[place].type.is_list_like:
                return ""
            return f"{slot.name} = {'result' if place in self._node.entry.differentiable_outputs else 'other'}({place})"
        place = places[slot.saved.of]
        if not slot.is_tensor:
            return f"{slot.name} = {place}"
        if slot.tensors not in _SINGLE:
            return ""
        if slot.inputs.issuperset(self._node.inputs):
            return f"{slot.name} = save({place})"
        needing = [str(places[each]) for each in self._node.inputs if each in slot.inputs]
        return f"{slot.name} = save({place}) for {', '.join(needing)}"

    def _fact_text(self, slot: Slot, places: Mapping[str, int]) -> str:
        """Return `self_shape = shape(0)` for a fact that the core finds, of an argument that is a tensor."""
        match slot.saved.fact:
            case Attribute(Reference(Kind.ARGUMENT, name), "shape" as fact):
                pass
            case Call(Attribute(Reference(Kind.ARGUMENT, name), "numel" | "stride" as fact), (), ()):
                pass
            case _:
                return ""
        is_one = tensors_in(self._arguments[name].type) is Tensors.ONE
        return f"{slot.name} = {fact}({places[name]})" if is_one else ""

    # -- forms

    def _functional(self) -> list[str]:
        names = self._results
        return [
            *self._checks(),
            self._called(f"{', '.join(names)} = "),
            *self._made(),
            *self._kept(is_result=False),
            *self._history(),
            *self._kept(is_result=True),
            returned(names),
        ]

    def _inplace(self) -> list[str]:
        (own,) = self._results
        return [
            *self._checks(),
            f"check_inplace({own})",
            *self._made(),
            *self._kept(is_result=False),
            self._called("move_history(" if self.view.operator.is_view_like else "rebase_history(", ", node)"),
            *self._kept(is_result=True),
            f"return {own}",
        ]

    def _called(self, before: str, after: str = "", indent: int = 8) -> str:
        return bracketed(f"{before}below(", list(self._own.values()), f"){after}", indent)

    # -- parts

    def _checks(self) -> list[str]:
        """Return the checks that refuse what cannot be recorded, and skip what need not be."""
        entry = self._node.entry
        statements = []
        others = False
        for argument in self.schema.arguments:
            if not argument.type.is_tensor_like or argument.name in self._node.inputs:
                continue
            if argument.name in entry.non_differentiable:
                others = True
            else:
                texts = [quoted(self.schema.name.base), quoted(argument.name), self._own[argument.name]]
                statements.append(f"check_no_gradient({', '.join(texts)})")
        if others:
            tests = [self._has_none(name) for name in self._node.inputs]
            alone = tests[0][1:-1] if len(tests) == 1 and tests[0].startswith("(") else None
            statements.append(condition(tests if alone is None else [alone], "and", 8))
            statements.append("    " + self._called("return ", indent=12))
        if self._guard is not None:
            statements.append(formula_lines(self._node.spelled(self._guard), self._spelling(), 8, "is_recorded = "))
            statements.append("if not is_recorded:")
            statements.append("    " + self._called("return ", indent=12))
        return statements

    def _has_none(self, name: str) -> str:
        own = self._own[name]
        match tensors_in(self._arguments[name].type):
            case Tensors.ONE:
                return f"{own}.edge is None"
            case Tensors.OPTIONAL:
                return f"({own} is None or {own}.edge is None)"
            case _:
                return f"not any(edges_of({self._list(name)}))"

    def _list(self, name: str) -> str:
        """Return a list of tensors, empty where an optional one was not given."""
        own = self._own[name]
        is_optional = tensors_in(self._arguments[name].type) is Tensors.OPTIONAL_LIST
        return f"{own} or ()" if is_optional else own

    def _has_some(self, name: str) -> Formula:
        own = self._own[name]
        match tensors_in(self._arguments[name].type):
            case Tensors.ONE:
                return Comparison(Verbatim(f"{own}.edge"), (("is not", Constant(None)),))
            case Tensors.OPTIONAL:
                return Verbatim(f"{own} is not None and {own}.edge is not None")  # parentheses come with the others
            case _:
                return Call(Verbatim("any"), (Call(Verbatim("edges_of"), (Verbatim(self._list(name)),)),))

    def _made(self) -> list[str]:
        inputs = self._node.inputs
        edges = []
        for name in inputs:
            own = self._own[name]
            match tensors_in(self._arguments[name].type):
                case Tensors.ONE:
                    edges.append(f"{own}.edge")
                case Tensors.OPTIONAL:
                    edges.append(f"None if {own} is None else {own}.edge")
                case _:
                    edges.append(f"*edges_of({self._list(name)})")
        if len(edges) == 1 and edges[0].startswith("*"):
            line = f"node.edges = {edges[0][1:]}"
        elif len(edges) == 1:
            line = f"node.edges = ({edges[0]},)"
        else:
            line = bracketed("node.edges = (", edges, ")", 8)
        made = [f"node = {self._node.name}()", line]
        if self._node.counts_inputs:
            made.append(bracketed("node.counts = (", [self._count(name) for name in inputs], ")", 8))
        return made

    def _count(self, name: str) -> str:
        """Return how many edges a list has; None for a tensor, which has one."""
        match tensors_in(self._arguments[name].type):
            case Tensors.ONE | Tensors.OPTIONAL:
                return "None"
            case _:
                return f"len({self._list(name)})"

    def _kept(self, *, is_result: bool) -> list[str]:
        return [
            self._value(slot) if slot.saved.fact is None else self._fact(slot)
            for slot in self._node.slots
            if slot.is_result == is_result
        ]

    def _value(self, slot: Slot) -> str:
        name = slot.saved.of
        before = f"node.{slot.name} = "
        if slot.is_result:
            return before + self._result_value(name)
        own = self._own[name]
        if not slot.is_tensor:
            return before + own
        word = {Tensors.ONE: "save", Tensors.OPTIONAL: "save_optional"}.get(slot.tensors, "save_all")
        if self.schema.kind is SchemaKind.INPLACE and own == self._results[0]:
            word = "save_original"
        if slot.inputs.issuperset(self._node.inputs):
            return f"{before}{word}({own})"
        tests = tuple(self._has_some(each) for each in self._node.inputs if each in slot.inputs)
        saved = Call(Verbatim(word), (Verbatim(own),))
        asked = tests[0] if len(tests) == 1 else Boolean("or", tests)
        return formula_lines(Conditional(asked, saved, Constant(None)), self._spelling(), 8, before)

    def _result_value(self, name: str) -> str:
        place = self._node.schema.output_names.index(name)
        outputs = self._node.entry.differentiable_outputs
        result = self._results[place]
        is_list = self._node.schema.returns[place].type.is_list_like
        if place not in outputs:
            return f"save_all({result})" if is_list else f"save({result})"
        if is_list:
            return f"save_results({result})"
        number = outputs.index(place)
        return f"save_result({result}, {number})" if number else f"save_result({result})"

    def _fact(self, slot: Slot) -> str:
        assert isinstance(slot.saved.fact, Formula)
        name = slot.saved.of
        before = f"node.{slot.name} = "
        if not slot.is_result and tensors_in(self._arguments[name].type) is Tensors.OPTIONAL:
            before += f"None if {self._own[name]} is None else "
        return formula_lines(self._node.spelled(slot.saved.fact), self._spelling(), 8, before)

    def _spelling(self) -> Spelling:
        names = self._node.schema.output_names
        words: Mapping[str, str] = self._own | dict(zip(names, self._results, strict=True))
        return Spelling(builtin=self._node.builtin_prefix, arguments=words)

    def _history(self) -> list[str]:
        outputs = self._node.entry.differentiable_outputs
        if self._node.is_several:
            found = [self._results[place] for place in outputs]
            return [f"record_several({found[0] if len(found) == 1 else tuple_text(found)}, node)"]
        result = self._results[outputs[0]]
        if not self._is_fast:
            return [f"record({result}, node)"]
        return [
            f"array = {result}.array",
            "if type(array) is ndarray:",
            "    node.sequence = next_sequence()",
            "    node.extra = None",
            "    node.shape = array.shape",
            "    node.dtype = array.dtype",
            f"    {result}.edge = node",
            f"    {result}.keys |= GRAD",
            "else:",
            f"    record({result}, node)",
        ]
