"""Slots of node classes: what each keeps for the formulas of a backward pass, and how the class says so."""

from __future__ import annotations

from opwright_codegen.declared.parts import Differentiability, Saved
from opwright_codegen.formula.ast import Attribute, Call, Formula, Kind, Reference
from opwright_codegen.records import dataclass
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.views.annotations import Tensors, tensors_in
from opwright_codegen.views.names import Namer
from opwright_codegen.views.operators import tuple_text

__all__ = ["Slot", "SlotBuilder"]

# What Node and MultipleOutputs have themselves.
_MEMBERS = (
    "apply", "counts", "dtype", "edges", "extra", "fields", "formulas", "is_recorded", "metadata", "more", "name",
    "next_functions", "operands", "output", "outputs", "refused", "register_hook", "register_prehook", "release",
    "results", "saved", "sequence", "shape", "shown", "takes_edges", "takes_undefined",
)  # fmt: skip
# Facts about one tensor that the runtime keeps, and the functions that say so in the body of a class.
_FACTS = {
    "shape": "kept_shape", "numel()": "kept_numel", "stride()": "kept_stride",
    "storage_offset()": "kept_storage_offset",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot of a node: the thing or the fact it keeps, under which name, and the inputs whose gradients need it."""

    name: str
    saved: Saved
    tensors: Tensors
    is_result: bool
    inputs: frozenset[str]

    @property
    def is_tensor(self) -> bool:
        """Whether tensors are kept, which are saved, unpacked and freed."""
        return self.saved.fact is None and self.tensors is not Tensors.NONE

    @property
    def unpacked(self) -> str:
        """Return the expression of what `apply` gets from the slot of tensors."""
        match self.tensors:
            case Tensors.ONE:
                return f"unpack(self.{self.name}, self)"
            case Tensors.OPTIONAL:
                return f"unpack_optional(self.{self.name}, self)"
            case _:
                return f"unpack_all(self.{self.name}, self)"


class SlotBuilder:
    """The builder of the slots for an entry of derivatives.yaml."""

    def __init__(self, schema: FunctionSchema, entry: Differentiability) -> None:
        self._schema = schema
        self._entry = entry
        self._inputs = entry.differentiable_inputs
        self._arguments = [argument.name for argument in schema.arguments]
        results = zip(schema.output_names, schema.returns, strict=True)
        self.types = {a.name: a.type for a in schema.arguments} | {name: result.type for name, result in results}

    def is_list(self, name: str) -> bool:
        """Whether an argument or a result is a list of tensors."""
        return tensors_in(self.types[name]) not in (Tensors.ONE, Tensors.OPTIONAL)

    def build(self) -> tuple[Slot, ...]:
        """Return a slot for each thing that a formula saves."""
        namer = Namer(_MEMBERS)
        needed: dict[str, set[str]] = {}
        found: dict[str, tuple[Saved, bool]] = {}
        for derivative in self._entry.derivatives:
            for is_result, each in ((False, derivative.saved_inputs), (True, derivative.saved_outputs)):
                for saved in each:
                    found[saved.name] = saved, is_result
                    needed.setdefault(saved.name, set()).update(derivative.inputs)
        slots = []
        for name, (saved, is_result) in found.items():
            tensors = Tensors.NONE if saved.fact is not None else tensors_in(self.types[saved.of])
            slots.append(
                Slot(
                    namer.claim(name),
                    saved,
                    tensors,
                    is_result,
                    frozenset(needed[name]),
                )
            )
        return tuple(slots)

    def field(self, slot: Slot) -> str:
        """Return what the body of the class says of a slot, `saved_tensor(1, needed_by=(0,))`; empty for a value that
        a function computes."""
        at = self.position(slot)
        if isinstance(fact := slot.saved.fact, Formula):
            word = "" if slot.is_result else self._fact(fact, slot.saved.of)
            return f"{word}({at})" if word else ""
        if slot.is_result:
            return f"saved_result({at})"
        if not slot.is_tensor:
            return f"kept_argument({at})"
        if slot.inputs.issuperset(self._inputs):
            return f"saved_tensor({at})"
        needing = [str(self._arguments.index(name)) for name in self._inputs if name in slot.inputs]
        return f"saved_tensor({at}, needed_by={tuple_text(needing)})"

    def position(self, slot: Slot) -> str:
        """Return where what is kept stands among the arguments, or the results; empty for the only result."""
        if not slot.is_result:
            return str(self._arguments.index(slot.saved.of))
        results = self._schema.output_names
        return str(results.index(slot.saved.of)) if len(results) > 1 else ""

    def _fact(self, fact: Formula, of: str) -> str:
        """Return the function for a fact that the runtime keeps; empty for another."""
        match fact:
            case Attribute(Reference(Kind.ARGUMENT, name), text) if name == of:
                pass
            case Call(Attribute(Reference(Kind.ARGUMENT, name), method), (), ()) if name == of:
                text = f"{method}()"
            case _:
                return ""
        return "" if self.is_list(of) else _FACTS.get(text, "")
