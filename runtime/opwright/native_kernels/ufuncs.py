"""Ufuncs of NumPy, made from the loops in C of expressions."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np

from opwright.native_kernels.generalized_ufuncs import generalized_ufunc
from opwright_core.names.late_imports import import_late
from opwright_core.native_kernels.libraries import NativeLoop

__all__ = ["ufunc_of"]

Operator: TypeAlias = Any
_REQUIRED: Final[Any] = object()  # what stands for a number without a default, which is an operand of the ufunc
_made: dict[NativeLoop | Operator, np.ufunc] = {}


def ufunc_of(operator: Operator) -> np.ufunc:
    """Return NumPy's ufunc of the loops of an expression, or a generalized one of an operator whose rule is `gufunc`;
    one ufunc, however often it is asked for.

    Its operands are the tensors of the expression, and behind them the numbers without a default; other numbers have
    their defaults. Raises AttributeError for an operator without loops, or where these have not been built.
    """
    package, _, module = operator.home.module.rpartition(".ops.") if operator.home is not None else ("", "", "")
    loop = _loop_of(operator, package)
    if loop is None:
        if operator not in _made:
            made = generalized_ufunc(operator, package, module)
            if isinstance(made, str):
                raise _error(operator, made)
            _made[operator] = made
        return _made[operator]
    if loop not in _made:
        _made[loop] = _new(operator, loop)
    return _made[loop]


def _loop_of(operator: Operator, package: str) -> NativeLoop | None:
    if not package:
        return None
    try:
        native = import_late(f"{package}.native")
    except ModuleNotFoundError:
        return None
    loops = (each for each in vars(native).values() if isinstance(each, NativeLoop))
    return next((loop for loop in loops if loop.operator == operator.name), None)


def _new(operator: Operator, loop: NativeLoop) -> np.ufunc:
    if loop.library.problem:
        raise _error(operator, loop.library.problem)
    defaults = operator.signature.defaults
    required = defaults[operator.signature.tensors[0].position]  # a tensor has no default
    given = [_REQUIRED if each is required else each for each in defaults]
    try:
        numbers = () if loop.numbers is None else loop.numbers(given)
    except TypeError:
        raise _error(operator, "it computes with a number that has no default") from None
    constants = tuple([None if number is _REQUIRED else number for number in numbers])
    try:
        made: np.ufunc = loop.library.function("<ufunc>")(loop.name, operator.base, operator.doc, constants)
    except AttributeError:
        raise _error(operator, "its library was built by an earlier version: run `opwright build`") from None
    return made


def _error(operator: Operator, why: str) -> AttributeError:
    return AttributeError(f"{operator.name} has no ufunc: {why}", name="ufunc", obj=operator)
