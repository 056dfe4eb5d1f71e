"""Variants that no entry declares: `autogen` names them, this makes them.

Note [Two kinds of made variants] An entry without `meta` is handled as torchgen handles it: the variant is an operator
of its own, with a composite kernel that calls the variant it was made from (`VariantOf` in `bindings`). An entry with
`meta` says all that its variants need: they share its kernels and its formula (`base_name`), so that `add.out` and
`add_` cost what `add` costs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from opwright_codegen.errors import Errors, SchemaError
from opwright_codegen.read.docs import in_place_doc
from opwright_codegen.read.model import Kernel, Operator, OperatorGroup
from opwright_codegen.read.variants import (
    inplace_names,
    inplace_problem,
    inplace_schema,
    local_name,
    out_names,
    out_problem,
    out_schema,
)
from opwright_codegen.records import replace
from opwright_codegen.schema.model import FunctionSchema, SchemaKind
from opwright_codegen.schema.names import COMPOSITE_KEYS, PYTORCHS, STRUCTURED_KEYS, default_kernel_name
from opwright_codegen.source import Span

__all__ = ["add_variants", "inherit_kernels"]

_Make = Callable[[Operator, FunctionSchema], Operator]


def inherit_kernels(operators: Mapping[str, Operator]) -> dict[str, Operator]:
    """Give operators with `structured_delegate` the kernels of the out variant that they delegate to."""
    return {
        name: operator if operator.structured_delegate is None else _inherit(operator, operators)
        for name, operator in operators.items()
    }


def _inherit(operator: Operator, operators: Mapping[str, Operator]) -> Operator:
    out = operators[f"{operator.namespace}::{operator.structured_delegate}"]
    own = {key for key, _ in operator.dispatch}
    # With `meta` on it, the out variant handles its group under any key; torchgen has structured kernels for some.
    inherited = tuple(
        (key, kernel)
        for key, kernel in out.dispatch
        if key not in own and (key in STRUCTURED_KEYS or (out.meta is not None and key not in COMPOSITE_KEYS))
    )
    return replace(operator, dispatch=operator.dispatch + inherited, base_name=out.name)


def add_variants(group: OperatorGroup, errors: Errors) -> OperatorGroup:
    """Return the group with the variants that its entries' `autogen` names. A name that cannot be made is an error."""
    functional = group.functional
    is_alone = len(group.members) == 1 or (functional is None and group.members[0].namespace != PYTORCHS)
    if is_alone and not any(operator.autogen for operator in group.members):
        return group
    if functional is not None and functional.serves is not None:
        return group  # a former version, with the variants that it had
    if functional is not None and functional.meta is not None:
        return _add_named(group, functional, _sharing, errors)
    if _is_bypassed(group):
        return group
    if functional is not None and group.mutable is None and group.inplace is None:
        return _add_named(group, functional, _composite, errors)
    return _add_composite(group, errors)


# -- torchgen's way


def _add_composite(group: OperatorGroup, errors: Errors) -> OperatorGroup:
    """Add the variants of a group that none but torchgen's names fit: what is not functional says what is written."""
    named = {name: operator for operator in group.members for name in operator.autogen}
    base = group.mutable or group.inplace or group.out or group.functional
    assert base is not None  # a group has members
    group = _complete(group, base)
    made = [local_name(operator.schema.name) for operator in group.members if operator.generated]
    wrong = [_not_made(operator, name, made, base) for name, operator in named.items() if name not in made]
    for error in wrong:
        errors.add(error)
    missing = [name for name in made if name not in named]
    if missing and not wrong:
        message = f"{base.schema.name}: 'autogen' does not name {' and '.join(missing)}, made from this entry too"
        errors.add(SchemaError("autogen-missing", message, base.span("autogen"), f"autogen: {', '.join(made)}"))
    return group


def _is_bypassed(group: OperatorGroup) -> bool:
    """Whether torchgen makes no variants, named or not: of views, of operators that decompose or are bound by hand.

    Those that decompose by a `dispatch` of theirs have variants here: PyTorch's file has none such.
    """
    members = group.members
    if all(operator.manual_cpp_binding for operator in members):
        return True
    if any(operator.is_view_like and operator.schema.name.base != "set_" for operator in members):
        return True
    implicit = all(operator.kernel("CompositeImplicitAutograd") is not None for operator in members)
    return implicit and not any("core" in operator.tags or "dispatch" in operator.spans for operator in members)


def _complete(group: OperatorGroup, base: Operator) -> OperatorGroup:
    """Complete the group, made from `base`: the variant that says which arguments are written, if one is."""
    if base is group.out:
        # Alone, an out variant has its functional one under another signature. Else that is in the group already.
        return group
    if group.out is not None and group.out.structured:
        return group  # whose variants are handled by the out kernel, so each of them is declared
    if group.out is None and base.autogen and out_problem(base.schema) is None:
        out = _composite(base, out_schema(base.schema, out_names(base.schema)[0]))
        group = replace(group, out=out)
    lone = group.out is None and base.autogen and base.kind is SchemaKind.MUTABLE  # it returns nothing to write
    if (group.out is not None or lone) and group.functional is None:
        group = replace(group, functional=_composite(base, base.schema.functional_signature()))
    return group


