"""Functions on lists of tensors, `torch._foreach_NAME`: what the method NAME gives for each tensor of a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from opwright.linalg import vector_norm
from opwright_core.tensors.tensor import Tensor

__all__ = ["foreach_function"]

Function = Callable[..., Any]
_PREFIX = "_foreach_"


def foreach_function(name: str) -> Function:
    """Return the function `torch._foreach_NAME` by its name. Raises AttributeError where Tensor has no such method.

    Arguments that are lists go with the first list, one for each of its tensors; others are passed with each.
    """
    base = name.removeprefix(_PREFIX)
    method = _method(base)
    kinds: dict[str, Function] = {"pow": _power, "addcmul": _with_value, "addcdiv": _with_value}
    return partial(kinds.get(base.rstrip("_"), _each), method)


def _method(base: str) -> Function:
    if base == "norm":
        return vector_norm
    if base in ("maximum_", "minimum_"):  # no operator writes these into its operand
        function: Function = getattr(Tensor, base.removesuffix("_"))
        return lambda tensor, other: tensor.copy_(function(tensor, other))
    found: Function = getattr(Tensor, base)
    return found


def _with_value(method: Function, tensors: Sequence[Tensor], left: Any, right: Any, value: Any = 1) -> list[Any]:
    """Return `tensor + value * left * right`, or the quotient: a value for all, or one for each."""
    values = value.tolist() if isinstance(value, Tensor) else value
    values = values if isinstance(values, list | tuple) else [values] * len(tensors)
    rows = zip(tensors, left, right, values, strict=True)
    return [method(tensor, first, second, value=own) for tensor, first, second, own in rows]


def _power(method: Function, base: Any, exponent: Any) -> list[Any]:
    """Return powers: of one number, too."""
    if isinstance(base, int | float | complex):
        return [base**each for each in exponent]
    return _each(method, base, exponent)


def _each(method: Function, tensors: Sequence[Tensor], *args: Any, **kwargs: Any) -> list[Any]:
    found = []
    for position, tensor in enumerate(tensors):
        own = [each[position] if isinstance(each, list | tuple) else each for each in args]
        found.append(method(tensor, *own, **kwargs))
    return found
