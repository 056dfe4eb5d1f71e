"""The only code where the runtime meets the generator: schemas parsed when someone asks for them."""

from __future__ import annotations
import __future__

import builtins
import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Final

from opwright.context_managers.fork_locks import ForkLock
from opwright.inspection.meta_formulas import Expression, MetaFormula, RuleCall
from opwright.names.optional_packages import require
from opwright.registering.custom_classes import declared_classes, is_declared
from opwright_core.arrays import dtypes
from opwright_core.errors import RegistrationError

if TYPE_CHECKING:
    from opwright_codegen.declared.meta_formula import RuleCall as BoundCall
    from opwright_codegen.schema.model import Argument as ParsedArgument
    from opwright_codegen.schema.model import FunctionSchema
    from opwright_codegen.schema.model import FunctionSchema as ParsedSchema
    from opwright_codegen.schema.model import Return as ParsedReturn
    from opwright_codegen.schema.types import Type
    from opwright_codegen.schema.types import Type as ParsedType

__all__ = [
    "ParsedArgument", "ParsedReturn", "ParsedSchema", "ParsedType", "cost_formula", "declaration_of", "dimensions",
    "incompatibilities", "located", "meta_formula", "operator_functions", "parse", "parse_definition", "spell",
]  # fmt: skip

# For the parser and the templates, and to import them. Its holder never takes the registry's lock.
_generating: Final = ForkLock()


def _generator() -> Any:
    """Return the lock of the generator. Raises ExtraMissing if the generator is not installed."""
    require("opwright_codegen")
    return _generating.lock


def parse(text: str) -> FunctionSchema:
    """Return the schema of `ns::name.overload(arguments) -> returns`. Raises RegistrationError with the position in
    it."""
    with _generator():
        from opwright_codegen.errors import SchemaError
        from opwright_codegen.schema.model import FunctionSchema

        try:
            return FunctionSchema.parse(text)
        except SchemaError as error:
            raise RegistrationError(str(error)) from None


def parse_definition(text: str, manners: list[str] | None = None) -> FunctionSchema:
    """Return the schema of an operator to define. What PyTorch takes though it is bad manners is added to `manners`:
    two arguments of one name, a list without default after a default, a default that is none of its type.

    Raises RegistrationError for that, if there is no such list, and for what PyTorch refuses: unknown types, a default
    before `...`, a device without quotes, classes that are not registered.
    """
    with _generator():
        from opwright_codegen.schema.definitions import definition_problems
    schema: FunctionSchema = parse(text)
    refused, taken = definition_problems(schema, declared_classes())
    for problem in refused if manners is not None else (*refused, *taken):
        raise RegistrationError(str(problem))
    for declared in (*(argument.type for argument in schema.arguments), *(result.type for result in schema.returns)):
        _refuse_classes(declared)
    if manners is not None:
        manners += [problem.shown("warning") for problem in taken]
    return schema


def _refuse_classes(declared: Type) -> None:
    from opwright_codegen.schema.types import ClassType, GenericType

    base = declared.base()
    if isinstance(base, ClassType) and not is_declared(base.path):
        raise RegistrationError(
            f"Unknown custom class type {base.class_name} ({base}): register the class by "
            "opwright.library.register_custom_class first"
        )
    for inner in base.args if isinstance(base, GenericType) else ():
        _refuse_classes(inner)


def incompatibilities(new: FunctionSchema, old: FunctionSchema) -> list[str]:
    """Return why calls written for `old` would break under `new`; nothing where they would not."""
    with _generator():
        from opwright_codegen.schema.compat import incompatibilities as found
    return found(new, old)


def declaration_of(schema: FunctionSchema) -> str:
    """Return the declaration that an Operator is made of: the canonical text without the name."""
    text = str(schema)
    return text[text.index("(") :]


def spell(value: Any) -> str:
    """Return a Python value as a schema writes it as a default."""
    require("opwright_codegen")
    from opwright_codegen.schema.defaults import spell as written

    return written(value)


def located(code: str, message: str, path: str, text: str, start: int, end: int, hint: str) -> str:
    """Return an error message that shows the position in a text, as errors of schemas do."""
    require("opwright_codegen")
    from opwright_codegen.errors import SchemaError
    from opwright_codegen.source import Source, Span

    return str(SchemaError(code, message, Span(Source(path, text), start, end), hint))


def operator_functions(
    declaration: str, arrays: Collection[int], returns_arrays: bool, file: str, known: dict[str, Any]
) -> tuple[dict[str, Any], str]:
    """Return the functions of an operator of this declaration (`templates/custom_op.py.j2`), and their text.

    `known` is what they may name; `file` is where tracebacks say that they stand.
    """
    with _generator():
        from opwright_codegen.output.render import render_operator

        text = render_operator(parse(f"operator{declaration}"), arrays, returns_arrays=returns_arrays)
    return _execute(text, file, known), text


