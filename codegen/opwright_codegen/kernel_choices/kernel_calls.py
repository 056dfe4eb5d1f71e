"""Checks of kernels: each can be called as its operator calls it and gives as many results; views are views."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from opwright_codegen.errors import SchemaError
from opwright_codegen.formula.ast import (
    Attribute,
    Call,
    Constant,
    Formula,
    Kind,
    List,
    Name,
    Reference,
    Tuple,
    rewrite,
    walk,
)
from opwright_codegen.formula.resolve import BUILTINS, DTYPES
from opwright_codegen.formula.ufuncs import UFUNCS
from opwright_codegen.kernels.modules import KernelModules
from opwright_codegen.kernels.source_functions import KernelFunction
from opwright_codegen.read.model import Operator
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.source import Span
from opwright_codegen.views.annotations import Tensors, tensors_in

__all__ = [
    "called_kernels", "check_inline_results", "check_kernel_call", "check_plans", "check_ufuncs", "check_view",
    "operand_problems", "path_of", "with_kernels",
]  # fmt: skip


def check_kernel_call(function: KernelFunction, operator: Operator, is_composite: bool, span: Span) -> None:
    """Raise SchemaError unless the function takes the operator's arguments by position, after `xp` if it has that."""
    outs = operator.schema.out_arguments if operator.meta is not None and not is_composite else ()
    arguments = [argument.name for argument in operator.schema.arguments if argument not in outs]
    positional = list(function.positional)
    if function.takes_xp and not is_composite:
        del positional[0]
    if operator.meta is not None and not is_composite and "out" not in arguments:
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


def called_kernels(formula: Formula, kernels: KernelModules, span: Span) -> dict[str, KernelFunction]:
    """Return the functions of the kernel modules that an expression calls by name."""
    names = {node.function.name for node in walk(formula) if isinstance(node, Call) and isinstance(node.function, Name)}
    found = {name: kernels.find(name, span) for name in sorted(names.difference(BUILTINS, DTYPES))}
    return {name: function for name, function in found.items() if function is not None}


def path_of(function: KernelFunction) -> str:
    """Return the path of a function, by which expressions refer to it."""
    return f"{function.module}:{function.name}"


def with_kernels(formula: Formula, called: Mapping[str, KernelFunction], schema: FunctionSchema, span: Span) -> Formula:
    """Return the expression with the functions that it calls by their paths, each given the array module where it
    takes that. Raises SchemaError for another number of arguments than a function takes."""

    def change(part: Formula) -> Formula | None:
        match part:
            case Call(Reference(Kind.FUNCTION, name), arguments, keywords) if name in called:
                function = called[name]
                _check_given(function, part, schema, span)
                module = (Reference(Kind.MODULE, "xp"),) if function.takes_xp else ()
                inner = (with_kernels(each, called, schema, span) for each in arguments)
                named = tuple((word, with_kernels(each, called, schema, span)) for word, each in keywords)
                return Call(Reference(Kind.FUNCTION, path_of(function)), (*module, *inner), named)
        return None

    return rewrite(formula, change) if called else formula


def _check_given(function: KernelFunction, call: Call, schema: FunctionSchema, span: Span) -> None:
    """Raise SchemaError unless an expression gives a function the arguments that it takes, the result aside."""
    takes = [each for each in function.signature if each.name not in ("xp", "out")]
    positional = [each.name for each in takes if not each.is_keyword]
    given = {*positional[: len(call.arguments)], *(name for name, _ in call.keywords)}
    is_known = function.takes_keywords or given <= {each.name for each in takes}
    has_room = function.vararg is not None or len(call.arguments) <= len(positional)
    if not has_room or not is_known or any(each.is_required and each.name not in given for each in takes):
        message = f"{schema.name}: {function.name}() takes other arguments than it is given"
        hint = f"it takes: {', '.join(each.name for each in takes)}"
        raise SchemaError("kernel-arguments", message, call.span or span, hint)


def check_inline_results(formula: Formula, schema: FunctionSchema, span: Span) -> None:
    """Raise SchemaError for a tuple of expressions that is none of as many results."""
    if not isinstance(formula, Tuple) or any(r.type.is_list_like for r in schema.returns):
        return
    results = max(len(schema.returns), 1)
    if len(formula.items) != results:
        message = f"{schema.name} has {results} result{'s' if results > 1 else ''}, and {len(formula.items)} are given"
        raise SchemaError("kernel-count", message, formula.span or span, "an expression for each result")


