"""`autograd/`: a Node class for each differentiable operator, and a row for each variant that is recorded as one.

Note [Names of nodes]
`AddBackward0`: the operator's name, as PyTorch spells it, and a number for each overload with gradients, in the order
of derivatives.yaml. Calls of in-place variants are nodes of the same class, and where these have another name the node
has theirs (`normal_functional`). The node of a view operator's copying variant is `AliasBackward0_copy`. Where numbers
have an overload of their own, its nodes show themselves as those of tensors: to PyTorch the 2 of `x * 2` is a tensor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from opwright_codegen.declared.parts import (
    DEFAULT_KEY,
    Derivative,
    DerivativeSet,
    Differentiability,
    KernelModules,
    OperatorGroup,
    OperatorSet,
)
from opwright_codegen.formula.ast import Attribute, Call, Formula, Kind, Reference
from opwright_codegen.formula.parser import parse
from opwright_codegen.formula.resolve import Scope, resolve
from opwright_codegen.records import dataclass, replace
from opwright_codegen.schema.model import OperatorName, SchemaKind
from opwright_codegen.source import Text
from opwright_codegen.targets.gradients.backward_functions import backward_functions
from opwright_codegen.targets.gradients.nodes import NodeBuilder, NodeClass
from opwright_codegen.targets.gradients.recorders import Refusal, recorder_row, refusal
from opwright_codegen.views.imports import import_lines, words_in
from opwright_codegen.views.names import Namer
from opwright_codegen.views.operators import NamespaceView, OperatorView

__all__ = ["FOLDER", "TEMPLATE", "Recording", "context", "recordings", "without_history"]

FOLDER = "autograd"
TEMPLATE = "autograd.py.j2"
_RESERVED = (
    "Any", "DType", "Device", "Edge", "Generator", "Layout", "MemoryFormat", "Recorded", "RecordedSeveral", "Sequence",
    "Tensor", "adjoint_of", "annotations", "any", "builtins", "conjugate_of", "dtypes", "expanded", "gradients_of",
    "inplace_recorder", "kept_argument", "kept_counts", "kept_numel", "kept_result_value",
    "kept_shape", "kept_storage_offset", "kept_stride", "kept_value", "len", "list", "math", "not_implemented", "ops",
    "out_recorder", "recorded_if", "recorder", "refuse_recording", "reshaped", "saved_result", "saved_tensor",
    "split_edges", "swapped", "turned", "type", "unpack", "unpack_all", "unpack_optional", "zeros_for",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Recording:
    """The recorder of an operator's calls: the function at a dispatch key, by which entry, the class of the node, and
    the name that it shows, if that is another.

    Without an entry, and a node, it is a variant with `out=` of a composite, which refuses to be recorded.
    """

    view: OperatorView
    entry: Differentiability | None
    key: str
    function: str
    node: str
    shown: str


# Operators that PyTorch calls with a tensor for a number, and the overload that takes it.
_NUMBERS_ARE_TENSORS = {"add": "Tensor", "sub": "Tensor", "mul": "Tensor", "div": "Tensor", "where": "self"}


@dataclass(frozen=True, slots=True)
class _Block:
    """A block of the module: a class and the rows of what is recorded as it, or rows of what is refused."""

    node: NodeClass | None
    rows: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()


def recordings(view: NamespaceView, operators: OperatorSet, derivatives: DerivativeSet) -> tuple[Recording, ...]:
    """Return what is recorded, by entry of derivatives.yaml: the operator, its in-place variants, those with `out=`."""
    namer = Namer(_RESERVED)
    groups = {member.name: group for group in operators.groups for member in group.members}
    found: list[Recording] = []
    nodes = _NodeNames(namer)
    for name, by_key in derivatives.entries.items():
        for key, entry in by_key.items():
            if name not in view.operators:
                continue
            variants = [
                variant
                for variant in _variants(name, groups.get(name), view)
                if variant.name == name or variant.name not in derivatives.entries
            ]
            if not entry.derivatives:
                variants = [each for each in variants if each.schema.kind is SchemaKind.INPLACE]
                variants = [each for each in variants if not each.operator.is_view_like]
            if not variants:
                continue
            if not entry.derivatives:
                entry = _without_gradient(entry)
            node, shown = nodes.claim(entry, groups.get(name))
            dispatch = "Autograd" if key == DEFAULT_KEY else key
            for variant in variants:
                wanted = variant.stub if key == DEFAULT_KEY else f"{variant.stub}_{key}"
                found.append(Recording(variant, entry, dispatch, namer.claim(wanted), node, shown))
    for variant in _refused(view, groups):
        found.append(Recording(variant, None, "Autograd", namer.claim(variant.stub), "", ""))
    return tuple(found)


def _refused(view: NamespaceView, groups: Mapping[str, OperatorGroup]) -> Iterator[OperatorView]:
    """Yield variants with `out=`, with kernels of their own, of operators that record what they are made of."""
    for name, variant in view.operators.items():
        group = groups.get(name)
        if variant.schema.kind is not SchemaKind.OUT or group is None or group.functional is None:
            continue
        functional = group.functional.schema
        if (
            variant.operator.kernel("CompositeImplicitAutograd") is None
            and group.functional.kernel("CompositeImplicitAutograd") is not None
            and any(argument.type.is_tensor_like for argument in functional.arguments)
        ):
            yield variant


def without_history(
    view: NamespaceView, operators: OperatorSet, derivatives: DerivativeSet, found: Sequence[Recording]
) -> tuple[str, ...]:
    """Return the operators that derivatives.yaml has, variants with them, and of whose calls nothing is recorded."""
    groups = {member.name: group for group in operators.groups for member in group.members}
    recorded = {recording.view.name for recording in found}
    names = {
        variant.name: None
        for name in derivatives.entries
        if name in view.operators
        for variant in _variants(name, groups.get(name), view)
    }
    return tuple(name for name in names if name not in recorded)


def _without_gradient(entry: Differentiability) -> Differentiability:
    """Return what in-place variants record of an operator whose result has no gradient: the old value's is zero."""
    grad = Reference(Kind.GRAD, "grad")
    zeros = Call(Attribute(grad, "new_zeros"), (Attribute(grad, "shape"),))
    own, *others = (a.name for a in entry.operator.schema.arguments if a.type.is_tensor_like)
    text = Text("0", entry.location)
    derivative = Derivative((own,), text, zeros, gradients=(0,), gradient_names=frozenset(("grad",)))
    return replace(
        entry, derivatives=(derivative,), non_differentiable=tuple(others), differentiable_outputs=(0,), condition=None
    )