def _execute(text: str, file: str, known: dict[str, Any]) -> dict[str, Any]:
    """Return what a text defines. The only code that executes text: it is what a template made of a schema or a
    formula, which the grammar took and the runtime cannot be given in any other way."""
    code = compile(text, file, "exec", __future__.annotations.compiler_flag, dont_inherit=True)
    functions: dict[str, Any] = {}
    exec(code, known, functions)
    return functions


def meta_formula(name: str, declaration: str, text: str) -> MetaFormula:
    """Return the formula of an operator's results. Raises RegistrationError with the position in the text, and for
    results that are no new tensors."""
    schema = parse(f"{name}{declaration}")
    for returned in schema.returns:
        if not returned.type.is_tensor_like or returned.annotations:
            raise RegistrationError(f"{name}: a meta formula is for results that are new tensors, not for {returned}")
    if not schema.returns:
        raise RegistrationError(f"{name} returns nothing that a meta formula could describe: leave it out")
    from opwright_core import rules

    with _generator():
        from opwright_codegen.declared.meta_formula import bind_meta
        from opwright_codegen.errors import SchemaError, SchemaErrors
        from opwright_codegen.output.render import render_meta
        from opwright_codegen.targets.kernels.meta_formula import FUNCTION

        try:
            bound = bind_meta(schema, text)
        except SchemaError as error:
            problems = error.errors if isinstance(error, SchemaErrors) else (error,)
            shown = "\n\n".join(map(str, problems))
            raise RegistrationError(f"{name}: the meta formula cannot be used\n{shown}") from None
        source = render_meta(bound)
    known = {"builtins": builtins, "dtypes": dtypes, "math": math, "rules": rules, "__name__": __name__}
    plans = _execute(source, f"<meta formula of {name}>", known)[FUNCTION]
    calls = tuple([None if call is None else _call(call) for call in bound.calls])
    of = bound.family
    family = None if of is None else (of.name, of.arguments, of.keywords)
    return MetaFormula(text, calls, bound.operands, bound.is_list, plans, family)


def cost_formula(name: str, declaration: str, text: str, meta: str) -> str:
    """Return what calls of an operator cost, over its arguments. Raises RegistrationError with the position in the
    text. `meta`, a signature of `gufunc`, may name dimensions."""
    schema = parse(f"{name}{declaration}")
    with _generator():
        from opwright_codegen.declared.parts import Operator
        from opwright_codegen.errors import SchemaError
        from opwright_codegen.kernel_choices.costs import cost_text
        from opwright_codegen.source import Source, Text

        said, known = (Text(each, Source(f"<cost of {name}>", each).whole()) for each in (text, meta))
        try:
            return cost_text(Operator(schema, said.span, meta=known if meta else None, cost=said))
        except SchemaError as error:
            raise RegistrationError(f"{name}: the cost cannot be used\n{error}") from None


def dimensions(name: str, declaration: str, text: str) -> tuple[str, str, Sequence[Sequence[int]]]:
    """Return the rule of `dims` or the reason that it says, and the groups of tensors that it is linear in, of an
    operator that returns its results. Raises RegistrationError with the position in the text."""
    schema = parse(f"{name}{declaration}")
    with _generator():
        from opwright_codegen.errors import SchemaError
        from opwright_codegen.kernel_choices.shardings import linear_groups, written_sharding
        from opwright_codegen.read.dims import parse_dims
        from opwright_codegen.schema.model import SchemaKind
        from opwright_codegen.source import Source, Text

        if schema.kind is not SchemaKind.FUNCTIONAL:
            raise RegistrationError(f"{name} writes to its arguments: say dims= of the operator that returns")
        try:
            dims = parse_dims(Text(text, Source(f"<dims of {name}>", text).whole()))
            if dims.family or dims.cut_by or dims.batched_by or dims.is_batched:
                message = "a family, 'batched' and 'cut by' are for schema files"
                hint = "name the dimensions; register_vmap registers a batching rule"
                raise SchemaError("dims-form", message, dims.text.span, hint)
            found = written_sharding(schema, dims)
            return found.rule, found.whole, linear_groups(schema, dims)
        except SchemaError as error:
            raise RegistrationError(f"{name}: {error}") from None


def _call(found: BoundCall) -> RuleCall:
    positional, *named = (
        tuple([Expression(each.text, each.argument) for each in values])
        for values in (found.positional, [value for _, value in found.keywords])
    )
    return RuleCall(found.rule, positional, tuple(zip([word for word, _ in found.keywords], *named, strict=True)))
