"""What a custom operator's function returned: of the declared types, and sharing memory with nothing it must not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from opwright.devices import is_array
from opwright.dispatcher import Operator
from opwright.keys import VIEW
from opwright.results import share_memory, tensors_of
from opwright.returns import return_checker
from opwright.tensor import Tensor, wrap

__all__ = ["place_of", "result_checker"]

Check = Callable[[Any, tuple[Any, ...]], Any]


def result_checker(operator: Operator, function: Callable[..., Any]) -> Check:
    """A function from a result and the arguments to what the call returns: arrays wrapped, a list for several returns
    made a tuple. It raises RuntimeError for what the declaration does not allow."""
    signature = operator.signature
    check_types = return_checker(operator)
    needed = [text.startswith("Tensor") and not text.endswith("?") for text in signature.returns]
    is_single = len(needed) == 1

    def check(result: Any, args: tuple[Any, ...]) -> Any:
        try:
            result = check_types(_wrapped(result, list(tensors_of(args))))
        except RuntimeError as error:
            raise RuntimeError(f"{error}\nThe kernel is {place_of(function)}") from None
        results = (result,) if is_single else result or ()
        for index, (value, is_needed) in enumerate(zip(results, needed, strict=True)):
            if value is None and is_needed:
                problem = f"result {index} is None where {signature.returns[index]} is declared"
                raise _error(operator, function, f"{problem} (is a return statement missing?)")
        _check_aliases(operator, function, results, args)
        return result

    return check


def place_of(function: Callable[..., Any]) -> str:
    """A function's name, file and line."""
    name = getattr(function, "__qualname__", None) or repr(function)
    code = getattr(function, "__code__", None)
    return name if code is None else f"{name} at {code.co_filename}:{code.co_firstlineno}"


def _error(operator: Operator, function: Callable[..., Any], problem: str) -> RuntimeError:
    return RuntimeError(
        f"{operator.name}: the kernel {place_of(function)} does not keep to its declaration: {problem}\n"
        f"Declaration: {operator.name}{operator.declaration}"
    )


def _wrapped(value: Any, held: list[Tensor]) -> Any:
    """Arrays as Tensors: an argument's own as the argument."""
    if isinstance(value, Tensor) or value is None:
        return value
    if type(value) in (list, tuple):
        return type(value)(_wrapped(item, held) for item in value)
    if isinstance(value, np.generic | np.ndarray) or is_array(value):
        own = next((tensor for tensor in held if tensor.array is value), None)
        return wrap(value) if own is None else own
    return value


def _check_aliases(
    operator: Operator, function: Callable[..., Any], results: Iterable[Any], args: tuple[Any, ...]
) -> None:
    """A result that is declared to be an argument is that argument; no other shares memory with an argument or another
    result."""
    signature = operator.signature
    known = [
        (f"argument '{name}'", tensor)
        for name, value in zip(signature.names, args, strict=True)
        for tensor in tensors_of((value,))
    ]
    for index, value in enumerate(results):
        alias = signature.aliases[index]
        if alias is not None:
            if alias in signature.written and value is not args[alias]:
                raise _error(operator, function, f"result {index} must be argument '{signature.names[alias]}' itself")
            continue
        for tensor in tensors_of((value,)):
            shared = next((what for what, other in known if share_memory(tensor, other)), None)
            if shared is not None:
                problem = f"result {index} shares memory with {shared}. A result must be no argument, no view of one"
                raise _error(operator, function, f"{problem}, and none of another result: return a copy (x.clone())")
            known.append((f"result {index}", tensor))
            if tensor.keys & VIEW:
                _forget_base(tensor)


def _forget_base(result: Tensor) -> None:
    """A view of what the function made for itself is nobody's view outside of it."""
    assert result.extra is not None
    result.extra.base = None
    result.keys &= ~VIEW