def _composite(base: Operator, schema: FunctionSchema) -> Operator:
    name = local_name(schema.name).replace(".", "_") if schema.kind is SchemaKind.OUT else default_kernel_name(schema)
    outs = base.schema.out_arguments
    if any(str(argument.type.base()) == "SymInt" for argument in base.schema.arguments if argument not in outs):
        name += "_symint"
    return Operator(
        schema,
        base.location,
        variants=base.variants if schema.kind is SchemaKind.INPLACE else ("function",),
        dispatch=(("CompositeExplicitAutograd", Kernel(name, base.location)),),
        doc=base.doc,
        since=base.since,
        deprecated=base.deprecated,
        tags=_made_tags(base, schema),
        device_check="NoCheck",
        device_guard=False,
        use_const_ref_for_mutable_tensors=base.use_const_ref_for_mutable_tensors,
        generated=True,
        spans=base.spans,
    )


# Tags that say something of a made variant too.
IMPLIED_TAGS = frozenset(("pt2_compliant_tag",))
_KEPT_TAGS = frozenset(("nondeterministic_seeded", "view_copy", "pt2_compliant_tag"))


def _made_tags(base: Operator, schema: FunctionSchema) -> frozenset[str]:
    own = {SchemaKind.OUT: "out", SchemaKind.INPLACE: "inplace"}.get(schema.kind)
    given = base.variant_tags.get(local_name(schema.name))
    said = {"generated", *(base.tags & _KEPT_TAGS)} if given is None else {*given, *(base.tags & IMPLIED_TAGS)}
    return frozenset(said | ({own} if own else set()))


def _not_made(operator: Operator, name: str, made: list[str], base: Operator) -> SchemaError:
    problem = out_problem(base.schema)
    if made:
        message, hint = f"'autogen' cannot make {name!r}", f"this operator can have: {', '.join(made)}"
    elif problem is not None:
        message, hint = f"no out variant can be made: {problem}", None
    else:
        message, hint = f"'autogen' cannot make {name!r}", "its group has all variants that can be made"
    return SchemaError("autogen-name", f"{operator.schema.name}: {message}", operator.autogen_span(name), hint)


# -- by the names that `autogen` gives


def _add_named(group: OperatorGroup, functional: Operator, make: _Make, errors: Errors) -> OperatorGroup:
    for name in functional.autogen:
        span = functional.autogen_span(name)
        try:
            group = _put(group, make(functional, _named_schema(functional.schema, name, span)), span)
        except SchemaError as error:
            errors.add(error)
    for operator in group.members:
        for name in operator.autogen if operator is not functional and not operator.generated else ():
            errors.add(_not_made(operator, name, [], functional))
    return group


def _named_schema(schema: FunctionSchema, name: str, span: Span) -> FunctionSchema:
    """Return the schema of the variant called `name`. Raises SchemaError where there is none."""
    inplace = {local_name(allowed): allowed for allowed in inplace_names(schema)}
    outs = {local_name(allowed): allowed for allowed in out_names(schema)}
    if name in inplace:
        problem, kind = inplace_problem(schema), "in-place"
    elif name in outs:
        problem, kind = out_problem(schema), "out"
    else:
        hint = f"this operator can have: {', '.join((*inplace, *outs))}"
        raise SchemaError("autogen-name", f"{schema.name}: 'autogen' cannot make {name!r}", span, hint)
    if problem is not None:
        raise SchemaError("autogen-name", f"{schema.name}: no {kind} variant can be made: {problem}", span)
    return inplace_schema(schema, inplace[name]) if name in inplace else out_schema(schema, outs[name])


def _sharing(functional: Operator, schema: FunctionSchema) -> Operator:
    is_out = schema.kind is SchemaKind.OUT
    return Operator(
        schema,
        functional.location,
        variants=("function",) if is_out else functional.variants,
        dispatch=functional.dispatch,
        doc=functional.doc if is_out else in_place_doc(functional.doc),
        since=functional.since,
        deprecated=functional.deprecated,
        tags=_made_tags(functional, schema),
        python_module=functional.python_module,
        generated=True,
        base_name=functional.name,
        spans=functional.spans,
    )


def _put(group: OperatorGroup, made: Operator, span: Span) -> OperatorGroup:
    is_out = made.kind is SchemaKind.OUT
    there = group.out if is_out else group.inplace
    if there is not None:
        message = f"{made.schema.name} would be the second {made.kind.value} variant of its group"
        raise SchemaError("duplicate-kind", message, span, f"the first is {there.name} at {there.location}")
    return replace(group, out=made) if is_out else replace(group, inplace=made)
