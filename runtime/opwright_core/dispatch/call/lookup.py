"""The search of generated stubs for the kernel of a call.

Each function takes the operator, or the operators of a name of which one handles most calls, and the call's tensors. It
returns the kernel that is stored for their keys, changed by the thread's modes. Where there is none yet, or something
is no tensor, it returns what finds out more: `Operator.call`, or `Overloaded.otherwise`. It raises nothing, so that
errors of kernels have no others behind them. Plain arrays have an entry of their own while no mode is on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from numpy import ndarray

from opwright_core.keys import ARRAYS
from opwright_core.state import active_modes

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator
    from opwright_core.dispatch.package.generated import Overloaded

__all__ = ["find0", "find1", "find2", "find3", "find_items", "find_list", "find_some"]

Kernel = Callable[..., Any]
# What is no tensor has no keys, or no table has them.
_MISSES: Final = (AttributeError, KeyError, TypeError)


def find0(operator: Operator | Overloaded) -> Kernel:
    """Return the kernel for a call without tensors."""
    modes = active_modes()
    try:
        return operator.table[0 if modes is None else modes.include & modes.mask]
    except KeyError:
        pass
    return operator.otherwise


def find1(operator: Operator | Overloaded, first: Any) -> Kernel:
    """Return the kernel for one tensor."""
    modes = active_modes()
    try:
        if modes is None:
            if type(first) is ndarray:
                return operator.table[ARRAYS]
            return operator.table[first.keys]
        return operator.table[(first.keys | modes.include) & modes.mask]
    except _MISSES:
        pass
    return operator.otherwise


def find2(operator: Operator | Overloaded, first: Any, second: Any) -> Kernel:
    """Return the kernel for two tensors."""
    modes = active_modes()
    try:
        if modes is None:
            if type(first) is ndarray and type(second) is ndarray:
                return operator.table[ARRAYS]
            return operator.table[first.keys | second.keys]
        return operator.table[(first.keys | second.keys | modes.include) & modes.mask]
    except _MISSES:
        pass
    return operator.otherwise


def find3(operator: Operator | Overloaded, first: Any, second: Any, third: Any) -> Kernel:
    """Return the kernel for three tensors."""
    modes = active_modes()
    try:
        if modes is None:
            if type(first) is ndarray and type(second) is ndarray and type(third) is ndarray:
                return operator.table[ARRAYS]
            return operator.table[first.keys | second.keys | third.keys]
        return operator.table[(first.keys | second.keys | third.keys | modes.include) & modes.mask]
    except _MISSES:
        pass
    return operator.otherwise


def find_some(operator: Operator | Overloaded, required: tuple[Any, ...], *optional: Any) -> Kernel:
    """Return the kernel for tensors of which the `optional` ones may be None."""
    modes = active_modes()
    keys = 0
    has_arrays = False
    try:
        for tensor in required:
            if type(tensor) is ndarray:
                has_arrays = True
            else:
                keys |= tensor.keys
        for tensor in optional:
            if type(tensor) is ndarray:
                has_arrays = True
            elif tensor is not None:
                keys |= tensor.keys
        if has_arrays:
            return operator.otherwise if keys or not required or modes is not None else operator.table[ARRAYS]
        return operator.table[keys if modes is None else (keys | modes.include) & modes.mask]
    except _MISSES:
        pass
    return operator.otherwise


def find_list(operator: Operator | Overloaded, tensors: Any) -> Kernel:
    """Return the kernel for a list of tensors."""
    if type(tensors) is not list:
        return operator.otherwise
    modes = active_modes()
    keys = 0
    try:
        for tensor in tensors:
            keys |= tensor.keys
        return operator.table[keys if modes is None else (keys | modes.include) & modes.mask]
    except _MISSES:
        pass
    return operator.otherwise


def find_items(operator: Operator | Overloaded, required: tuple[Any, ...], *lists: Any) -> Kernel:
    """Return the kernel for tensors, and lists of tensors of which some may be None."""
    modes = active_modes()
    keys = 0
    try:
        for tensor in required:
            keys |= tensor.keys
        for tensors in lists:
            if type(tensors) is not list:
                return operator.otherwise
            for tensor in tensors:
                if tensor is not None:
                    keys |= tensor.keys
        return operator.table[keys if modes is None else (keys | modes.include) & modes.mask]
    except _MISSES:
        pass
    return operator.otherwise