_UFUNC_KEYWORDS = frozenset(("out", "where", "dtype", "casting", "order", "subok"))
_MATMUL_KEYWORDS = _UFUNC_KEYWORDS.union(("axes", "axis", "keepdims"))


def check_ufuncs(formula: Formula, schema: FunctionSchema, span: Span) -> None:
    """Raise SchemaError for a ufunc that is called with another number of operands, words, or keywords it has not."""
    for node in walk(formula):
        if not (
            isinstance(node, Call)
            and isinstance(node.function, Attribute)
            and isinstance(node.function.value, Reference)
            and node.function.value.kind is Kind.MODULE
            and node.function.name in UFUNCS
        ):
            continue
        name, at = node.function.name, node.span or span
        count, given = UFUNCS[name], len(node.arguments)
        if given != count:
            message = f"{schema.name}: xp.{name}() takes {count} operand{'s' * (count > 1)}, and {given} are given"
            raise SchemaError("kernel-arguments", message, at, "write the result with out=" if given > count else None)
        for keyword, value in node.keywords:
            known = _MATMUL_KEYWORDS if name == "matmul" else _UFUNC_KEYWORDS
            if keyword not in known:
                message = f"{schema.name}: xp.{name}() has no parameter {keyword!r}"
                raise SchemaError(
                    "kernel-arguments", message, value.span or at, f"it takes: {', '.join(sorted(known))}"
                )
        for argument in node.arguments:
            noun = _no_array(argument, schema)
            if noun:
                message = f"{schema.name}: xp.{name}() takes arrays and numbers, and {noun}"
                raise SchemaError("kernel-arguments", message, argument.span or at)


def _no_array(value: Formula, schema: FunctionSchema) -> str:
    """Return what a formula is that is surely neither an array nor a number; "" where it may be one."""
    match value:
        case Constant(None):
            return "this is None"
        case Constant(str()):
            return f"{value.value!r} is a str"
        case Reference(Kind.ARGUMENT, name):
            declared = next((str(a.type) for a in schema.arguments if a.name == name), "")
            return f"{name!r} is declared {declared}" if declared in ("str", "str?") else ""
        case _:
            return ""


def check_plans(rules: Sequence[KernelFunction], operator: Operator, span: Span) -> None:
    """Raise SchemaError where a rule says that it gives one plan and several are needed, or the other way round.

    An annotation that leaves it open says nothing: what the rule gives is then held against the schema when it runs.
    """
    returns = operator.schema.returns or operator.schema.mutated_arguments
    is_list = len(returns) == 1 and returns[0].type.is_list_like
    wants_one = not is_list and len(rules) == len(returns)
    for rule in rules if returns else ():
        given = _plans_given(rule.returns)
        if given is None or (given == 1 and wants_one) or (not wants_one and given == _MANY):
            continue
        if not wants_one and given > 1 and (is_list or given == len(returns)):
            continue
        shown = {1: "one plan", 0: rule.returns, _MANY: "any number of plans"}.get(given, f"{given} plans")
        wanted = "one plan for each formula" if wants_one else f"a plan for each of its {len(returns)} results"
        message = f"{operator.schema.name}: {rule.name}() gives {shown}, and {wanted} is needed"
        hint = "one formula for each output" if given else f"a rule returns a Plan: def {rule.name}(…) -> Plan"
        raise SchemaError("meta-count", message, span, hint)


_MANY = -1  # as many plans as it likes: a list, or `tuple[Plan, ...]`
_NO_PLANS = frozenset(  # words of annotations of what is surely no plan
    ("None", "Sequence", "Shape", "Tensor", "bool", "bytes", "complex", "dict", "float", "int", "list", "ndarray")
).union(("np", "numpy", "set", "str", "tuple"))


def _plans_given(annotation: str) -> int | None:
    """Return how many plans an annotation promises: 0 for something else, _MANY for any number, None where it leaves
    that open."""
    if annotation == "Plan":
        return 1
    inner = re.fullmatch(r"(\w+)\[((?:Plan|\.\.\.)(?:, (?:Plan|\.\.\.))*)\]", annotation)
    if inner is not None:
        plans = inner[2].split(", ")
        return len(plans) if inner[1] == "tuple" and "..." not in plans and len(plans) > 1 else _MANY
    return 0 if annotation and set(re.findall(r"\w+", annotation)) <= _NO_PLANS else None


