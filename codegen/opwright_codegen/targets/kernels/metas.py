"""`metas/`: what results look like, a function for each operator that has a rule. Kernels of all backends call it.

Note [Fake kernels]
A planned operator's fake is its rule: the plan that the kernel shims of CPU and CUDA lay their results out by becomes a
tensor without data, so that fake and real cannot disagree. The runtime makes the fake kernels of these functions. One
that is `alike` handles pointwise calls of dense operands of one shape, dtype and device without the rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opwright_codegen.declared.parts import BACKENDS, Binding, Plans
from opwright_codegen.formula.ast import Call, Kind, Reference, Verbatim, walk
from opwright_codegen.formula.emit import Spelling
from opwright_codegen.formula.resolve import BUILTINS
from opwright_codegen.records import dataclass
from opwright_codegen.schema.model import Argument, SchemaKind
from opwright_codegen.targets.kernels.dense import ALL_KINDS, DenseFacts, dense_facts
from opwright_codegen.targets.kernels.spelled import spelled
from opwright_codegen.views.annotations import Side, annotation
from opwright_codegen.views.imports import import_lines, words_in
from opwright_codegen.views.layout import fill_comment, formula_lines, quoted, returned
from opwright_codegen.views.names import BuiltinNames, Namer
from opwright_codegen.views.operators import signature

__all__ = ["ALIAS", "FOLDER", "TEMPLATE", "MetaNames", "context", "has_fake", "meta_names"]

FOLDER = "metas"
TEMPLATE = "metas.py.j2"
ALIAS = "metas"  # what modules of shims call the one of their schema module
RESERVED = (
    "Any", "DType", "DTypeLike", "Device", "Generator", "Layout", "MemoryFormat", "Scalar", "Sequence", "alike",
    "annotations", "builtins", "dtypes", "math", "rules",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MetaNames:
    """The function of an operator in the schema module's `metas`, and the arguments that it takes."""

    function: str
    arguments: tuple[str, ...]

    def call(self) -> Call:
        """Return its call, as part of a shim."""
        given = tuple(Reference(Kind.ARGUMENT, name) for name in self.arguments)
        return Call(Verbatim(f"{ALIAS}.{self.function}"), given)


@dataclass(frozen=True, slots=True)
class MetaFunction:
    """A function as the template shows it: `alike` is its decorator, '' where there is none."""

    comment: str
    alike: str
    signature: str
    statements: tuple[str, ...]


def meta_names(bindings: Sequence[Binding]) -> dict[str, MetaNames]:
    """Return the functions, by operator. Variants have that of their operator."""
    namer = Namer(RESERVED)
    of_base: dict[str, MetaNames] = {}
    found: dict[str, MetaNames] = {}
    for binding in bindings:
        if not _is_planned(binding):
            continue
        base = binding.base.name
        if base not in of_base:
            of_base[base] = MetaNames(namer.claim(binding.view.stub), tuple(a.name for a in _arguments(binding)))
        found[binding.view.name] = of_base[base]
    return found


def _is_planned(binding: Binding) -> bool:
    """Whether rules of the runtime say what the results look like. Those of users are looked at in the shims."""
    return binding.key in BACKENDS and isinstance(binding.meta, Plans) and not any(binding.rule_paths())


def has_fake(binding: Binding) -> bool:
    """Whether the runtime makes the fake kernel: that of an operator with tensors, which are on one device."""
    schema = binding.view.schema
    tensors = [a for a in schema.arguments if a.type.is_tensor_like and a not in schema.out_arguments]
    return _is_planned(binding) and bool(tensors) and binding.base.device_check != "NoCheck"


def _arguments(binding: Binding) -> list[Argument]:
    meta = binding.meta
    assert isinstance(meta, Plans)
    nodes = (node for formula in meta.formulas for node in walk(formula))
    used = {node.name for node in nodes if isinstance(node, Reference) and node.kind is Kind.ARGUMENT}
    return [argument for argument in binding.base.schema.arguments if argument.name in used]


def context(bindings: Sequence[Binding], names: Mapping[str, MetaNames]) -> dict[str, object] | None:
    """Return what the template shows; None where no operator has a function."""
    first: dict[str, Binding] = {}
    for binding in bindings:
        if _is_planned(binding):
            first.setdefault(names[binding.view.name].function, binding)
    if not first:
        return None
    builtins = BuiltinNames(first)
    functions = [_function(binding, name, builtins, bindings) for name, binding in first.items()]
    texts = [text for each in functions for text in (each.alike, each.signature, *each.statements)]
    words = words_in(texts)
    whole = [name for name in ("builtins", "math") if name in words]
    return {"functions": functions, "imports": import_lines(words, whole)}


def _function(binding: Binding, name: str, builtins: BuiltinNames, bindings: Sequence[Binding]) -> MetaFunction:
    meta = binding.meta
    assert isinstance(meta, Plans)
    namer = Namer((*RESERVED, *(f"plan{i}" for i in range(len(meta.formulas)))))
    own = {a.name: namer.claim(a.name) for a in _arguments(binding)}
    parameters = [
        f"{own[a.name]}: {'Any' if a.type.is_tensor_like else annotation(a.type, builtins, side=Side.KERNEL)}"
        for a in _arguments(binding)
    ]
    prefix = "builtins." if builtins.hides(BUILTINS) else ""
    spelling = Spelling(xp="np", builtin=prefix, arguments=own)
    formulas = [spelled(formula, {}, {}) for formula in meta.formulas]
    if len(formulas) == 1:
        statements = [formula_lines(formulas[0], spelling, 4, "return ")]
    else:
        plans = [f"plan{i}" for i in range(len(formulas))]
        statements = [formula_lines(f, spelling, 4, f"{p} = ") for p, f in zip(plans, formulas, strict=True)]
        statements.append(returned(plans))
    comment = fill_comment(binding.view.declaration)
    return MetaFunction(comment, _alike(binding, bindings), signature(name, parameters, "Any"), tuple(statements))


def _alike(binding: Binding, bindings: Sequence[Binding]) -> str:
    """Return the decorator of the rule of an operator that has fast shims."""
    of_base = (each for each in bindings if each.base.name == binding.base.name)
    for each in of_base:
        schema = each.view.schema
        is_fake = each.key == "Meta" and schema.kind is SchemaKind.FUNCTIONAL
        facts = dense_facts(each) if is_fake else None
        if facts is not None:
            letters = "".join(_letter(argument, facts) for argument in schema.arguments)
            given = [quoted(letters), quoted(facts.kinds or ALL_KINDS), *(["is_truth=True"] if facts.is_truth else [])]
            return f"@alike({', '.join(given)})"
    return ""


def _letter(argument: Argument, facts: DenseFacts) -> str:
    if argument.name in facts.operands:
        return "T"
    return "N" if argument.name in facts.scalars else "1" if argument.name in dict(facts.ones) else "."
