"""Whether a kernel can be called as its operator calls it, and gives as many results; whether views are views."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opwright_codegen.annotations import Tensors, tensors_in
from opwright_codegen.errors import SchemaError
from opwright_codegen.formula_ast import Call, Formula, Kind, Reference, Tuple
from opwright_codegen.kernel_modules import KernelFunction
from opwright_codegen.model import Operator
from opwright_codegen.schema import FunctionSchema
from opwright_codegen.source import Span

__all__ = ["check_inline_results", "check_kernel_call", "check_plans", "check_view", "operand_problems"]


def check_kernel_call(function: KernelFunction, operator: Operator, is_composite: bool, span: Span) -> None:
    """Raise SchemaError unless the function takes the operator's arguments by position, after `xp` if it has that."""
    outs = operator.schema.out_arguments if operator.meta is not None and not is_composite else ()
    arguments = [argument.name for argument in operator.schema.arguments if argument not in outs]
    positional = list(function.positional)
    if function.takes_xp and not is_composite:
        del positional[0]
    if operator.meta is not None and not is_composite:
        positional = [parameter for parameter in positional if parameter.name != "out"]
    needed = [p.name for p in function.signature if p.is_keyword and p.is_required and p.name != "out"]
    required = sum(parameter.is_required for parameter in positional)
    most = None if function.vararg is not None else len(positional)
    shown = f"{function.module}.{function.name}({', '.join(p.name for p in positional)})"
    hint = f"it gets: {', '.join(arguments) or 'nothing'}"
    if required > len(arguments) or (most is not None and most < len(arguments)):
        message = f"{operator.schema.name}: {shown} takes another number of arguments than the {len(arguments)} passed"
        raise SchemaError("kernel-arguments", message, span, hint)
    if needed:
        message = f"{operator.schema.name}: {function.name} needs {', '.join(needed)} by name, and all go by position"
        raise SchemaError("kernel-arguments", message, span, hint)
    names = [parameter.name for parameter in positional[: len(arguments)]]
    if names != arguments and sorted(names) == sorted(arguments):
        message = f"{operator.schema.name}: {shown} takes the arguments in another order"
        raise SchemaError("kernel-arguments", message, span, hint)


def check_inline_results(formula: Formula, schema: FunctionSchema, span: Span) -> None:
    """Raise SchemaError for a tuple of expressions that is none of as many results."""
    if not isinstance(formula, Tuple) or any(r.type.is_list_like for r in schema.returns):
        return
    results = max(len(schema.returns), 1)
    if len(formula.items) != results:
        message = f"{schema.name} has {results} result{'s' if results > 1 else ''}, and {len(formula.items)} are given"
        raise SchemaError("result-count", message, formula.span or span, "an expression for each result")


def check_plans(rules: Sequence[KernelFunction], operator: Operator, span: Span) -> None:
    """Raise SchemaError where a rule says that it gives one plan and several are needed, or the other way round."""
    returns = operator.schema.returns or operator.schema.mutated_arguments
    is_list = len(returns) == 1 and returns[0].type.is_list_like
    for rule in rules:
        if not rule.returns:
            continue
        given_count = (
            rule.returns.count("Plan") if rule.returns.startswith("tuple[") and "..." not in rule.returns else 0
        )
        gives_one = rule.returns.strip("'\"") == "Plan"
        wants_one = not is_list and len(rules) == len(returns)
        is_other = given_count > 1 and not is_list and given_count != len(returns)
        if (gives_one != wants_one or is_other) and len(returns) > 0:
            given = "one plan" if gives_one else f"{given_count} plans" if given_count else rule.returns
            wanted = "one plan for each formula" if wants_one else f"a plan for each of its {len(returns)} results"
            message = f"{operator.schema.name}: {rule.name}() gives {given}, and {wanted} is needed"
            raise SchemaError("meta-count", message, span, "one formula for each output")


def check_view(operator: Operator, says_view: bool, span: Span) -> None:
    """Raise SchemaError where `meta` says view and no result is annotated as one, or a view is annotated and denied."""
    if says_view == operator.schema.is_view:
        return
    name = operator.schema.name
    if says_view:
        message = f"{name}: 'meta: view' says that results share memory, and the schema says of none whose"
        raise SchemaError("meta-view", message, span, "write Tensor(a) self and -> Tensor(a)")
    message = f"{name}: the schema says that a result is a view, and 'meta' that it is new"
    raise SchemaError("meta-view", message, span, "write meta: view, or leave the annotations out")


def operand_problems(call: Call, rule: KernelFunction, schema: FunctionSchema, span: Span) -> Iterator[SchemaError]:
    """Lists of tensors where a rule takes tensors one by one, and tensors where it takes a list."""
    types = {argument.name: argument.type for argument in schema.arguments}
    for place, argument in enumerate(call.arguments):
        if not isinstance(argument, Reference) or argument.kind is not Kind.ARGUMENT:
            continue
        parameter = rule.positional[place] if place < len(rule.positional) else None
        takes = parameter.annotation if parameter is not None else "Any"
        held = tensors_in(types[argument.name])
        is_list = held in (Tensors.LIST, Tensors.OPTIONAL_LIST, Tensors.LIST_OF_OPTIONAL)
        if is_list and takes in ("Any", "Array", "Operand", "Any | None"):
            message = f"{rule.name}() takes tensors one by one, and {argument.name!r} is a {types[argument.name]}"
            yield SchemaError("rule-operands", message, argument.span or span, f"as in {argument.name}[0]")
        elif held is Tensors.ONE and takes.startswith(("Sequence[Any", "Sequence[Array", "list[Any", "list[Array")):
            message = f"{rule.name}() takes a list of tensors, and {argument.name!r} is one"
            yield SchemaError("rule-operands", message, argument.span or span, f"as in [{argument.name}]")