def _alias_of_none(schema: FunctionSchema) -> str:
    """Return an alias set of a result that no argument is in, nor may come to be in; "" if there is none."""
    known = {
        name for argument in schema.arguments for each in argument.annotations for name in each.before + each.after
    }
    sets = [name for result in schema.returns for each in result.annotations for name in each.before]
    return "" if "*" in known else next((name for name in sets if name not in known and name != "*"), "")


def check_view(operator: Operator, says_view: bool, span: Span) -> None:
    """Raise SchemaError where `meta` says view and no result is annotated as one, or a view is annotated and denied."""
    name = operator.schema.name
    if says_view == operator.schema.is_view:
        stray = _alias_of_none(operator.schema) if says_view else ""
        if stray:
            message = f"{name}: a result is marked ({stray}), and no argument is"
            raise SchemaError(
                "meta-view", message, span, "mark the argument whose memory it is: Tensor(a) and -> Tensor(a)"
            )
        return
    if says_view:
        message = f"{name}: 'meta: view' says that results share memory, and the schema says of none whose"
        raise SchemaError("meta-view", message, span, "write Tensor(a) self and -> Tensor(a)")
    message = f"{name}: the schema says that a result is a view, and 'meta' that it is new"
    raise SchemaError("meta-view", message, span, "write meta: view, or leave the annotations out")


def _no_operand(value: Formula, schema: FunctionSchema, no_numbers: bool) -> str:
    """Tell what a rule's operand is that is surely no tensor; None may stand for one that is left out, and a number for
    one where `no_numbers` is false."""
    match value:
        case List():
            return "this is a list"
        case Attribute(_, "shape" | "dtype" | "device" as name):
            return f".{name} is none"
        case Constant(int() | float() as number) if no_numbers:
            return f"{number!r} is a number"
        case Reference(Kind.ARGUMENT, name):
            declared = next((a.type for a in schema.arguments if a.name == name), None)
            is_other = declared is not None and not declared.is_tensor_like and (declared.is_list_like or no_numbers)
            return f"{name!r} is declared {declared}" if is_other else _no_array(value, schema)
        case Constant(None):
            return ""
        case _:
            return _no_array(value, schema)


_ONE_BY_ONE = ("Any", "Array", "Operand", "Any | None")


def operand_problems(call: Call, rule: KernelFunction, schema: FunctionSchema, span: Span) -> Iterator[SchemaError]:
    """Yield an error for lists of tensors where a rule takes them one by one, and tensors where it takes a list."""
    types = {argument.name: argument.type for argument in schema.arguments}
    operands = [p.annotation for p in rule.positional if p.annotation in _ONE_BY_ONE]
    has_core = any(p.annotation == "CoreDimensions" for p in rule.positional)
    no_numbers = has_core or (len(operands) == 1 and rule.vararg is None)  # a number beside tensors is cast to them
    for position, argument in enumerate(call.arguments):
        parameter = rule.positional[position] if position < len(rule.positional) else None
        takes = parameter.annotation if parameter is not None else "Any"
        noun = _no_operand(argument, schema, no_numbers) if takes in _ONE_BY_ONE else ""
        if noun:
            message = f"{rule.name}() takes tensors one by one, and {noun}"
            yield SchemaError("rule-operands", message, argument.span or span, "name an argument that is a Tensor")
        if not isinstance(argument, Reference) or argument.kind is not Kind.ARGUMENT:
            continue
        held = tensors_in(types[argument.name])
        is_list = held in (Tensors.LIST, Tensors.OPTIONAL_LIST, Tensors.LIST_OF_OPTIONAL)
        if is_list and takes in _ONE_BY_ONE:
            message = f"{rule.name}() takes tensors one by one, and {argument.name!r} is a {types[argument.name]}"
            yield SchemaError("rule-operands", message, argument.span or span, f"as in {argument.name}[0]")
        elif held in (Tensors.ONE, Tensors.OPTIONAL) and takes.startswith(
            ("Sequence[Any", "Sequence[Array", "list[Any", "list[Array")
        ):
            message = f"{rule.name}() takes a list of tensors, and {argument.name!r} is one"
            yield SchemaError("rule-operands", message, argument.span or span, f"as in [{argument.name}]")
