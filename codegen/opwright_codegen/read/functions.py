"""The key `functions`: Python functions that call the operator under other names; its reader and its rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from opwright_codegen.documents.nodes import node_span, read_scalar, text_span, wrong_type
from opwright_codegen.documents.yaml_reader import MappingNode, Node, ScalarNode
from opwright_codegen.errors import SchemaError
from opwright_codegen.formula.ast import Attribute, Call, Constant, Formula, Name
from opwright_codegen.formula.emit import emit
from opwright_codegen.formula.parser import parse
from opwright_codegen.read.model import Operator, PythonFunction
from opwright_codegen.read.rule import Declared, Problem, Rule
from opwright_codegen.read.values import is_literal_of, read_doc
from opwright_codegen.schema.model import Argument
from opwright_codegen.schema.types import BaseType, OptionalType, Type
from opwright_codegen.source import Source, Span, Text

__all__ = ["FUNCTION_RULES", "OTHER_OPERATORS", "REDUCTION", "REDUCTION_FLAGS", "TAKEN", "read_functions"]

# Parameters that choose another operator when they are true, and the ending of its name.
OTHER_OPERATORS: Final = {"inplace": "_", "return_indices": "_with_indices"}
REDUCTION: Final = "reduction"  # an int of the operator, a name for callers
REDUCTION_FLAGS: Final = ("size_average", "reduce")  # PyTorch's deprecated form of `reduction`
_BOOL: Final = BaseType("bool")
_OTHER_TYPES: Final[Mapping[str, Type]] = {
    **dict.fromkeys(OTHER_OPERATORS, _BOOL),
    **dict.fromkeys(REDUCTION_FLAGS, OptionalType(_BOOL)),
}
TAKEN: Final = ("A", "Tensor", "annotations", "ops", "reduction_number")  # names that the modules use themselves
_EXAMPLE: Final = "write 'nn.soft', or 'nn.soft(x, limit=0.5): The docstring.'"


def read_functions(node: Node, source: Source) -> tuple[PythonFunction, ...]:
    """Read a name such as `nn.soft`, or a mapping from names and signatures to docstrings."""
    if type(node) is ScalarNode:
        return (_function(read_scalar(node, source), None, source),)
    if type(node) is not MappingNode:
        raise wrong_type("a name or a mapping", node, source, _EXAMPLE)
    return tuple([_function(key, value, source) for key, value in node.pairs.values()])


def _function(key: ScalarNode, value: Node | None, source: Source) -> PythonFunction:
    span = text_span(key, source)
    formula = parse(Text(key.text, span))
    call = formula if isinstance(formula, Call) else None
    match call.function if call is not None else formula:
        case Attribute(Name(module), name) if name not in TAKEN:
            pass
        case _:
            raise _malformed("a function of a module is expected", span, _EXAMPLE)
    is_empty = value is None or (type(value) is ScalarNode and value.plain and not value.text)
    if call is not None:
        doc = "" if value is None or is_empty else read_doc(value, source)
        return PythonFunction(module, name, span, _parameters(call, span), doc)
    if value is not None and not is_empty:
        hint = "leave the docstring out, or add parameters"
        raise _malformed(f"{module}.{name} has the docstring of the operator", node_span(value, source), hint)
    return PythonFunction(module, name, span)


def _parameters(call: Call, span: Span) -> tuple[tuple[str, Formula | None], ...]:
    found: dict[str, Formula | None] = {}
    for argument in call.arguments:
        if not isinstance(argument, Name):
            raise _malformed("the name of a parameter is expected", argument.span or span)
        if argument.name in found:
            raise _malformed(f"two parameters are named {argument.name!r}", argument.span or span)
        found[argument.name] = None
    for name, default in call.keywords:
        if name in found:
            raise _malformed(f"two parameters are named {name!r}", default.span or span)
        found[name] = default
    return tuple(found.items())


def _malformed(message: str, span: Span, hint: str | None = None) -> SchemaError:
    return SchemaError("function-signature", message, span, hint)


def _known_parameters(operator: Operator, declared: Declared) -> Problem | None:
    """Return the first problem of a function's parameters."""
    return next((problem for each in operator.functions for problem in _problems(operator, each, declared)), None)


def _problems(operator: Operator, function: PythonFunction, declared: Declared) -> Iterator[Problem]:
    if function.parameters is None:
        return
    given = {name for name, _ in function.parameters}
    own = {"input" if each.name == "self" not in given else each.name: each for each in operator.schema.arguments}
    for name, default in function.parameters:
        argument = own.get(name)
        if name in TAKEN or (argument is None and not _is_other(operator, name, declared)):
            hint = f"{operator.schema.name.base} has {', '.join(own)}"
            yield Problem(f"{function.name} has an unknown parameter {name!r}", function.span, hint)
        elif not _fits(name, default, argument):
            shown = "no default" if default is None else f"the default {emit(default)}"
            yield Problem(f"the parameter {name!r} of {function.name} cannot have {shown}", function.span)
    for name, argument in own.items():
        if argument.default is None and name not in given:
            yield Problem(f"{function.name} lacks the parameter {name!r}, which has no default", function.span)


def _is_other(operator: Operator, name: str, declared: Declared) -> bool:
    """Return whether a function of the operator may have a parameter that the operator lacks."""
    if name in REDUCTION_FLAGS:
        return any(argument.name == REDUCTION for argument in operator.schema.arguments)
    ending = OTHER_OPERATORS.get(name)
    return ending is not None and (
        operator.schema.name.base.endswith(ending) or _has_operator(operator, ending, declared)
    )


def _fits(name: str, default: Formula | None, argument: Argument | None) -> bool:
    if argument is None:
        return default is not None and is_literal_of(default, _OTHER_TYPES[name])
    if default is None:
        return True
    if isinstance(default, Constant) and default.value is None:  # it stands for the operator's default
        return argument.type.is_optional or argument.default is not None
    if name == REDUCTION and argument.type == BaseType("int"):
        return isinstance(default, Constant) and default.value in ("none", "mean", "sum")
    return is_literal_of(default, argument.type)


def _has_operator(operator: Operator, ending: str, declared: Declared) -> bool:
    """Return whether another operator has the name with this ending, by an entry or by `autogen`."""
    other = f"{operator.schema.name.base}{ending}"
    made = {each.partition(".")[0] for each in operator.autogen}
    return other in made or (operator.namespace, other) in declared.base_names


def _known_variant(operator: Operator, declared: Declared) -> Problem | None:
    """Refuse the name of an in-place variant if there is none."""
    base = operator.schema.name.base
    for function in operator.functions:
        is_inplace = function.parameters is None and function.name.endswith("_") and not base.endswith("_")
        if is_inplace and not _has_operator(operator, "_", declared):
            message = f"{function.name} names an in-place variant of {base}, which has none"
            return Problem(message, function.span, f"add 'autogen: {base}_'")
    return None


def _one_of_a_name(operator: Operator, declared: Declared) -> Problem | None:
    """Refuse a second function of one name in a module."""
    found: dict[tuple[str, str], PythonFunction] = {}
    for other in declared.operators.values() if operator.functions else ():
        for each in other.functions if other.namespace == operator.namespace else ():
            first = found.setdefault((each.module, each.name), each)
            if first is not each and other is operator:
                message = f"{each.module}.{each.name} is declared twice"
                return Problem(message, each.span, f"the first is at {first.span}")
        if other is operator:
            break
    return None


FUNCTION_RULES: Mapping[str, Rule] = {
    "function-parameter": _known_parameters,
    "function-variant": _known_variant,
    "function-twice": _one_of_a_name,
}
