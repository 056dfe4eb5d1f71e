"""The reading of derivatives.yaml: every entry finds its operator, every line its inputs or outputs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Protocol

from opwright_codegen.derivatives.checks import (
    check_arguments,
    check_forward,
    check_line,
    check_outputs,
    gradient_problems,
    has_mixed_outputs,
)
from opwright_codegen.derivatives.counterparts import is_pytorchs
from opwright_codegen.derivatives.derivative import (
    DEFAULT_KEY,
    Derivative,
    DerivativeSet,
    Differentiability,
    ForwardDerivative,
)
from opwright_codegen.derivatives.entries import Block, Entry, Line, read_derivative_entries
from opwright_codegen.derivatives.foreign import ForeignFormulas
from opwright_codegen.derivatives.formulas import Foreign, Formulas
from opwright_codegen.derivatives.made import made_derivatives
from opwright_codegen.documents.files import read_source
from opwright_codegen.errors import Errors, SchemaError, nearest
from opwright_codegen.kernels.modules import KernelModules
from opwright_codegen.kernels.used_packages import UsedPackage
from opwright_codegen.read.model import Operator, OperatorSet
from opwright_codegen.records import replace
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.source import Source, Text

__all__ = ["Language", "derivatives_of_expressions", "read_derivatives", "read_derivatives_text"]


_SHIPPED = "opwright_kernels"  # its functions have names of PyTorch's now and then, and arguments in another order


class Language(Protocol):
    """The language of formulas. All methods raise SchemaError for a text that is none."""

    def derivative(
        self, schema: FunctionSchema, inputs: tuple[str, ...], text: Text, outputs: tuple[int, ...]
    ) -> Derivative: ...

    def forward(
        self, schema: FunctionSchema, outputs: tuple[str, ...], text: Text, derivatives: tuple[Derivative, ...]
    ) -> ForwardDerivative: ...

    def check_condition(self, schema: FunctionSchema, text: Text) -> None: ...


def read_derivatives(
    path: str | os.PathLike[str],
    operators: OperatorSet,
    functions: KernelModules | None = None,
    used: Sequence[UsedPackage] = (),
    *,
    is_lax: bool = False,
) -> DerivativeSet:
    """Return the derivatives that the file declares, for these operators.

    With `functions`, the modules of backward functions, formulas are in our language and every name in them is
    resolved, to operators of the same namespace or of the packages `used` too. Without, the file is one of PyTorch:
    formulas in C++ stay the text that they are. A file of PyTorch that is read with `functions` has its formulas in C++
    read as far as there are counterparts; with `is_lax` entries of others are left out, else they are errors.
    Raises SchemaErrors with everything that is wrong.
    """
    return _read(read_source(path), operators, functions, used, is_lax)


def derivatives_of_expressions(
    operators: OperatorSet, functions: KernelModules, used: Sequence[UsedPackage] = ()
) -> DerivativeSet | None:
    """Return the derivatives of a project that declares none: those of its expressions; None where it has no such."""
    found = made_derivatives(operators, _formulas(operators, functions, used), ())
    return DerivativeSet(found) if found else None


def read_derivatives_text(
    text: str,
    operators: OperatorSet,
    functions: KernelModules | None = None,
    path: str = "<text>",
    used: Sequence[UsedPackage] = (),
    *,
    is_lax: bool = False,
) -> DerivativeSet:
    """Read the derivatives of a file that holds `text`."""
    return _read(Source(path, text), operators, functions, used, is_lax)


def _read(
    source: Source,
    operators: OperatorSet,
    functions: KernelModules | None,
    used: Sequence[UsedPackage],
    is_lax: bool = False,
) -> DerivativeSet:
    errors = Errors()
    formulas = None if functions is None else _formulas(operators, functions, used)
    if formulas is not None and is_pytorchs(source.text):
        formulas = replace(formulas, foreign=_foreign(formulas, functions, used, is_lax))
    language: Language = formulas or ForeignFormulas()
    found: dict[str, dict[str, Differentiability]] = {}
    first: dict[str, Entry] = {}
    left_out: list[SchemaError] = []
    for entry in read_derivative_entries(source, errors, operators.namespace):
        try:
            operator = _find_operator(entry, operators)
            if operator.name in first:
                hint = f"the first are at {first[operator.name].location}"
                message = f"{operator.name} has derivatives twice"
                raise SchemaError("duplicate-derivatives", message, entry.name.span, hint)
            first[operator.name] = entry
            check_arguments(entry, operator.schema)
            check_outputs(entry, operator.schema)
            blocks, wrong = _read_blocks(entry, operator, language)
            if is_lax and formulas is not None and formulas.foreign is not None:
                left_out += wrong.found
            else:
                errors.extend(wrong)
            if blocks or not wrong:
                found[operator.name] = blocks
        except SchemaError as error:
            errors.add(error)
        if errors.is_full:
            break
    errors.raise_if_any()
    if formulas is not None:
        found |= made_derivatives(operators, formulas, first)
    return DerivativeSet(found, (source,), tuple(left_out))


def _foreign(formulas: Formulas, functions: KernelModules | None, used: Sequence[UsedPackage], is_lax: bool) -> Foreign:
    """Return what formulas in C++ call by their own names. Where kernels are not known, neither is what has one, but
    operators of other packages."""
    own = {name for name, found in formulas.functions.items() if not found.module.startswith(_SHIPPED)}
    others = {name for package in used for name in (*package.functions, *package.methods)}
    every = others.union(*formulas.operators.values())
    return Foreign(own, others if is_lax else every)


def _formulas(operators: OperatorSet, functions: KernelModules, used: Sequence[UsedPackage]) -> Formulas:
    every = operators.operators.values()
    names: dict[str, dict[str, list[FunctionSchema]]] = {}
    for operator in every:
        names.setdefault(operator.namespace, {}).setdefault(operator.schema.name.base, []).append(operator.schema)
    for package in used:
        for own in names.values():
            own.update({name: [] for name in package.functions if name not in own})
    methods = {operator.schema.name.base for operator in every if "method" in operator.variants}
    methods.update(name for package in used for name in package.methods)
    return Formulas(names, frozenset(methods), functions.public)


def _find_operator(entry: Entry, operators: OperatorSet) -> Operator:
    """Return the operator with the entry's schema. Raises SchemaError that lists what there is instead."""
    schema = entry.schema
    operator = operators.operators.get(str(schema.name))
    if operator is not None and operator.schema == schema:
        return operator
    every = operators.operators.values()
    same = [str(other.schema) for other in every if _stem(other.schema) == _stem(schema)]
    if same:
        hint = "\n".join(["available signatures:", *(f"  {text.removeprefix('aten::')}" for text in same)])
    elif schema.name.namespace not in operators.namespaces:
        raise _elsewhere(entry, operators)
    else:
        near = nearest(schema.name.base, {other.schema.name.base for other in every})
        hint = f"did you mean {near!r}?" if near else "derivatives are for operators of the schema files"
    message = f"no operator has the schema {str(schema).removeprefix('aten::')!r}"
    raise SchemaError("unknown-operator", message, entry.name.span, hint)


