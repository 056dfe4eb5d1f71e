"""The functions of one operator that is defined at run time: its stub, its kernel around a user's function, and the
wrapper that records it.

All are made by factories, which the runtime calls with what belongs to the operator: operators of one declaration share
the code.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from opwright_codegen.declared.parts import Operator
from opwright_codegen.records import dataclass
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.schema.types import BaseType
from opwright_codegen.source import Source, Span
from opwright_codegen.targets.ops.lookup import Lookups
from opwright_codegen.views.annotations import Tensors, tensors_in
from opwright_codegen.views.layout import condition, fill_comment
from opwright_codegen.views.names import BuiltinNames, argument_names
from opwright_codegen.views.operators import OperatorView, Parameters, parameter_list, signature, tuple_text

__all__ = ["TEMPLATE", "context"]

TEMPLATE = "custom_op.py.j2"
# What the functions call, or keep in a variable.
_LOCALS = frozenset(
    (
        "Backward", "CANONICAL", "CPU", "FLOATING", "GRAD", "Tensor", "UNRECORDED", "VIEW", "active_modes", "array",
        "below", "check", "dtype", "finish", "function", "keep", "kernel", "keys", "modes", "ndarray", "new_node",
        "next_sequence", "node", "operator", "refuse_keyword", "reset_modes", "result", "set_modes", "setup_context",
        "stub", "through_tensors", "token", "type", "unrecorded", "wrap",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FastResult:
    """The line that tells a result that needs no checking, and the statement that returns it."""

    test: str
    returned: str


@dataclass(frozen=True, slots=True)
class PlainArrays:
    """A way for calls with plain arrays alone of a function on arrays: the line that tells which are no Tensor's, what
    the function is passed, and the line that tells a result that needs no checking."""

    refused: str
    passed: str
    test: str


def context(schema: FunctionSchema, arrays: Collection[int], *, returns_arrays: bool) -> dict[str, object]:
    """Return what the template shows. `arrays` are positions of arguments that the user's function takes as arrays."""
    builtins = BuiltinNames(())
    parameters = Parameters(builtins)(schema.arguments, ("operator", "stub"))
    text = str(schema)
    view = OperatorView(
        str(schema.name),
        Operator(schema, Span(Source("<operator>", ""), 0, 0)),
        schema,
        "stub",
        "operator",
        parameters,
        text[text.index("(") :],
        ", ".join([parameter.name for parameter in parameters]),
        any(parameter.is_renamed for parameter in parameters) or not _is_in_order(schema),
        None,
        None,
    )
    names = argument_names(schema.arguments, _LOCALS)
    held = [tensors_in(argument.type) for argument in schema.arguments]
    positional = [position for position, argument in enumerate(schema.arguments) if not argument.kwarg_only]
    return {
        "comment": fill_comment(view.declaration),
        "signature": _stub_signature(view, builtins),
        "lookup": None if view.is_generic else Lookups(builtins).of(view),
        "passed": ", ".join(names),
        "arguments": ", ".join(_arguments(schema, names, held, arrays)),
        "fast_result": _fast_result(schema, names, held, returns_arrays),
        "plain_arrays": _plain_arrays(schema, names, held, arrays) if returns_arrays else None,
        "passed_tuple": tuple_text(names),
        "edges": tuple_text([_edges(names[position], held[position]) for position in positional]),
        "keyword_tensors": [
            (argument.name, tuple_text([_edges(name, tensors)]))
            for argument, name, tensors in zip(schema.arguments, names, held, strict=True)
            if argument.kwarg_only and tensors is not Tensors.NONE
        ],
        "given": _given(names, held, positional),
        "needs": _needs(names, held, positional),
        "inputs": tuple_text([names[position] for position in positional]),
        "keywords": _keywords(schema, names),
    }


def _is_in_order(schema: FunctionSchema) -> bool:
    """Whether no argument without default follows one with, as it may in a definition at run time."""
    given = [argument.default is not None for argument in schema.positional]
    return given == sorted(given)


def _stub_signature(view: OperatorView, builtins: BuiltinNames) -> str:
    parameters = ["*args", "**kwargs"] if view.is_generic else parameter_list(view.parameters, builtins)
    return signature("stub", parameters, "Any", 4)


def _arguments(
    schema: FunctionSchema, names: Sequence[str], held: Sequence[Tensors], arrays: Collection[int]
) -> list[str]:
    """Return the user's function's arguments: keyword-only ones by name, Tensors as arrays where it wants them so."""
    found = []
    for position, (argument, name, tensors) in enumerate(zip(schema.arguments, names, held, strict=True)):
        value = _array(name, tensors) if position in arrays else name
        found.append(f"{argument.name}={value}" if argument.kwarg_only else value)
    return found


def _array(name: str, tensors: Tensors) -> str:
    match tensors:
        case Tensors.OPTIONAL:
            return f"None if {name} is None else {name}.array"
        case Tensors.LIST:
            return f"[item.array for item in {name}]"
        case Tensors.OPTIONAL_LIST:
            return f"None if {name} is None else [item.array for item in {name}]"
        case Tensors.LIST_OF_OPTIONAL:
            return f"[None if item is None else item.array for item in {name}]"
        case _:
            return f"{name}.array"


