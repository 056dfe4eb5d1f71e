"""Results of a custom operator's function: of the declared types, and sharing memory with nothing they must not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

from opwright.metadata.view_layouts import share_memory
from opwright.pytree import tensors_of
from opwright_core.arrays.devices import is_array
from opwright_core.dispatch.call.operator import Operator
from opwright_core.keys import VIEW
from opwright_core.tensors.tensor import Tensor, wrap
from opwright_core.user_kernels.returns import place_of, return_checker

__all__ = ["result_checker"]

Check = Callable[[Any, tuple[Any, ...]], Any]
_ALIAS_RULES: Final = (
    "A result must be no argument, no view of one, and none of another result: return a copy (x.clone())"
)
_WRITTEN_RULES: Final = "; an operator that returns the arguments it writes to has the tag inplace or out"


def result_checker(operator: Operator, function: Callable[..., Any]) -> Check:
    """Return a function from a result and the arguments to what the call returns: arrays wrapped, a list for several
    returns made a tuple. It raises RuntimeError for what the declaration does not allow."""
    check_types = return_checker(operator, function, refuses_none=True)
    is_single = len(operator.signature.returns) == 1

    def check(result: Any, args: tuple[Any, ...]) -> Any:
        result = check_types(_wrapped(result, list(tensors_of(args))))
        _check_aliases(operator, function, (result,) if is_single else result or (), args)
        return result

    return check


def _error(operator: Operator, function: Callable[..., Any], problem: str) -> RuntimeError:
    return RuntimeError(
        f"{operator.name}: the kernel {place_of(function)} does not keep to its declaration: {problem}\n"
        f"Declaration: {operator.name}{operator.declaration}"
    )


def _wrapped(value: Any, held: list[Tensor]) -> Any:
    """Return arrays as Tensors: an argument's own as the argument."""
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
    """Check that a result that is declared to be an argument is that argument, and that no other shares memory with an
    argument or another result."""
    signature = operator.signature
    known = [
        (f"argument '{name}'", tensor)
        for name, value in zip(signature.names, args, strict=True)
        for tensor in tensors_of((value,))
    ]
    rules = _ALIAS_RULES + (_WRITTEN_RULES if signature.written else "")
    for index, value in enumerate(results):
        alias = signature.aliases[index]
        if alias is not None:
            if alias in signature.written and value is not args[alias]:
                raise _error(operator, function, f"result {index} must be argument '{signature.names[alias]}' itself")
            continue
        for tensor in tensors_of((value,)):
            shared = next((what for what, other in known if share_memory(tensor, other)), None)
            if shared is not None:
                raise _error(operator, function, f"result {index} shares memory with {shared}. {rules}")
            known.append((f"result {index}", tensor))
            if tensor.keys & VIEW:
                _forget_base(tensor)


def _forget_base(result: Tensor) -> None:
    """Make a view of what the function made for itself nobody's view outside of it."""
    assert result.extra is not None
    result.extra.base = None
    result.keys &= ~VIEW
