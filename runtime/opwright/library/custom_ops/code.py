"""The code of custom operators: rendered at their first call, shared by those of one declaration."""

from __future__ import annotations

import builtins
import linecache
import weakref
from collections.abc import Callable
from typing import Any, Final

from numpy import ndarray

from opwright.autograd.nodes import next_sequence
from opwright.context_managers.blocks import reset_modes
from opwright.inspection import schema as _schema
from opwright.library.custom_ops.recording import finish, keep, new_node, refuse_keyword
from opwright.library.custom_ops.results import result_checker
from opwright_core.arrays.devices import Device
from opwright_core.arrays.dtypes import CANONICAL, FLOATING
from opwright_core.arrays.formats import Layout, MemoryFormat
from opwright_core.core import fast
from opwright_core.dispatch.call.conversion import INTS, is_dtype, is_int_list
from opwright_core.dispatch.call.lookup import find0, find1, find2, find3, find_items, find_list, find_some
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.call.plain_arrays import call_with_arrays, check_with_arrays
from opwright_core.dispatch.compiled import signature_keys
from opwright_core.dispatch.registry.kernel_kinds import Lazy, Shim
from opwright_core.keys import AUTOGRAD, GRAD, VIEW
from opwright_core.random_state.generator import Generator
from opwright_core.state import Modes, active_modes, set_modes
from opwright_core.tensors.tensor import Tensor, wrap

__all__ = ["UNRECORDED", "FunctionKernel", "OperatorCode", "code_of", "takes_all_as_given"]

Function = Callable[..., Any]
_BELOW_AUTOGRAD: Final = ~(AUTOGRAD | GRAD | VIEW)
UNRECORDED: Final = Modes(0, _BELOW_AUTOGRAD)


def unrecorded(modes: Modes) -> Modes:
    """Return the modes given, without autograd."""
    return Modes(modes.include, modes.mask & _BELOW_AUTOGRAD, modes.top)


# What rendered code names.
_KNOWN: Final[dict[str, Any]] = {
    "CANONICAL": CANONICAL,
    "CPU": Device("cpu"),
    "Device": Device,
    "FLOATING": FLOATING,
    "GRAD": GRAD,
    "Generator": Generator,
    "INTS": INTS,
    "Layout": Layout,
    "MemoryFormat": MemoryFormat,
    "Tensor": Tensor,
    "UNRECORDED": UNRECORDED,
    "VIEW": VIEW,
    "__name__": "opwright.library.custom_ops.rendered",
    "active_modes": active_modes,
    "builtins": builtins,
    "find0": find0,
    "find1": find1,
    "find2": find2,
    "find3": find3,
    "find_items": find_items,
    "find_list": find_list,
    "find_some": find_some,
    "finish": finish,
    "is_dtype": is_dtype,
    "is_int_list": is_int_list,
    "keep": keep,
    "ndarray": ndarray,
    "new_node": new_node,
    "next_sequence": next_sequence,
    "refuse_keyword": refuse_keyword,
    "reset_modes": reset_modes,
    "set_modes": set_modes,
    "unrecorded": unrecorded,
    "wrap": wrap,
}


class OperatorCode:
    """The factories of one declaration: they make an operator's stub, a kernel of a user's function, and the wrapper
    that records a call. `linecache` has their text for as long as this lives."""

    __slots__ = ("__weakref__", "arrays_kernel_of", "kernel_of", "recorded_by", "stub_of")

    def __init__(self, declaration: str, arrays: tuple[int, ...], returns_arrays: bool) -> None:
        file = f"<custom operator {declaration}{_shown_arrays(arrays, returns_arrays)}>"
        functions, text = _schema.operator_functions(declaration, arrays, returns_arrays, file, _KNOWN)
        self.stub_of: Callable[[Operator], Function] = functions["stub_of"]
        self.kernel_of: Callable[[Function, Function], Function] = functions["kernel_of"]
        self.arrays_kernel_of: Callable[..., Function] | None = functions.get("arrays_kernel_of")
        self.recorded_by: Callable[..., Callable[[Function], Function]] = functions["recorded_by"]
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        weakref.finalize(self, linecache.cache.pop, file, None).atexit = False


def _shown_arrays(arrays: tuple[int, ...], returns_arrays: bool) -> str:
    return f" of arrays {arrays}{' to arrays' * returns_arrays}" if arrays or returns_arrays else ""


_codes: Final[weakref.WeakValueDictionary[tuple[str, tuple[int, ...], bool], OperatorCode]] = (
    weakref.WeakValueDictionary()
)


def code_of(declaration: str, arrays: tuple[int, ...] = (), returns_arrays: bool = False) -> OperatorCode:
    """Return the code of a declaration, for functions that take arrays at these positions. Must not be called with the
    registry's lock held: it may import the generator."""
    key = declaration, arrays, returns_arrays
    found = _codes.get(key)
    if found is None:
        found = _codes.setdefault(key, OperatorCode(*key))
    return found


def takes_all_as_given(operator: Operator) -> bool:
    """Whether functions are called with the operator's arguments as they are, by position, and it returns one new
    Tensor."""
    signature = operator.signature
    is_one = signature.returns == ("Tensor",) and signature.aliases == (None,)
    is_given = signature.positional == len(signature.names)
    return is_one and is_given and not any(argument.is_list for argument in signature.tensors)


class FunctionKernel(Lazy):
    """A user's function as a kernel of a custom operator: around it rendered code, which is made when a call needs it
    first. `arrays` are the positions of the arguments that it takes as arrays."""

    __slots__ = ("_arrays", "_code", "_function", "_operator", "_returns_arrays")

    def __init__(
        self, operator: Operator, function: Function, arrays: tuple[int, ...] = (), returns_arrays: bool = False
    ) -> None:
        self.loaded = None
        self.is_composite = self.is_trusted = False
        self._operator = operator
        self._function = function
        self._arrays = arrays
        self._returns_arrays = returns_arrays
        self._code: OperatorCode | None = None

    def load(self) -> None:
        """Render the code. Must not be called with the lock held."""
        operator = self._operator
        code = self._code = code_of(operator.declaration, self._arrays, self._returns_arrays)
        if operator.stub is None:
            stub = code.stub_of(operator)
            stub.__name__ = stub.__qualname__ = operator.base
            operator.stub = signature_keys.stub(stub, operator)
        check = result_checker(operator, self._function)
        on_arrays = None
        if code.arrays_kernel_of is not None:
            on_arrays = code.arrays_kernel_of(
                self._function,
                lambda result, args: check_with_arrays(operator, args, result, check),
                lambda *args: call_with_arrays(operator, args),
            )
        kernel = code.kernel_of(self._function, check)
        if fast is not None and not self._arrays and not self._returns_arrays and takes_all_as_given(operator):
            count = len(operator.signature.names)
            kernel = fast.UserKernel(kernel, self._function, count, (), check, UNRECORDED)
        self.loaded = Shim(kernel, None, on_arrays)

    def __repr__(self) -> str:
        return f"{self._function!r}"