class _NodeNames:
    """The names of node classes, by Note [Names of nodes]."""

    def __init__(self, namer: Namer) -> None:
        self._namer = namer
        self._counts: dict[str, int] = {}
        self._known: dict[OperatorName, str] = {}

    def claim(self, entry: Differentiability, group: OperatorGroup | None) -> tuple[str, str]:
        """Return the class of an entry's nodes, and the name that they show, if that is another."""
        name = entry.operator.schema.name
        view = self._known.get(replace(name, base=name.base.removesuffix("_copy")))
        if view is not None and name not in self._known:
            found = f"{view}_copy"
        else:
            inplace = group.inplace if group else None
            prefix = _prefix(name.base if inplace is None else inplace.schema.name.base)
            number = self._counts[prefix] = self._counts.get(prefix, -1) + 1
            found = f"{prefix}{number}"
        self._known.setdefault(name, found)
        of_tensor = _NUMBERS_ARE_TENSORS.get(name.base) if name.overload.startswith("Scalar") else None
        shown = "" if of_tensor is None else self._known.get(replace(name, overload=of_tensor), "")
        return self._namer.claim(found), shown


def _prefix(base: str) -> str:
    words = "".join(word.title() for word in base.split("_"))
    return f"{words}Backward".replace("ForwardBackward", "Backward")


def _variants(name: str, group: OperatorGroup | None, view: NamespaceView) -> Iterator[OperatorView]:
    """Yield the operator and its variants, as far as they are no composites of operators that are recorded."""
    variants = [name, *(v.name for v in (group.inplace, group.out) if v is not None)] if group else [name]
    for variant in dict.fromkeys(variants):
        found = view.operators[variant]
        if not any(key.startswith("CompositeImplicit") for key, _ in found.operator.dispatch):
            yield found


def context(
    view: NamespaceView,
    found: Sequence[Recording],
    functions: KernelModules,
) -> dict[str, object] | None:
    """Return what the template shows; None where nothing is recorded."""
    if not found:
        return None
    formulas = [each for recording in found if recording.entry for each in _formulas(recording.entry)]
    taken = (*_RESERVED, *(recording.function for recording in found))
    modules, spelled = backward_functions(formulas, functions, taken)
    by_node: dict[str, list[Recording]] = {}
    for recording in found:
        by_node.setdefault(recording.node, []).append(recording)
    blocks = [_block(view, own, spelled) for own in by_node.values()]
    return {"blocks": blocks, "imports": _imports(blocks, modules, view)}


def _block(view: NamespaceView, own: Sequence[Recording], functions: Mapping[str, str]) -> _Block:
    entry = own[0].entry
    if entry is None:
        return _Block(None, refusals=tuple(refusal(each.view, each.function) for each in own))
    node = NodeBuilder(
        view.operators[entry.operator.name],
        entry,
        own[0].node,
        own[0].shown,
        view.builtins,
        view.calls,
        functions,
        _condition(entry, view),
    )
    rows = [recorder_row(each.view.schema, each.function, each.node) for each in own]
    return _Block(node.build(), tuple(rows))


def _condition(entry: Differentiability, view: NamespaceView) -> Formula | None:
    """Return the condition under which calls are recorded, where there is one."""
    if entry.condition is None:
        return None
    return resolve(parse(entry.condition), Scope.for_composite(entry.operator.schema, view.calls, view.used_methods))


def _formulas(entry: Differentiability) -> Iterator[Formula]:
    for derivative in entry.derivatives:
        if derivative.formula is not None and derivative.reason is None:
            yield derivative.formula
    for saved in (*entry.saved_inputs, *entry.saved_outputs):
        if isinstance(saved.fact, Formula):
            yield saved.fact


def _imports(blocks: Sequence[_Block], modules: Mapping[str, str], view: NamespaceView) -> str:
    texts: list[str] = []
    for block in blocks:
        if block.node is not None:
            texts += (block.node.head, *map(_value, block.node.fields))
            for function in block.node.functions:
                texts += (function.decorator, function.signature, *function.statements)
        texts += [_value(row) for row in (*block.rows, *(each.row for each in block.refusals))]
    words = words_in(texts)
    whole = [name for name in ("builtins", "math") if name in words]
    extra = [(module.rpartition(".")[0], module.rpartition(".")[2], alias) for module, alias in modules.items()]
    return import_lines(words, whole, [*extra, *view.imports(words)])


def _value(assignment: str) -> str:
    """Return what is assigned: names of operators and fields may be those of the runtime."""
    return assignment.partition(" = ")[2]
