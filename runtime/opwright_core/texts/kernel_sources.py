"""Sources of errors of generated code: operator, kernel and declaration, found among the callers.

Nobody tells a generated shim which operator it handles: that would cost every call. The error finds the shim among the
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
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import CodeType, FrameType
from typing import Any, Final, NamedTuple

from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.package.kernel_rows import Row
from opwright_core.dispatch.registry.kernel_kinds import Composite, Lazy, Registration, Shim
from opwright_core.dispatch.registry.tables import registry
from opwright_core.errors import ContractError
from opwright_core.source_locations import OURS
from opwright_core.texts.row_texts import is_expression, row_text

__all__ = ["name_kernel", "name_row", "wrong_result"]


class HandledBy(NamedTuple):
    """The operator and key that a kernel handles, and whether its package says that results are as declared."""

    operator: Any
    key: str
    is_trusted: bool


_DEEPEST: Final = 8  # shims are called from checks, and these from little
_CHECKS: Final = (
    "new_result", "new_results", "number_of", "plan_of", "planned_result", "plans_of", "results_of", "store",
    "wrap_list", "wrap_result", "wrap_view", "wrap_views",
)  # fmt: skip


def wrong_result(problem: str, what: str) -> ContractError:
    """Return the error that the running `what` of a generated operator (its kernel, its rule) does not fit."""
    frame: FrameType | None = sys._getframe(2)
    for _ in range(_DEEPEST):
        frame = None if frame is None else frame.f_back
        if frame is None:
            break
        row = frame.f_locals.get("row")
        if isinstance(row, Row):
            found = handled_by_row(row)
        else:
            is_ours = frame.f_globals.get("__name__", "").startswith(OURS)
            found = None if is_ours else _handler_of_code(frame.f_code)
        if found is not None:
            operator, key = found.operator, found.key
            where = f", declared at {operator.where}" if operator.where else ""
            names = operator.signature.names
            kernel = row_text(row, names, frame.f_locals.get("index")) if isinstance(row, Row) else _kernel_text(frame)
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
    operands = error.__dict__.pop("operands", None)
    if operands is not None and not name.startswith("aten::"):
        error.args = (_with_names(error, operator, operands), *error.args[1:])
    where = f", declared at {operator.where}" if operator.where else ""
    error.add_note(f"In the kernel of {name} for {key}{where}: {name}{operator.declaration}")


def _with_names(error: Exception, operator: Operator, operands: Sequence[Any]) -> str:
    """Return the message of a rule that refuses operands, with the operator and the names of its arguments first."""
    names: list[str] = []
    for frame, _ in traceback.walk_tb(error.__traceback__):
        known = [(name, frame.f_locals[name]) for name in operator.signature.names if name in frame.f_locals]
        found = [next((name for name, value in known if value is operand), "") for operand in operands]
        if operands and all(found):
            names = found
    message = str(error)
    for position, name in enumerate(names):
        message = message.replace(f"argument {position} ", f"argument '{name}' ")
    call = f"({', '.join(names)})" if names else ""
    return f"{operator.name}{call}: {message}"


def name_row(error: Exception, row: Row) -> None:
    """Do as `name_kernel` for the operator of a row, but for errors of functions that say what is wrong themselves."""
    found = handled_by_row(row)
    if found is not None and (is_expression(row) or not found.is_trusted):
        name_kernel(error, found.operator.name, found.key)


def _handler_of_code(code: CodeType) -> HandledBy | None:
    """Return what a generated function handles."""
    for shim, name, registration in _shims():
        functions = (shim.general, shim.dense, shim.arrays) if isinstance(shim, Shim) else (shim.function,)
        if any(getattr(inspect.unwrap(each), "__code__", None) is code for each in functions if each):
            return _handled_by(name, registration)
    return None


_names_of_rows: Final[dict[int, str]] = {}  # by `id`: looked at again before they count


def handled_by_row(row: Row) -> HandledBy | None:
    """Return what a row serves."""
    found = _registered(row, _names_of_rows.get(id(row)))
    if found is None:
        rows = {id(shim.row): name for shim, name, _ in _shims() if isinstance(shim, Shim) and shim.row is not None}
        _names_of_rows.clear()
        _names_of_rows.update(rows)
        found = _registered(row, rows.get(id(row)))
    return found


def _registered(row: Row, name: str | None) -> HandledBy | None:
    by_key = registry.kernels.get(name or "", {})
    for shim, registration in _loaded(by_key):
        if isinstance(shim, Shim) and shim.row is row:
            return _handled_by(name or "", registration)
    return None


def _shims() -> Iterator[tuple[Shim | Composite, str, Registration]]:
    """Yield the generated functions that are loaded, with the operator's name."""
    for name, by_key in registry.kernels.copy().items():
        for shim, registration in _loaded(by_key):
            yield shim, name, registration


def _loaded(by_key: Mapping[Any, Iterable[Registration]]) -> Iterator[tuple[Shim | Composite, Registration]]:
    """Yield the loaded ones of an operator's registrations."""
    for registrations in tuple(by_key.values()):
        for registration in registrations:
            kernel = registration.kernel
            shim = kernel.loaded if isinstance(kernel, Lazy) else kernel
            if isinstance(shim, Shim | Composite):
                yield shim, registration


def _handled_by(name: str, registration: Registration) -> HandledBy | None:
    operator, kernel = registry.operators.get(name), registration.kernel
    is_trusted = isinstance(kernel, Lazy) and kernel.is_trusted
    return None if operator is None else HandledBy(operator, registration.key_name, is_trusted)


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
