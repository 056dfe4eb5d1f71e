"""What a kernel returned, checked against the declared returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from opwright.conversion import Mismatch, converter, is_tensor_like
from opwright.signature import split_types
from opwright.tensor import Tensor

if TYPE_CHECKING:
    from opwright.dispatcher import Operator

__all__ = ["return_checker", "show_result"]

Check = Callable[[Any], Any]


def return_checker(operator: Operator, *, refuses_none: bool = False) -> Check:
    """A function from what a kernel returned to what the call returns: numbers converted, a list for several returns
    made a tuple. It raises RuntimeError for a wrong type or count. None stands for a Tensor that was not computed; with
    `refuses_none`, only where a mask tells the operator which results are wanted (`bool[3] output_mask`)."""
    returns = operator.signature.returns
    if not returns:
        return lambda result: _check_nothing(operator, result)
    may_be_left_out = not refuses_none or any(text.startswith("bool[") for text in operator.signature.types)
    checks = [_checker(f"{text}?" if may_be_left_out and text == "Tensor" else text) for text in returns]
    if len(returns) == 1:
        return lambda result: _check_one(operator, checks[0], returns[0], result, "")
    return lambda result: _check_several(operator, checks, result)


def show_result(result: Any) -> str:
    """The text of several results with names, a NamedTuple."""
    shown = ",\n".join(f"{name}={value!r}" for name, value in zip(result._fields, result, strict=True))
    return f"opwright.return_types.{type(result).__name__.removesuffix('_result')}(\n{shown})"


def _check_nothing(operator: Operator, result: Any) -> None:
    if result is not None:
        raise _error(operator, "nothing", result, "")


def _check_one(operator: Operator, check: Check, text: str, result: Any, which: str) -> Any:
    try:
        return check(result)
    except Mismatch as error:
        raise _error(operator, text, result, which, str(error)) from None


def _check_several(operator: Operator, checks: list[Check], result: Any) -> tuple[Any, ...]:
    returns = operator.signature.returns
    if not isinstance(result, list | tuple) or len(result) != len(returns):
        raise _error(operator, f"{len(returns)} values ({', '.join(returns)})", result, "")
    return tuple(
        _check_one(operator, check, text, value, f" as result {index}")
        for index, (check, text, value) in enumerate(zip(checks, returns, result, strict=True))
    )


def _checker(text: str) -> Check:
    if text.startswith("(") and text.endswith(")"):
        return _tuple_of([_checker(item) for item in split_types(f"() -> {text}")[1]])
    if not is_tensor_like(text):
        return converter(text)
    if "[" in text:
        return _tensor_list
    return _optional_tensor if text.endswith("?") else _tensor


def _tuple_of(checks: list[Check]) -> Check:
    def to_tuple(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple) or len(value) != len(checks):
            raise Mismatch
        return tuple(check(item) for check, item in zip(checks, value, strict=True))

    return to_tuple


def _tensor(value: Any) -> Any:
    if value is None:
        raise Mismatch("it is None where a Tensor is declared (is a return statement missing?)")
    return _optional_tensor(value)


def _optional_tensor(value: Any) -> Any:
    if value is None or isinstance(value, Tensor):
        return value
    raise Mismatch("wrap an array with opwright.from_numpy" if hasattr(value, "dtype") else "")


def _tensor_list(value: Any) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise Mismatch
    return [_optional_tensor(item) for item in value]


def _error(operator: Operator, expected: str, value: Any, which: str, reason: str = "") -> RuntimeError:
    shown = repr(value)
    if len(shown) > 80:
        shown = shown[:77] + "..."
    message = f"a kernel of {operator.name} must return {expected}{which}, but returned {type(value).__name__} {shown}"
    return RuntimeError(
        f"{message}{': ' + reason if reason else ''}\nDeclaration: {operator.name}{operator.declaration}"
    )
