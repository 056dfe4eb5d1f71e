"""The check of what a kernel returned against the declared returns."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from opwright_core.arrays.dtypes import dtype_name
from opwright_core.dispatch.call.conversion import Mismatch, converter, is_tensor_like
from opwright_core.dispatch.package.declarations import split_types
from opwright_core.plans.kernel_errors import shown, wrong_result
from opwright_core.source_locations import OURS
from opwright_core.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["as_tuple", "number_of", "return_checker"]

_MASK: Final = re.compile(r"bool\[\d")  # says which results are wanted
_MISSING: Final = "is a return statement missing?"
Check = Callable[[Any], Any]


class _Returns:
    """The values that a kernel, a function, must return for an operator."""

    def __init__(self, operator: Operator, function: Callable[..., Any], refuses_none: bool) -> None:
        self.operator = operator
        self.function = function
        self.types = operator.signature.returns
        is_masked = any(_MASK.match(text) for text in operator.signature.types)
        self.checks = [_checker(text, refuses_none and not is_masked) for text in self.types]

    def check_nothing(self, result: Any) -> None:
        """Check the result of an operator without results."""
        if result is not None:
            raise self.error("nothing", result, hint="declare the result, or return None")

    def check_one(self, result: Any) -> Any:
        """Check the result of an operator with one."""
        try:
            return self.checks[0](result)
        except Mismatch as error:
            raise self.error(self.types[0], result, hint=str(error)) from None

    def check_several(self, result: Any) -> tuple[Any, ...]:
        """Check the results of an operator with several, or a tuple of one."""
        types = self.types
        expected = f"{len(types)} values ({', '.join(types)})"
        if not isinstance(result, list | tuple):
            raise self.error(expected, result, hint=_MISSING if result is None else "")
        if len(result) != len(types):
            raise self.error(expected, result, hint="return as many as are declared")
        found = []
        for index, (check, text, value) in enumerate(zip(self.checks, types, result, strict=True)):
            try:
                found.append(check(value))
            except Mismatch as error:
                raise self.error(text, value, f" as result {index}", str(error)) from None
        return tuple(found)

    def error(self, expected: str, value: Any, which: str = "", hint: str = "") -> RuntimeError:
        operator = self.operator
        is_ours = (getattr(self.function, "__module__", None) or "").startswith(OURS)  # it calls somebody's
        kernel = "a kernel" if is_ours else f"the kernel {place_of(self.function)}"
        return RuntimeError(
            f"{operator.name}: {kernel} must return {expected}{which}, but returned "
            f"{_shown(value)}{': ' + hint if hint else ''}\nDeclaration: {operator.name}{operator.declaration}"
            f"{f', declared at {operator.where}' if operator.where else ''}"
        )


def number_of(value: Any, declared: str) -> Any:
    """Return a kernel's result as the type that is declared, which holds no tensors.

    Raises ContractError for what does not convert to it.
    """
    if type(value) in _EXACT.get(declared, ()):
        return value
    convert = _converters.get(declared) or _converters.setdefault(declared, converter(declared))
    if isinstance(value, np.ndarray | np.generic) and value.ndim == 0:
        value = value.item()
    with suppress(Mismatch):
        return convert(value)
    raise wrong_result(f"must return {declared}, but returned {shown(value)}")


_converters: Final[dict[str, Check]] = {}
# What needs no conversion.
_EXACT: Final[dict[str, tuple[type, ...]]] = {
    "bool": (bool,), "int": (int,), "SymInt": (int,), "float": (float,), "Scalar": (bool, int, float, complex),
}  # fmt: skip


def return_checker(operator: Operator, function: Callable[..., Any], *, refuses_none: bool = False) -> Check:
    """Return a function from what a kernel returned to what the call returns: numbers converted, a list for several a
    tuple. It raises RuntimeError for a wrong type or count. None stands for a Tensor that was not computed; with
    `refuses_none`, only where a mask tells the operator which results are wanted (`bool[3] output_mask`)."""
    returns = _Returns(operator, function, refuses_none)
    if not returns.types:
        return returns.check_nothing
    return returns.check_one if len(returns.types) == 1 else returns.check_several


def as_tuple(result: Any) -> Any:
    """Return what a function returns where its operator returns a list."""
    return tuple(result) if type(result) is list else result


def _checker(text: str, refuses_none: bool) -> Check:
    if text.startswith("(") and text.endswith(")"):
        return _tuple_of([_checker(item, refuses_none) for item in split_types(text)])
    if not is_tensor_like(text):
        return converter(text)
    if "[" in text:
        return _tensor_list if refuses_none and not text.startswith("Tensor?") else _optional_tensors
    return _tensor if refuses_none and not text.endswith("?") else _optional_tensor


def _tuple_of(checks: list[Check]) -> Check:
    def to_tuple(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple) or len(value) != len(checks):
            raise Mismatch
        return tuple(check(item) for check, item in zip(checks, value, strict=True))

    return to_tuple


def _tensor(value: Any) -> Any:
    if value is None:
        raise Mismatch(_MISSING)
    return _optional_tensor(value)


def _optional_tensor(value: Any) -> Any:
    if value is None or isinstance(value, Tensor):
        return value
    if hasattr(value, "dtype"):
        raise Mismatch("make a Tensor of the array first")
    if isinstance(value, list | tuple) and value and all(isinstance(item, Tensor) for item in value):
        several = f"declare ({', '.join(['Tensor'] * len(value))}) to return them all"
        raise Mismatch(several if len(value) > 1 else "return the Tensor itself")
    is_number = isinstance(value, bool | int | float | complex | list | tuple)
    raise Mismatch("make a Tensor of it first" if is_number else "")


def _tensor_list(value: Any) -> list[Any]:
    found = _optional_tensors(value)
    missing = next((index for index, item in enumerate(found) if item is None), None)
    if missing is not None:
        raise Mismatch(f"item {missing} is None where a Tensor is declared")
    return found


def _optional_tensors(value: Any) -> list[Any]:
    if isinstance(value, Tensor):
        raise Mismatch("return a list of it")
    if not isinstance(value, list | tuple):
        raise Mismatch(_MISSING if value is None else "")
    return [_optional_tensor(item) for item in value]


def _shown(value: Any) -> str:
    """Return a value in a few words: tensors by their dtype and shape."""
    if value is None:
        return "None"
    if isinstance(value, Tensor):
        return f"{type(value).__name__} {dtype_name(value.dtype)}{list(value.shape)}"
    if isinstance(value, list | tuple) and any(isinstance(item, Tensor) for item in value):
        return f"{type(value).__name__} ({', '.join(map(_shown, value))})"
    shown = repr(value)
    return f"{type(value).__name__} {shown if len(shown) <= 80 else shown[:77] + '...'}"


def place_of(function: Callable[..., Any]) -> str:
    """Return a function's name, file and line: those of what it is a decorated or partial form of."""
    while inner := getattr(function, "__wrapped__", None) or getattr(function, "func", None):
        function = inner
    name = getattr(function, "__qualname__", None) or repr(function)
    code = getattr(function, "__code__", None)
    return name if code is None else f"{name} at {code.co_filename}:{code.co_firstlineno}"
