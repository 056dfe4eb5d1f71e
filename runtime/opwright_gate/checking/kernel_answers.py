"""Answers of a project's own kernels, before results are made of them: an argument is copied then, and a view."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from functools import partial
from types import FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from opwright_core.arrays.overlap import may_share
from opwright_core.dispatch.package.kernel_rows import Row
from opwright_core.dispatch.package.row_shims import general_shim
from opwright_core.dispatch.registry.kernel_kinds import Lazy
from opwright_core.keys import DispatchKey
from opwright_core.texts.row_texts import is_expression
from opwright_gate.checking.calls import Call, Operand
from opwright_gate.checking.declared import Declared

__all__ = ["shared_answers"]

Seen = list[tuple[str, Operand, bool]]  # a kernel, what its result lies in, and whether it is that itself
_OURS: Final = (
    "numpy",
    "opwright",
    "opwright_core",
    "opwright_kernels",
)  # whose kernels leave copies to the plan on purpose


def shared_answers(call: Call, declared: Declared) -> Iterator[str]:
    """Yield what a kernel of the operator, a function that its schema file names, returned of its arguments' memory."""
    general = None if any(declared.returns) else _general(call)
    if general is None:
        return
    seen: Seen = []
    general(call.operands, seen)(*call.arguments)
    for kernel, operand, is_same in seen:
        what = f"{operand.name} itself" if is_same else f"an array in the memory of {operand.name}"
        yield (
            f"{call.operator.name}: its kernel {kernel} returns {what}, and the declaration says that the result is "
            f"new, so every call copies it: return a new array (x.copy()), or declare a view (`Tensor(a)`)\n"
            f"Declaration: {call.operator.name}{call.operator.declaration}"
        )


def _general(call: Call) -> Callable[..., Callable[..., Any]] | None:
    """Return what makes the operator's shim with functions of the project that note their answers, where all arrays are
    NumPy's and none is written."""
    is_numpy = all(type(each.tensor.array) is np.ndarray for each in call.operands)
    if call.operator.signature.written or not is_numpy:
        return None
    registered = call.operator.registrations.get(DispatchKey.CPU, ())
    kernel = registered[-1].kernel if registered else None
    if not isinstance(kernel, Lazy) or kernel.is_composite:
        return None
    found = getattr(importlib.import_module(kernel.module), kernel.general)
    if isinstance(found, Row):
        return None if is_expression(found) else partial(_of_row, found)
    return partial(_of_function, found) if isinstance(found, FunctionType) else None


def _of_row(row: Row, operands: list[Operand], seen: Seen) -> Callable[..., Any]:
    module = sys.modules.get(row.function.__module__)
    if not _is_of_project(module):
        return general_shim(row)
    noting = _noting(f"{row.function.__module__}:{row.function.__name__}", row.function, operands, seen)
    return general_shim(row.variant(row.kinds, row.writes, is_inplace=row.is_inplace, function=noting))


def _of_function(general: FunctionType, operands: list[Operand], seen: Seen) -> Callable[..., Any]:
    watched = {
        name: _Watched(value, operands, seen) if _is_of_project(value) else value
        for name, value in general.__globals__.items()
    }
    return FunctionType(general.__code__, watched, general.__name__, general.__defaults__)


def _is_of_project(value: object) -> bool:
    return isinstance(value, ModuleType) and value.__name__.partition(".")[0] not in _OURS


class _Watched:
    """A module whose functions note which operands their results lie in."""

    def __init__(self, module: ModuleType, operands: list[Operand], seen: Seen) -> None:
        self._module = module
        self._operands = operands
        self._seen = seen

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._module, name)
        if not isinstance(function, FunctionType):
            return function
        return _noting(f"{self._module.__name__}:{name}", function, self._operands, self._seen)


def _noting(kernel: str, function: Callable[..., Any], operands: list[Operand], seen: Seen) -> Callable[..., Any]:
    """Return the function, noting which operands its results lie in."""

    def called(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        for array in result if isinstance(result, tuple | list) else (result,):
            for operand in operands if isinstance(array, np.ndarray) else ():
                if array is operand.tensor.array or may_share(array, operand.tensor.array):
                    seen.append((kernel, operand, array is operand.tensor.array))
        return result

    return called
