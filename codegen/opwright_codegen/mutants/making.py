"""All mutants of the entries of a project, and a choice of so many of them."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from opwright_codegen.declared.model import DeclaredSet
from opwright_codegen.declared.parts import DerivativeSet, Operator
from opwright_codegen.documents.yaml_reader import Node, ScalarNode
from opwright_codegen.mutants.entries import Entry, entries_of
from opwright_codegen.mutants.formula_changes import changes_of_formula
from opwright_codegen.mutants.mutant import NAMESPACE, Change, Mutant
from opwright_codegen.mutants.schema_changes import changes_of_schema
from opwright_codegen.read.dims import batching_of
from opwright_codegen.read.entry_keys import names_where
from opwright_codegen.read.key_formats import Mutants
from opwright_codegen.schema.model import FunctionSchema, OperatorName
from opwright_codegen.schema.names import default_kernel_name
from opwright_codegen.source import Span

__all__ = ["choose", "mutants_of"]

_WORDS: Final = re.compile(r"[\w.:]+")  # names of kernels, `auto_element_wise`: no expressions
_DTYPES: Final = ("float32", "float64", "int64", "bool", "complex64")


def mutants_of(sets: Iterable[DeclaredSet], names: Sequence[str] = ()) -> Iterator[Mutant]:
    """Yield the control and the mutants of each operator that can have some, or of those that are named."""
    unfit = names_where(Mutants.UNFIT)
    for index, (operator, entry, derivative) in enumerate(_with_entries(sets)):
        if any(key in entry.pairs for key in unfit) or operator.schema.name.base.startswith("__"):
            continue
        full, local = operator.name, operator.name.partition("::")[2]
        said = {full, local, full.partition(".")[0], local.partition(".")[0]}
        if not names or said & set(names):
            schema = FunctionSchema.parse(entry.text("func"))  # as it is written there: with its namespace or without
            yield from _Making(entry, schema, full, derivative, index).mutants()


def _with_entries(sets: Iterable[DeclaredSet]) -> Iterator[tuple[Operator, Entry, Entry | None]]:
    """Yield the declared operators with their entries, those of derivatives if there are such."""
    for declared in sets:
        derivatives = declared.derivatives or DerivativeSet({})
        entries, derived = entries_of(declared.operators.sources), entries_of(derivatives.sources)
        for operator in declared.written:
            locations = [each.location for each in derivatives.entries.get(operator.name, {}).values()]
            derivative = derived.get(_position(locations[0])) if locations else None  # (an expression has no entry)
            yield operator, entries[_position(operator.location)], derivative


def _position(span: Span) -> tuple[str, int]:
    return span.source.path, span.start


class _Making:
    """The making of one operator's mutants, which are counted from 0, the control."""

    def __init__(
        self, entry: Entry, schema: FunctionSchema, operator: str, derivative: Entry | None, index: int
    ) -> None:
        self._entry = entry
        self._schema = schema
        self._operator = operator
        self._derivative = derivative
        self._index = index
        self._count = 0

    def mutants(self) -> Iterator[Mutant]:
        yield self._made(Change("", ""), "", "", str(self._schema))
        for change in changes_of_schema(self._schema):
            yield self._made(change, "func", str(self._schema), change.text)
        changed = names_where(Mutants.CHANGE)
        for key, node in self._entry.texts():
            if key == "dims":
                yield from self._batches(node)
            elif key in changed and not _WORDS.fullmatch(node.text.strip()):
                for change in changes_of_formula(node.text):
                    yield self._made(change, key, node.text, str(self._schema), (node, change.text))
        for value, kind, before, after in self._dtype_changes():
            yield self._made(Change(kind, after), "dtypes", before, str(self._schema), (value, after))
        for key, node in self._derivative.texts() if self._derivative else ():
            if key != "name" and not _WORDS.fullmatch(node.text.strip()):
                where = "tangent" if key in self._schema.output_names else "gradient"
                for change in changes_of_formula(node.text):
                    yield self._made(change, where, node.text, str(self._schema), None, (node, change.text))

    def _batches(self, node: ScalarNode) -> Iterator[Mutant]:
        """Yield mutants that batch calls by another family."""
        said = batching_of(node.text)
        if said is not None and not _WORDS.fullmatch(said):
            for change in changes_of_formula(said):
                yield self._made(change, "batch", said, str(self._schema), (node, f"batched by {change.text}"))

    def _dtype_changes(self) -> Iterator[tuple[Node, str, str, str]]:
        pair = self._entry.pairs.get("dtypes")
        text = self._entry.text("dtypes")
        known = [word.strip() for word in text.split(",")] if text else []
        if pair is None or not known:
            return
        if len(known) > 1:
            yield pair[1], "dtypes narrowed", text, ", ".join(known[:-1])
        more = next((name for name in _DTYPES if name not in known), None)
        if more is not None:
            yield pair[1], "dtypes widened", text, ", ".join([*known, more])

    def _made(
        self,
        change: Change,
        where: str,
        before: str,
        declared: str,
        edit: tuple[Node, str] | None = None,
        derived: tuple[Node, str] | None = None,
    ) -> Mutant:
        """Return a mutant: its schema, and one other text of its entry or of its derivative's."""
        schema = FunctionSchema.parse(declared)
        name = OperatorName(NAMESPACE, f"m{self._index}_{self._count}_{schema.name.base}", schema.name.overload)
        self._count += 1
        func = str(name) + declared[len(str(schema.name)) :]
        edits = [(self._entry.pairs["func"][1], func), *([edit] if edit else [])]
        left_out = names_where(Mutants.LEAVE_OUT)
        if (text := self._entry.text("dims")) and not (edit and edit[0] is self._entry.pairs["dims"][1]):
            said = batching_of(text)  # which is all that a mutant has of it: names of dimensions may not be its own
            edits += [(self._entry.pairs["dims"][1], f"batched by {said}")] if said else []
            left_out = (*left_out, *([] if said else ["dims"]))
        text = self._entry.written(edits, left_out)
        if not {"dispatch", "kernel"} & self._entry.pairs.keys():
            text += f"  dispatch:\n    CompositeImplicitAutograd: {default_kernel_name(self._schema)}\n"
        derivative = ""
        if self._derivative is not None:
            derived_edits = [(self._derivative.pairs["name"][1], func), *([derived] if derived else [])]
            derivative = self._derivative.written(derived_edits)
        kind, after = change.kind, change.text
        return Mutant(self._operator, str(name), kind, where, before, after, text, derivative, self._entry.place)


def choose(mutants: Sequence[Mutant], most: int, seed: int) -> list[Mutant]:
    """Return so many mutants of all, as many of each class as there are, with the control of each operator."""
    classes: dict[tuple[str, str], list[Mutant]] = {}
    for each in mutants:
        if not each.is_control:
            classes.setdefault((each.where, each.kind), []).append(each)
    draw = random.Random(seed)
    for found in classes.values():
        draw.shuffle(found)
    chosen: list[Mutant] = []
    while classes and len(chosen) < most:
        for key in list(classes):
            if len(chosen) < most:
                chosen.append(classes[key].pop())
            if not classes[key]:
                del classes[key]
    operators = {each.operator for each in chosen}
    kept = set(map(id, chosen))
    return [each for each in mutants if id(each) in kept or (each.is_control and each.operator in operators)]
