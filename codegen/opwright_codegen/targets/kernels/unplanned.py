"""Bodies of general shims that no rule plans: of views, and of kernels that make all their results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright_codegen.declared.parts import ViewOf
from opwright_codegen.formula.ast import Call, Verbatim
from opwright_codegen.schema.model import Argument, Return
from opwright_codegen.views.annotations import Side, annotation, return_annotation
from opwright_codegen.views.layout import formula_lines, quoted, returned

if TYPE_CHECKING:
    from opwright_codegen.targets.kernels.shims import ShimBuilder

__all__ = ["direct_statements", "torch_statements", "view_statements"]


def torch_statements(shim: ShimBuilder, name: str) -> list[str]:
    """Return what calls an operator of PyTorch with the Tensors: `opwright_bindings.called`."""
    given = tuple(Verbatim(shim.own[a.name]) for a in shim.schema.arguments)
    call = Call(Verbatim("call_torch"), (Verbatim(quoted(name)), *given))
    if not shim.schema.returns:
        return [formula_lines(call, shim.spelling({}), shim.indent)]
    kind = return_annotation(shim.schema.returns, shim.builtins)
    return [formula_lines(call, shim.spelling({}), shim.indent, f"result: {kind} = "), "return result"]


def view_statements(shim: ShimBuilder, meta: ViewOf) -> list[str]:
    """Return what makes views of what the kernel returns."""
    base = shim.own[meta.argument]
    given = shim.given()
    if len(shim.schema.returns) == 1:
        wrapper = "wrap_views" if shim.schema.returns[0].type.is_list_like else "wrap_view"
        call = Call(Verbatim(wrapper), (Verbatim(base), shim.kernel_call()))
        return [formula_lines(call, shim.spelling(given), shim.indent, "return ")]
    results = [f"result{i}" for i in range(len(shim.schema.returns))]
    wrapped = [f"wrap_view({base}, {name})" for name in results]
    return [*shim.results(results, given), returned(wrapped, shim.indent)]


def direct_statements(shim: ShimBuilder) -> list[str]:
    """Return the shim where the kernel writes all its results, or makes them. One that does both returns them all:
    what it returns instead of an argument that the call gave is not looked at."""
    returns = shim.schema.returns
    given = shim.given()
    arguments = shim.schema.returned_arguments
    if all(a is not None and a.type == r.type for a, r in zip(arguments, returns, strict=True)):
        written = [shim.own[a.name] for a in arguments if a is not None]
        statement = formula_lines(shim.kernel_call(), shim.spelling(given), shim.indent)
        return [statement, *([returned(written, shim.indent)] if written else [])]
    if len(returns) > 1:
        results = [f"result{i}" for i in range(len(returns))]
        wrapped = [_given_or_new(shim, *each) for each in zip(results, returns, arguments, strict=True)]
        return [*shim.results(results, given), returned(wrapped, shim.indent)]
    if arguments[0] is not None:
        statement = formula_lines(shim.kernel_call(), shim.spelling(given), shim.indent, "result = ")
        return [statement, returned([_given_or_new(shim, "result", returns[0], arguments[0])], shim.indent)]
    wrapper, *more = _wrapper(returns[0])
    call = Call(Verbatim(wrapper), (shim.kernel_call(), *map(Verbatim, more)))
    if returns[0].type.is_tensor_like:
        return [formula_lines(call, shim.spelling(given), shim.indent, "return ")]
    kind = annotation(returns[0].type, shim.builtins, side=Side.RESULT)
    return [formula_lines(call, shim.spelling(given), shim.indent, f"result: {kind} = "), "return result"]


def _given_or_new(shim: ShimBuilder, name: str, found: Return, argument: Argument | None) -> str:
    """Return a result: the argument that it is declared to be, if the call gave it, else what the kernel made."""
    wrapper, *more = _wrapper(found)
    made = f"{wrapper}({', '.join((name, *more))})"
    if argument is None:
        return made
    own = shim.own[argument.name]
    is_always_given = argument.type == found.type or not argument.type.is_optional
    return own if is_always_given else f"{made} if {own} is None else {own}"


def _wrapper(found: Return) -> tuple[str, ...]:
    """Return the function that makes a result of what a kernel returned without a plan, and what it is told besides."""
    if not found.type.is_tensor_like:
        return "number_of", quoted(str(found.type))
    return ("wrap_list",) if found.type.is_list_like else ("wrap_result",)
