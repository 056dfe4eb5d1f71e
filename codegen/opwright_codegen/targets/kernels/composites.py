"""Target `composites.py`: kernels over other operators. They see what the caller passed.

Note [Variants of composites]
An out or in-place variant without a kernel of its own computes what the functional operator of its group does, and
copies that to the arguments that it writes: `dispatch.package.variants` resizes these, or refuses them, as plans do.
Tensor options that the variant lacks are those of its first `out`.

Note [Functional variants]
A functional variant that is made from an operator that writes calls it with copies of the arguments that it writes.
Its results are those of the operator, and then each copy that the operator does not return.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opwright_codegen.declared.parts import Binding, FunctionalOf, Inline, VariantOf, composite_bindings
from opwright_codegen.formula.ast import Call, Formula, Verbatim
from opwright_codegen.formula.emit import Spelling
from opwright_codegen.formula.resolve import BUILTINS
from opwright_codegen.records import dataclass
from opwright_codegen.schema.model import Argument, SchemaKind
from opwright_codegen.targets.kernels.spelled import spelled
from opwright_codegen.views.annotations import Side, annotation, return_annotation
from opwright_codegen.views.imports import import_lines, words_in
from opwright_codegen.views.layout import fill_comment, formula_lines, guarded, hugged, quoted, returned
from opwright_codegen.views.names import BuiltinNames, Namer
from opwright_codegen.views.operators import NamespaceView, OperatorView, signature

__all__ = ["FOLDER", "TEMPLATE", "composite_names", "context"]

FOLDER = "composites"
TEMPLATE = "composites.py.j2"
RESERVED = (
    "Any", "DType", "DTypeLike", "Device", "Exception", "Generator", "Layout", "MemoryFormat", "Scalar", "Sequence",
    "Tensor", "annotations", "builtins", "complex", "copy_written", "dtypes", "error", "item", "math", "name_kernel",
    "ops", "result", "write_out", "write_outs", "write_self", "zip",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Composite:
    """One kernel: its comment, its `def` line, and its statements."""

    comment: str
    signature: str
    statements: tuple[str, ...]


def context(view: NamespaceView, bindings: Sequence[Binding]) -> dict[str, object] | None:
    """Return what the template shows; None where no kernel is such an expression."""
    own = composite_bindings(bindings)
    if not own:
        return None
    names = composite_names(own)
    builtins = BuiltinNames(names.values())
    composites = [_composite(binding, names[binding.view.name, binding.key], view, builtins) for binding in own]
    words = words_in(text for c in composites for text in (c.signature, *c.statements))
    whole = [name for name in ("builtins", "math") if name in words]
    return {"composites": composites, "imports": import_lines(words, whole, view.imports(words))}


def composite_names(bindings: Sequence[Binding]) -> dict[tuple[str, str], str]:
    """Return the function for each operator and key: an operator has several where keys differ in their expression."""
    namer = Namer(RESERVED)
    found: dict[tuple[str, str], str] = {}
    for binding in bindings:
        wanted = binding.view.stub
        is_second = any(name == binding.view.name for name, _ in found)
        found[binding.view.name, binding.key] = namer.claim(f"{wanted}_{binding.key}" if is_second else wanted)
    return found


def _composite(binding: Binding, name: str, view: NamespaceView, builtins: BuiltinNames) -> Composite:
    schema = binding.view.schema
    namer = Namer((*RESERVED, *_results(schema.returns)))
    own = {a.name: namer.claim(a.name) for a in schema.arguments}
    parameters = [f"{own[a.name]}: {annotation(a.type, builtins, side=Side.KERNEL)}" for a in schema.arguments]
    given = return_annotation(schema.returns, builtins)
    match binding.kernel:
        case VariantOf(source):
            statements = _written(binding.view, source, own, view)
        case FunctionalOf(source):
            statements = _on_copies(binding.view, source, own, namer, view)
        case Inline(formula):
            spelling = Spelling(builtin="builtins." if builtins.hides(BUILTINS) else "", arguments=own)
            formula = spelled(formula, {}, view.calls)
            before = f"result: {given} = " if schema.returns else ""
            last = ["return result"] if schema.returns else []
            body = [formula_lines(formula, spelling, 8, before), *last]
            statements = guarded(body, binding.view.name, binding.key)
        case _:
            raise AssertionError("kernels of modules are called where they are")
    return Composite(fill_comment(binding.view.declaration), signature(name, parameters, given), tuple(statements))


# -- variants


def _written(variant: OperatorView, source: OperatorView, own: Mapping[str, str], package: NamespaceView) -> list[str]:
    """Return the statements of a variant: Note [Variants of composites]."""
    schema = variant.schema
    call, plain = _call(source, variant, own, package), Spelling()
    written = _targets(variant)
    if schema.kind is SchemaKind.INPLACE and written[0].type.is_list_like:
        pairs = Call(Verbatim("zip"), (Verbatim(own[written[0].name]), call), (("strict", Verbatim("True")),))
        return [formula_lines(pairs, plain, 4, "for item, result in ", ":"), "    write_self(item, result)"]
    if len(written) == 1 and len(source.schema.returns) == 1:
        before = "return " if schema.returns else ""
        given = [Verbatim(text) for text in (*_named(variant), own[written[0].name])]
        writer = _writer(schema.kind, written[0])
        write = Call(Verbatim(writer), (*given, call, *map(Verbatim, _read(variant, own, writer))))
        return [formula_lines(write, plain, 4, before)]
    results = _results(source.schema.returns)
    stored = [
        hugged(f"{writer}(", [*_named(variant), own[argument.name], result, *_read(variant, own, writer)], ")", 8, 1)
        for argument, result in zip(written, results, strict=False)
        for writer in [_writer(schema.kind, argument)]
    ]
    return [
        formula_lines(call, plain, 4, f"{', '.join(results)} = "),
        *([returned(stored)] if schema.returns else stored),
    ]


def _on_copies(
    variant: OperatorView, source: OperatorView, own: Mapping[str, str], namer: Namer, package: NamespaceView
) -> list[str]:
    """Return the statements of a functional variant: Note [Functional variants]."""
    written = [a.name for a in source.schema.mutated_arguments if a.type.is_tensor_like]
    copies = {name: namer.claim(f"{name}_copy") for name in written}
    statements = [f"{copy} = copy_written({own[name]})" for name, copy in copies.items()]
    returns = source.schema.returns
    returned_already = {r.annotations for r in returns}
    rest = [copies[a.name] for a in source.schema.written_order if a.annotations not in returned_already]
    call = _call(source, variant, {**own, **copies}, package)
    if not rest:
        return [*statements, formula_lines(call, Spelling(), 4, "return ")]
    results = _results(returns)
    before = f"{', '.join(results)} = " if returns else ""
    return [*statements, formula_lines(call, Spelling(), 4, before), returned([*results, *rest])]


def _call(source: OperatorView, variant: OperatorView, own: Mapping[str, str], package: NamespaceView) -> Formula:
    positional: list[Formula] = []
    keywords: list[tuple[str, Formula]] = []
    for parameter in source.parameters:
        argument = parameter.argument
        if argument.name in own:
            value: Formula = Verbatim(own[argument.name])
        elif argument.name in ("dtype", "device"):
            value = Verbatim(f"{own[_targets(variant)[0].name]}.{argument.name}")
        else:
            continue
        if argument.kwarg_only:
            keywords.append((parameter.name, value))
        else:
            positional.append(value)
    return Call(Verbatim(package.function(source)), tuple(positional), tuple(keywords))


def _targets(variant: OperatorView) -> tuple[Argument, ...]:
    """Return the arguments that results are written to, in the order of the results."""
    schema = variant.schema
    return schema.out_arguments if schema.kind is SchemaKind.OUT else schema.mutated_arguments[:1]


def _writer(kind: SchemaKind, target: Argument) -> str:
    if target.type.is_list_like:
        return "write_outs"
    return "write_out" if kind is SchemaKind.OUT else "write_self"


def _read(variant: OperatorView, own: Mapping[str, str], writer: str) -> list[str]:
    """Return the tensors that a variant with `out=` reads, which may not be resized as that."""
    if writer != "write_out":
        return []
    outs = variant.schema.out_arguments
    return [own[a.name] for a in variant.schema.arguments if a.type.is_tensor_like and a not in outs]


def _named(variant: OperatorView) -> list[str]:
    """Return the operator's name, for the errors of variants with `out=` and the dtypes that they take."""
    return [quoted(variant.name)] if variant.schema.kind is SchemaKind.OUT else []


def _results(returns: Sequence[object]) -> list[str]:
    """Return the variables of several results."""
    return [f"result{i}" for i in range(len(returns))]
