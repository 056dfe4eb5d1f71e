"""Errors of calls whose arguments do not suit the declaration: loaded with the first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opwright_core.arrays import sizes
from opwright_core.arrays.dtypes import dtype_name
from opwright_core.dispatch.call.keywords import NOT_GIVEN, unknown_name
from opwright_core.dispatch.package.declarations import REQUIRED
from opwright_core.errors import ArgumentError
from opwright_core.tensors.tensor import Tensor
from opwright_core.texts import other_libraries

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator
    from opwright_core.dispatch.call.signature import Signature

__all__ = ["argument_error", "given_twice", "missing", "shown", "too_many", "unknown"]


def too_many(signature: Signature, args: tuple[Any, ...]) -> ArgumentError:
    """Return the error for more positional arguments than there are."""
    count = len(args)
    message = f"takes {signature.positional} positional argument{_s(signature.positional)} but {count} were given"
    keyword_only = signature.names[signature.positional :]
    if keyword_only and count <= len(signature.names):
        name, is_written = keyword_only[0], signature.positional in signature.written
        value = "..." if is_written else _cut(args[signature.positional])
        call = ", ".join([*signature.names[: signature.positional], f"{name}={value}"])
        message += f"; '{name}' is keyword-only: {signature.operator.base}({call})"
    elif keyword_only:
        message += f"; keyword-only: {', '.join(keyword_only)}"
    return _error(signature.operator, message)


def missing(signature: Signature, bound: list[Any]) -> ArgumentError:
    """Return the error for arguments without a value."""
    missing = [position for position, value in enumerate(bound) if value is REQUIRED]
    what = "values for arguments" if missing[1:] else "a value for argument"
    named = ", ".join([f"'{signature.names[position]}' (position {position})" for position in missing])
    hint = other_libraries.numpys_default(signature.operator.base, [signature.names[position] for position in missing])
    return _error(signature.operator, f"is missing {what} {named}{hint}")


def unknown(signature: Signature, name: str) -> ArgumentError:
    """Return the error for a name that no argument has."""
    return _error(signature.operator, unknown_name(name, signature.names, has_others=False))


def given_twice(signature: Signature, name: str) -> ArgumentError:
    """Return the error for an argument that is given by position and by name."""
    at = signature.positions[name]
    return _error(signature.operator, f"argument '{name}' (position {at}) is given by position and by name")


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _error(operator: Operator, problem: str) -> ArgumentError:
    return ArgumentError(f"{operator.name}() {problem}\nDeclaration: {operator.name}{operator.declaration}")


def argument_error(operator: Operator, position: int, value: Any, reason: str = "") -> ArgumentError:
    """Return the error for a value that its argument's type does not take."""
    name, text, *_ = operator.arguments[position]
    if value is NOT_GIVEN:
        hint = other_libraries.numpys_default(operator.base, [name])
        return _error(operator, f"is missing a value for argument '{name}' (position {position}){hint}")
    problem = f"expected {text} for argument '{name}' (position {position}), got {shown(value)}"
    hint = other_libraries.how_to_make_tensor(value) if text.startswith("Tensor") else ""
    return _error(operator, (f"{problem}: {reason}" if reason else problem) + hint)


def shown(value: Any) -> str:
    """Return the type and the value, cut short."""
    if value is None:
        return "None"
    if isinstance(value, Tensor):
        return f"a {dtype_name(value.dtype)} Tensor of shape {list(value.shape)}"  # overloads are tried: no formatting
    return f"{other_libraries.full_name(type(value))} {_cut(value)}"


def _cut(value: Any) -> str:
    """Return a value as it prints, cut short; `...` for a tensor, since overloads are tried."""
    if isinstance(value, Tensor):
        return "..."
    printed = sizes.shown(value) if type(value) is int else repr(value)
    return printed if len(printed) <= 80 else printed[:77] + "..."