def _plain_arrays(
    schema: FunctionSchema, names: Sequence[str], held: Sequence[Tensors], arrays: Collection[int]
) -> PlainArrays | None:
    """Return the way for plain arrays, where every Tensor is one array for the function, and the result a new one."""
    result = _fast_result(schema, names, held, True)
    operands = [name for name, tensors in zip(names, held, strict=True) if tensors is not Tensors.NONE]
    is_plain = all(held[position] is Tensors.ONE for position in arrays) and len(operands) == len(arrays) > 0
    if result is None or not is_plain:
        return None
    tests = ["type(result) is ndarray", "result.base is None", "result.dtype in CANONICAL"]
    passed = [
        f"{argument.name}={name}" if argument.kwarg_only else name
        for argument, name in zip(schema.arguments, names, strict=True)
    ]
    return PlainArrays(
        condition([f"{name}.dtype not in CANONICAL" for name in operands], "or", 8),
        ", ".join(passed),
        condition([*tests, *(f"result is not {name}" for name in operands)], "and", 8),
    )


def _fast_result(
    schema: FunctionSchema, names: Sequence[str], held: Sequence[Tensors], returns_arrays: bool
) -> FastResult | None:
    """Return the shortcut of operators that return one new Tensor: one with memory of its own needs no closer look. (An
    array that owns its memory has no `base`.)"""
    returns = schema.returns
    if len(returns) != 1 or returns[0].type != BaseType("Tensor") or returns[0].annotation is not None:
        return None
    if any(tensors not in (Tensors.NONE, Tensors.ONE, Tensors.OPTIONAL) for tensors in held):
        return None
    if returns_arrays:
        tests, array, returned = ["type(result) is ndarray", "result.base is None"], "result", "wrap(result)"
    else:
        tests = ["type(result) is Tensor", "type(array := result.array) is ndarray", "array.base is None"]
        array, returned = "array", "result"
    for name, tensors in zip(names, held, strict=True):
        if tensors is Tensors.ONE:
            tests.append(f"{array} is not {name}.array")
        elif tensors is Tensors.OPTIONAL:
            tests.append(f"({name} is None or {array} is not {name}.array)")
    return FastResult(condition(tests, "and", 8), f"return {returned}")


def _edges(name: str, tensors: Tensors) -> str:
    match tensors:
        case Tensors.NONE | Tensors.OTHER:
            return "None"
        case Tensors.ONE:
            return f"{name}.edge"
        case Tensors.OPTIONAL:
            return f"None if {name} is None else {name}.edge"
        case Tensors.LIST:
            return f"*[item.edge for item in {name}]"
        case Tensors.OPTIONAL_LIST:
            return f"*[item.edge for item in {name} or ()]"
        case Tensors.LIST_OF_OPTIONAL:
            return f"*[None if item is None else item.edge for item in {name}]"


def _given(names: Sequence[str], held: Sequence[Tensors], positional: Sequence[int]) -> str:
    """Return a list that tells which edges have a Tensor, where one may be None; else ''."""
    optional = (Tensors.OPTIONAL, Tensors.LIST_OF_OPTIONAL)
    if not any(held[position] in optional for position in positional):
        return ""
    return tuple_text([_is_given(names[position], held[position]) for position in positional])


def _is_given(name: str, tensors: Tensors) -> str:
    match tensors:
        case Tensors.OPTIONAL:
            return f"{name} is not None"
        case Tensors.LIST_OF_OPTIONAL:
            return f"*[item is not None for item in {name}]"
        case Tensors.LIST | Tensors.OPTIONAL_LIST:
            return f"*[True for item in {name} or ()]"
        case _:
            return "True"


def _needs(names: Sequence[str], held: Sequence[Tensors], positional: Sequence[int]) -> str:
    """Return which positional arguments require grad, where the edges do not tell it: lists have several."""
    lists = (Tensors.LIST, Tensors.OPTIONAL_LIST, Tensors.LIST_OF_OPTIONAL)
    if not any(held[position] in lists for position in positional):
        return ""
    return tuple_text([_need(names[position], held[position]) for position in positional])


def _need(name: str, tensors: Tensors) -> str:
    match tensors:
        case Tensors.NONE | Tensors.OTHER:
            return "False"
        case Tensors.ONE:
            return f"{name}.edge is not None"
        case Tensors.OPTIONAL:
            return f"{name} is not None and {name}.edge is not None"
        case Tensors.LIST:
            return f"[item.edge is not None for item in {name}]"
        case Tensors.OPTIONAL_LIST:
            return f"None if {name} is None else [item.edge is not None for item in {name}]"
        case Tensors.LIST_OF_OPTIONAL:
            return f"[item is not None and item.edge is not None for item in {name}]"


def _keywords(schema: FunctionSchema, names: Sequence[str]) -> str:
    """Return what `setup_context` is given beside the positional inputs, where there are keyword-only ones."""
    items = [
        f'"{argument.name}": {name}'
        for argument, name in zip(schema.arguments, names, strict=True)
        if argument.kwarg_only
    ]
    return f", {{{', '.join(items)}}}" if items else ""
