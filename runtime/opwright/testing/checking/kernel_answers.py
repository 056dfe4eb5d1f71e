"""Answers of a project's own kernels, before results are made of them: an argument is copied then, and a view."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from opwright.arrays.overlap import may_share
from opwright.dispatch.kernel_forms import Lazy
from opwright.keys import DispatchKey
from opwright.testing.checking.calls import Call, Operand
from opwright.testing.checking.declared import Declared

__all__ = ["shared_answers"]

_OURS: Final = ("numpy", "opwright", "opwright_kernels")  # whose kernels leave copies to the plan on purpose


def shared_answers(call: Call, declared: Declared) -> Iterator[str]:
    """Yield what a kernel of the operator, a function that its schema file names, returned of its arguments' memory."""
    general = None if any(declared.returns) else _general(call)
    if general is None:
        return
    seen: list[tuple[str, Operand, bool]] = []
    watched = {
        name: _Watched(value, call.operands, seen) if _is_of_project(value) else value
        for name, value in general.__globals__.items()
    }
    FunctionType(general.__code__, watched, general.__name__, general.__defaults__)(*call.arguments)
    for kernel, operand, is_same in seen:
        what = f"{operand.name} itself" if is_same else f"an array in the memory of {operand.name}"
        yield (
            f"{call.operator.name}: its kernel {kernel} returns {what}, and the declaration says that the result is "
            f"new, so every call copies it: return a new array (x.copy()), or declare a view (`Tensor(a)`)\n"
            f"Declaration: {call.operator.name}{call.operator.declaration}"
        )


def _general(call: Call) -> FunctionType | None:
    """Return the generated function that calls the kernel, where all arrays are NumPy's and none is written."""
    is_numpy = all(type(each.tensor.array) is np.ndarray for each in call.operands)
    if call.operator.signature.written or not is_numpy:
        return None
    registered = call.operator.registrations.get(DispatchKey.CPU, ())
    kernel = registered[-1].kernel if registered else None
    if not isinstance(kernel, Lazy) or kernel.is_composite:
        return None
    found = getattr(importlib.import_module(kernel.module), kernel.general)
    return found if isinstance(found, FunctionType) else None


def _is_of_project(value: object) -> bool:
    return isinstance(value, ModuleType) and value.__name__.partition(".")[0] not in _OURS


class _Watched:
    """A module whose functions note which operands their answers lie in."""

    def __init__(self, module: ModuleType, operands: list[Operand], seen: list[tuple[str, Operand, bool]]) -> None:
        self._module = module
        self._operands = operands
        self._seen = seen

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._module, name)
        is_kernel = isinstance(function, FunctionType)
        return self._noting(f"{self._module.__name__}:{name}", function) if is_kernel else function

    def _noting(self, kernel: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **kwargs: Any) -> Any:
            answer = function(*args, **kwargs)
            for array in answer if isinstance(answer, tuple | list) else (answer,):
                for operand in self._operands if isinstance(array, np.ndarray) else ():
                    if array is operand.tensor.array or may_share(array, operand.tensor.array):
                        self._seen.append((kernel, operand, array is operand.tensor.array))
            return answer

        return called