def _elsewhere(entry: Entry, operators: OperatorSet) -> SchemaError:
    """Return the error for an entry about an operator of another namespace than those of the schema files."""
    schema = entry.schema
    local = f"::{schema.name.base}" + (f".{schema.name.overload}" if schema.name.overload else "")
    own = next((name for name in operators.operators if name.endswith(local)), None)
    message = f"the schema files declare no operators of {schema.name.namespace!r}"
    hint = "formulas are for operators of the same project; others have theirs where they are declared"
    return SchemaError("unknown-operator", message, entry.name.span, f"did you mean {own}?" if own else hint)


def _stem(schema: FunctionSchema) -> tuple[str, str]:
    return schema.name.namespace, schema.name.stem


def _read_blocks(entry: Entry, operator: Operator, language: Language) -> tuple[dict[str, Differentiability], Errors]:
    """Return what the entry says by key, without the keys whose formulas are wrong, and what is wrong with these. There
    is nothing for a key where the default is wrong."""
    errors = Errors()
    for condition in entry.conditions:
        try:
            language.check_condition(operator.schema, condition)
        except SchemaError as error:
            errors.add(error)
    is_wrong = bool(errors)
    blocks = {}
    for block in entry.blocks:
        own = Errors()
        blocks[block.key] = _read_block(block, entry, operator, language, own)
        errors.extend(own)
        if own:
            del blocks[block.key]
            is_wrong = is_wrong or block.key == DEFAULT_KEY
    return {} if is_wrong else blocks, errors


def _read_block(
    block: Block, entry: Entry, operator: Operator, language: Language, errors: Errors
) -> Differentiability:
    """Return what the entry says for one key; what is wrong goes to `errors`."""
    schema = operator.schema
    outputs = tuple(_candidates(entry, schema))
    derivatives: list[Derivative] = []
    forward: list[Line] = []
    without: list[str] = []
    given: dict[str, Line] = {}
    asked = 0
    for line in block.lines:
        try:
            names = tuple(name.text for name in line.names)
            if check_line(line, schema, given):
                forward.append(line)
            elif line.text.text.strip().lower() == "non_differentiable":
                without += names
            else:
                asked += 1
                derivatives.append(language.derivative(schema, names, line.text, outputs))
        except SchemaError as error:
            errors.add(error)
    if len(derivatives) < asked:  # without a formula of an input, forward formulas would be wrong, too
        forward = []
    for problem in gradient_problems(schema, derivatives):
        errors.add(problem)
    is_said = entry.booleans is not None or bool(entry.conditions)
    is_first_alone = not is_said and any("grad" in derivative.gradient_names for derivative in derivatives)
    if is_first_alone:
        outputs = outputs[:1]
    if derivatives and isinstance(language, Formulas) and has_mixed_outputs(schema, outputs):
        message = f"the results of {schema.name} that can have gradients are not tensors alone, nor one list"
        hint = "say which of them are not differentiable: output_differentiability: [True, False]"
        errors.add(SchemaError("mixed-outputs", message, entry.outputs_span or entry.name.span, hint))
    return Differentiability(
        operator,
        block.key,
        entry.location,
        tuple(derivatives),
        tuple(_read_forward(forward, schema, tuple(derivatives), language, errors)),
        tuple(without),
        (True,) if entry.conditions else entry.booleans,
        entry.conditions[0] if entry.conditions else None,
        outputs,
    )


def _candidates(entry: Entry, schema: FunctionSchema) -> Iterator[int]:
    """Yield the positions of outputs that can have gradients."""
    for position, result in enumerate(schema.returns):
        if result.type.is_tensor_like and (entry.booleans is None or entry.booleans[position]):
            yield position


def _read_forward(
    lines: Sequence[Line],
    schema: FunctionSchema,
    derivatives: tuple[Derivative, ...],
    language: Language,
    errors: Errors,
) -> Iterator[ForwardDerivative]:
    for line in lines:
        try:
            check_forward(line, lines, derivatives)
            names = tuple(name.text for name in line.names)
            yield language.forward(schema, names, line.text, derivatives)
        except SchemaError as error:
            errors.add(error)
