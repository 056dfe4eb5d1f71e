"""Sources of errors of generated code: operator, kernel and declaration, found among the callers.

Nobody tells a generated shim which operator it serves: that would cost every call. The error finds the shim among the
callers instead, and the kernel in the shim's text.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import sys
import textwrap
import tokenize
from itertools import islice
from types import CodeType, FrameType
from typing import Any, Final

from opwright.dispatch.kernel_forms import Composite, Lazy, LazyWrapper, Shim
from opwright.dispatch.registry import registry
from opwright.errors import ContractError
from opwright.places import OURS

__all__ = ["gradient_text", "name_kernel", "recorded_by", "wrong_result"]

_DEEPEST: Final = 8  # shims are called from checks, and these from little
_CHECKS: Final = (
    "known_result", "new_result", "new_results", "number_of", "plan_of", "plans_of", "results_of", "store", "wrap_list",
    "wrap_result", "wrap_view", "wrap_views",
)  # fmt: skip


def wrong_result(problem: str, what: str) -> ContractError:
    """Return the error that the running `what` of a generated operator (its kernel, its rule) does not fit."""
    frame: FrameType | None = sys._getframe(2)
    for _ in range(_DEEPEST):
        frame = None if frame is None else frame.f_back
        if frame is None:
            break
        is_ours = frame.f_globals.get("__name__", "").startswith(OURS)
        found = None if is_ours else _served_by(frame.f_code)
        if found is not None:
            operator, key = found
            where = f", declared at {operator.where}" if operator.where else ""
            kernel = _kernel_text(frame)
            return ContractError(
                f"{operator.name}: the {what} for {key}{f', `{kernel}`,' if kernel else ''} {problem}\n"
                f"Declaration: {operator.name}{operator.declaration}{where}"
            )
    return ContractError(f"a {what} {problem}")


def name_kernel(error: Exception, name: str, key: str) -> None:
    """Note on an error which operator's expression raised it, for which key, and where that is declared."""

    operator = registry.operators.get(name)
    if operator is None or name in str(error):
        return
    where = f", declared at {operator.where}" if operator.where else ""
    error.add_note(f"In the kernel of {name} for {key}{where}: {name}{operator.declaration}")


def recorded_by(node: Any) -> str:
    """Return a line that names the operator which made a node and its backward function; "" where it is not known."""

    kind = type(node)
    for name, by_key in registry.kernels.copy().items():
        for registrations in list(by_key.values()):
            for wrapper in (registration.kernel for registration in registrations):
                if (
                    not isinstance(wrapper, LazyWrapper)
                    or wrapper.loaded is None
                    or getattr(wrapper, "module", "") != kind.__module__
                ):
                    continue
                if name in registry.operators and _makes(wrapper.loaded.make, kind):
                    operator = registry.operators[name]
                    where = f", declared at {operator.where}" if operator.where else ""
                    return f"\nDeclaration: {operator.name}{operator.declaration}{where}"
    return ""


def _makes(make: Any, kind: type) -> bool:
    """Whether what makes a recording kernel, a `Recorder` or a function that is written out, makes nodes of a class."""
    code = getattr(make, "__code__", None)
    return getattr(make, "node", None) is kind or (code is not None and kind.__name__ in _names_in(code))


def _names_in(code: CodeType) -> set[str]:
    """Return the names that a function and those inside it use."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_names_in, inner))


def gradient_text(kind: type) -> str:
    """Return the call of a generated Node class that gives all its gradients, as far as its text is known."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, SyntaxError, TypeError):
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name_of(node) == "gradients_of":
            return ast.unparse(node.args[1])
    return ""


def _served_by(code: CodeType) -> tuple[Any, str] | None:
    """Return the operator and key that a generated function serves."""

    for name, by_key in registry.kernels.copy().items():
        for registrations in list(by_key.values()):
            for registration in registrations:
                kernel = registration.kernel
                functions: tuple[Any, ...]
                match kernel.loaded if isinstance(kernel, Lazy) else kernel:
                    case Shim(general, dense, arrays):
                        functions = (general, dense, arrays)
                    case Composite(function):
                        functions = (function,)
                    case _:
                        continue
                if name in registry.operators and any(
                    getattr(inspect.unwrap(f), "__code__", None) is code for f in functions if f
                ):
                    return registry.operators[name], registration.key_name
    return None


@functools.lru_cache(maxsize=64)  # what draws arguments blindly meets the same error many times
def _tree_of(code: CodeType) -> ast.AST | None:
    """Return the syntax of a function; None where its text is not known."""
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]
    try:
        return ast.parse(textwrap.dedent("".join(inspect.getblock(lines))))
    except (SyntaxError, IndexError, tokenize.TokenError):
        return None


def _kernel_text(frame: FrameType) -> str:
    """Return the kernel's call or expression in a shim's text, as far as known: the line that runs, checks aside."""
    tree = _tree_of(frame.f_code)
    if tree is None:
        return ""
    at = frame.f_lineno - frame.f_code.co_firstlineno + 1
    values: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and node.end_lineno is not None and node.end_lineno < at:
            values |= {name.id: node.value for name in ast.walk(node.targets[0]) if isinstance(name, ast.Name)}
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and node.lineno <= at <= (node.end_lineno or at) and _name_of(node) in _CHECKS
    ]
    running = _running(frame)
    calls = [call for call in calls if (call.lineno, call.col_offset) == running] or calls
    inner = _inner(calls[-1], values) if calls else None
    return "" if inner is None else ast.unparse(inner)


def _running(frame: FrameType) -> tuple[int, int] | None:
    """Return where a frame's present call begins, in the function's own lines: a line may hold several."""
    line, _, column, _ = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
    return None if line is None or column is None else (line - frame.f_code.co_firstlineno + 1, column)


def _inner(call: ast.Call, values: dict[str, ast.expr]) -> ast.expr | None:
    """Return what a check is given: its last argument that is no name of a plan, target or operand and no number. What
    checks plans is given the call of a rule first."""
    is_of_plans = _name_of(call) in ("plan_of", "plans_of")
    for argument in call.args[:1] if is_of_plans else reversed(call.args):
        if isinstance(argument, ast.Starred):
            continue
        found: ast.expr | None = argument
        if isinstance(argument, ast.Name):
            found = values.get(argument.id) if argument.id.startswith("result") else None
        if isinstance(found, ast.Call) and _name_of(found) in _CHECKS:
            found = _inner(found, values)
        if found is not None and not isinstance(found, ast.Constant):
            return found
    return None


def _name_of(call: ast.Call) -> str:
    function = call.func
    return (
        function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
    )
