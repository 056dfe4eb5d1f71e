"""Former versions of operators: what `upgrade` says of their calls, held against rules, and overloads that serve them.

Note [Former versions]
Version n of an operator is what its entry said when `upgrade` had n - 1 lines. Line n + 1 writes a call of version n as
one of version n + 1. Lines are put into each other, so that each former version has one call of the present one: a
saved graph is upgraded by it, whatever lies between. Where calls of a former version can be told from those of the
present one, an overload `v1` of that schema serves them, with a warning; its kernel is the call. So do `v1` of the
in-place variant and `out_v1`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from opwright_codegen.errors import Errors, SchemaError
from opwright_codegen.formula.ast import (
    Attribute,
    Binary,
    Boolean,
    Call,
    Comparison,
    Conditional,
    Constant,
    Formula,
    List,
    Name,
    Tuple,
    Unary,
    rewrite,
    walk,
)
from opwright_codegen.formula.emit import emit, safe_name
from opwright_codegen.formula.parser import parse
from opwright_codegen.read.model import Deprecation, Kernel, OldForm, Operator, OperatorGroup, Upgrade
from opwright_codegen.read.values import is_literal_of
from opwright_codegen.read.variants import inplace_names, inplace_schema, local_name, out_names, out_schema
from opwright_codegen.records import replace
from opwright_codegen.schema.defaults import EnumName, Value
from opwright_codegen.schema.model import FunctionSchema, OperatorName, SchemaKind
from opwright_codegen.source import Span

__all__ = ["add_old_forms", "with_old_forms"]

_PARTS = (Name, Constant, Unary, Binary, Boolean, Comparison, Conditional, List, Tuple)
_PARTS_AT_MOST = 1000
_Given = dict[str, Formula]


def add_old_forms(operators: Mapping[str, Operator], errors: Errors) -> dict[str, Operator]:
    """Return the operators with their former versions, and the overloads that serve calls of these, which come last."""
    found = dict(operators)
    for operator in operators.values():
        if operator.upgrade:
            try:
                forms = _forms(operator)
            except SchemaError as error:
                errors.add(error)
                continue
            named = tuple(_with_overload(form, operator, operators) for form in forms)
            found[operator.name] = replace(operator, old_forms=named)
            for form in named:
                if form.overload:
                    found |= {made.name: made for made in _serving(form, operator, operators)}
    return found


def with_old_forms(group: OperatorGroup) -> OperatorGroup:
    """Return the group whose made variants have the former versions of the operator that they were made of: one entry
    says what all of them were."""
    functional = group.functional
    if functional is None or not functional.old_forms:
        return group
    inplace, out = (_of_variant(each, functional) for each in (group.inplace, group.out))
    return replace(group, inplace=inplace, out=out)


def _of_variant(variant: Operator | None, functional: Operator) -> Operator | None:
    if variant is None or not variant.generated:
        return variant
    make = out_schema if variant.kind is SchemaKind.OUT else inplace_schema
    name, forms = variant.schema.name, []
    for form in functional.old_forms:
        schema = make(form.schema, name)
        outs = tuple([(each.name, Name(each.name)) for each in schema.out_arguments])
        overload = "_".join(filter(None, (name.overload, f"v{form.version}"))) if form.overload else ""
        forms.append(OldForm(form.version, schema, form.positional, (*form.keywords, *outs), overload))
    return replace(variant, old_forms=tuple(forms))


def _forms(operator: Operator) -> list[OldForm]:
    """Return the former versions, the oldest first. Raises SchemaError for calls that are none of the next version."""
    present = operator.schema
    upgraded: _Given | None = None  # the call of the version behind, as one of the present one
    later, forms = present, []
    for upgrade in reversed(operator.upgrade):
        call = _call(upgrade, present)
        schema = _old_schema(upgrade, call, later, present)
        given = _bound(call, later, schema, upgrade.call.span)
        upgraded = given if upgraded is None else _put_into(upgraded, given, later)
        if sum(1 for value in upgraded.values() for _ in walk(value)) > _PARTS_AT_MOST:  # a + a, then that twice, …
            message = f"put into the calls of later versions it has more than {_PARTS_AT_MOST:,} parts"
            raise SchemaError("upgrade-call", message, upgrade.call.span, "compute less in each version")
        forms.append(_form(upgrade.version - 1, schema, present, upgraded))
        later = schema
    return forms[::-1]


def _form(version: int, schema: FunctionSchema, present: FunctionSchema, given: _Given) -> OldForm:
    """Return a former version, with its call: arguments that are passed on as they came first, by position."""
    positional: list[Formula] = []
    for argument in present.positional:
        if given.get(argument.name) != Name(argument.name):
            break
        positional.append(given[argument.name])
    names = {argument.name for argument in present.arguments[: len(positional)]}
    keywords = tuple((name, value) for name, value in given.items() if name not in names)
    return OldForm(version, schema, tuple(positional), keywords)


def _call(upgrade: Upgrade, schema: FunctionSchema) -> Call:
    """Return what a line says: one call of the operator, whose arguments are names, literals and arithmetic."""
    span, base = upgrade.call.span, schema.name.base
    formula = parse(upgrade.call)
    hint = f"for example {base}(self), or self.{base}(): names and literals, and arithmetic of these, are passed on"
    match formula:
        case Call(Name(name)) | Call(Attribute(_, name)) if name == base:
            pass
        case _:
            raise SchemaError("upgrade-call", f"one call of {base} is expected", span, hint)
    if isinstance(formula.function, Attribute):
        formula = replace(formula, function=Name(base), arguments=(formula.function.value, *formula.arguments))
    for value in (*formula.arguments, *(value for _, value in formula.keywords)):
        for part in walk(value):
            if not isinstance(part, _PARTS):
                raise SchemaError("upgrade-call", "an argument is computed by more than arithmetic", part.span, hint)
    return formula


def _old_schema(upgrade: Upgrade, call: Call, later: FunctionSchema, present: FunctionSchema) -> FunctionSchema:
    """Return the schema of the version before: as it is said, or as the call has it. An argument that the call passes
    as it came has the type and the default of the one that takes it; what the call says itself, the version had not."""
    if upgrade.old is not None:
        said = FunctionSchema.parse(upgrade.old.text, upgrade.old.span)
        name = OperatorName(present.name.namespace, said.name.base, said.name.overload)
        if said.name.namespace not in ("", name.namespace) or name != present.name:
            hint = "a former version has the operator's own name"
            raise SchemaError("upgrade-from", f"{said.name} is not {present.name}", upgrade.old.span, hint)
        if said.kind is not present.kind or [each.type for each in said.returns] != [
            each.type for each in present.returns
        ]:
            message = f"it returns or writes other than {present}"
            hint = (
                "calls are upgraded, and results are not: leave the operator as it was, and declare another beside it"
            )
            raise SchemaError("upgrade-from", message, upgrade.old.span, hint)
        return replace(said, name=name)
    arguments = []
    given = _bound(call, later, None, upgrade.call.span)
    for argument in later.arguments:
        value = given.get(argument.name, Name(argument.name))
        match value:
            case Name():
                arguments.append(replace(argument, name=value.name))
            case Constant():
                pass
            case _:
                message = f"what the argument '{argument.name}' was before does not follow from {emit(value)!r}"
                hint = "say the schema of the version before: {from: 'NAME(…) -> …', call: …}"
                raise SchemaError("upgrade-from", message, value.span or upgrade.call.span, hint)
    return replace(later, arguments=tuple(arguments), text=None, span=None)


def _bound(call: Call, later: FunctionSchema, old: FunctionSchema | None, span: Span) -> _Given:
    """Return what a call passes for each argument of the version that it is of; with `old`, arguments that it does not
    mention are passed on under their name. Raises SchemaError for what is no such call."""
    names = [argument.name for argument in later.arguments]
    if len(call.arguments) > len(later.positional):
        message = (
            f"{later.name} takes {len(later.positional)} arguments by position, and {len(call.arguments)} are given"
        )
        raise SchemaError("upgrade-call", message, span)
    given = dict(zip(names, call.arguments, strict=False))
    for keyword, value in call.keywords:
        name = next((each for each in names if keyword in (each, safe_name(each))), None)
        if name is None or name in given:
            what = "has no argument" if name is None else "is given twice the argument"
            raise SchemaError("upgrade-call", f"{later.name} {what} {keyword!r}", value.span or span, f"it is {later}")
        given[name] = value
    if old is None:
        return given
    own = {argument.name for argument in old.arguments}
    given = {name: given[name] if name in given else Name(name) for name in names if name in given or name in own}
    for value in given.values():
        for part in walk(value):
            if isinstance(part, Name) and part.name not in own:
                hint = f"the version before is {old}"
                raise SchemaError("upgrade-call", f"{part.name!r} is no argument of it", part.span or span, hint)
    for argument in later.arguments:
        passed = given.get(argument.name)
        if isinstance(passed, Constant) and not is_literal_of(passed, argument.type):
            message = f"{emit(passed)} is no value of '{argument.name}', which is declared {argument.type}"
            raise SchemaError("upgrade-call", message, passed.span or span, f"it is {later}")
        if passed is None and argument.default is None:
            raise SchemaError("upgrade-call", f"the call gives nothing for '{argument.name}'", span, f"it is {later}")
    return given


def _put_into(upgraded: _Given, given: _Given, between: FunctionSchema) -> _Given:
    """Return a call of the present version, with what the version between was given in place of its arguments."""
    defaults = {each.name: _constant(each.default.value) for each in between.arguments if each.default is not None}

    def change(part: Formula) -> Formula | None:
        return (given.get(part.name) or defaults.get(part.name)) if isinstance(part, Name) else None

    return {name: rewrite(value, change) for name, value in upgraded.items()}


def _constant(value: Value) -> Formula:
    """Return a default as formulas write it; a name, as a text."""
    if isinstance(value, tuple):
        return List(tuple(map(_constant, value)))
    return Constant(str(value) if isinstance(value, EnumName) else value)


# -- the overloads that serve calls


def _with_overload(form: OldForm, operator: Operator, operators: Mapping[str, Operator]) -> OldForm:
    if not _can_be_told(form.schema, operator.schema):
        return form
    own = operator.schema.name
    overload = "_".join(filter(None, (own.overload, f"v{form.version}")))
    if str(replace(own, overload=overload)) in operators:
        message = f"{own} needs the name {own.base}.{overload} for calls of its version {form.version}"
        raise SchemaError(
            "duplicate-operator", message, operator.span("upgrade"), "give the other overload another name"
        )
    return replace(form, overload=overload)


def _can_be_told(old: FunctionSchema, new: FunctionSchema) -> bool:
    """Whether a call may say that it is of the former version: by the name of an argument, or by a type."""
    present = set(_kinds(new))
    return any(kind not in present for kind in _kinds(old))


def _kinds(schema: FunctionSchema) -> Iterator[tuple[str, str, bool]]:
    yield from ((each.name, str(each.type), each.kwarg_only) for each in schema.arguments)


def _serving(form: OldForm, operator: Operator, operators: Mapping[str, Operator]) -> Iterator[Operator]:
    """Yield the overload that serves calls of a former version, and its variants where the operator has them."""
    base = operator.schema.name
    schema = replace(form.schema, name=replace(base, overload=form.overload), text=None, span=None)
    yield _forwarding(schema, base, form, operator)
    if operator.kind is not SchemaKind.FUNCTIONAL:
        return
    there = {*operator.autogen, *(local_name(each.schema.name) for each in operators.values())}
    inplace, out = inplace_names(operator.schema), out_names(operator.schema)
    for names, make in ((inplace, inplace_schema), (out, out_schema)):
        name = next((each for each in names if local_name(each) in there), None)
        declared = None if name is None else operators.get(str(replace(name, namespace=base.namespace)))
        if name is not None and (declared is None or not declared.upgrade):  # what says its own is served by that
            overload = "_".join(filter(None, (name.overload, f"v{form.version}")))
            yield _forwarding(make(schema, replace(name, overload=overload)), name, form, operator)


def _forwarding(schema: FunctionSchema, present: OperatorName, form: OldForm, operator: Operator) -> Operator:
    """Return an operator whose kernel is the call of the present one."""
    keywords = [f"{name}={emit(value)}" for name, value in form.keywords]
    passed = {name for name, _ in form.keywords}
    keywords += [f"{each.name}={each.name}" for each in schema.out_arguments if each.name not in passed]
    text = f"{present.base}({', '.join([*map(emit, form.positional), *keywords])})"
    span = operator.span("upgrade")
    told = f"a call of version {form.version} of {present}, which is written {text} now"
    return Operator(
        schema,
        operator.location,
        variants=("function",) if schema.kind is SchemaKind.OUT else operator.variants,
        dispatch=(("CompositeImplicitAutograd", Kernel(text, span)),),
        doc=operator.doc,
        since=operator.since,
        deprecated=Deprecation(message=told),
        tags=frozenset(("generated", *(operator.tags & {"pt2_compliant_tag"}))),
        python_module=operator.python_module,
        generated=True,
        serves=operator.name,
        spans=operator.spans,
    )
