"""Classes that handle functions: `__torch_function__`, asked at the key PreDispatch, before anything else sees a call.

An instance of a Tensor subclass has the key, unless the class has switched it off. Backward passes are below it.
Semantics: `torch.overrides`, PyTorch's page "Extending torch with a Tensor-like type".
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, cast

from opwright.context_managers.blocks import ThreadBlock, modes_or_none
from opwright.context_managers.keys import exclude_keys
from opwright.creation.factories import FACTORIES
from opwright_core.keys import PRE_DISPATCH
from opwright_core.keysets import KeySet
from opwright_core.names.late_imports import import_late
from opwright_core.state import MODES, NO_MODES, Modes, active_modes, set_modes
from opwright_core.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = [
    "TorchFunctionMode", "ask", "ask_modes", "ask_of_members", "call_overrides", "disabled_torch_function",
    "entered_modes", "handles_functions", "has_torch_function", "is_disabled", "overloaded_arguments", "preserved",
    "set_entered_modes",
]  # fmt: skip

Function = Callable[..., Any]


def call_overrides(operator: Operator, keyset: KeySet, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what the classes of the arguments make of a call. Raises TypeError where all return NotImplemented."""
    overloaded = overloaded_arguments((*args, *kwargs.values()))
    mode = _ENTERED.get()
    if mode is not None:
        return _ask_mode(mode, _public_function(operator), overloaded, args, kwargs)
    if not overloaded:  # the key was included by hand
        return operator.redispatch(keyset & KeySet.after("PreDispatch"), *args, **kwargs)
    return ask(overloaded, _public_function(operator), args, kwargs)


class TorchFunctionMode(ThreadBlock):
    """A block in which `__torch_function__` is called instead of every function over operators, factories too.

    Modes nest: the innermost is asked first, and within its handler it is off. Semantics:
    `torch.overrides.TorchFunctionMode`.
    """

    def __torch_function__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Return the result of a call of `func`; a subclass must say it."""
        raise NotImplementedError(f"{type(self).__name__} must define __torch_function__")

    def _switch_on(self) -> Self:
        _ENTERED.set(_Entered(self, _ENTERED.get()))
        modes = active_modes() or NO_MODES
        set_modes(Modes(modes.include | PRE_DISPATCH, modes.mask, modes.top))
        return self


class _Entered(NamedTuple):
    mode: TorchFunctionMode
    outer: _Entered | None


_ENTERED: Final[ContextVar[_Entered | None]] = ContextVar("opwright_function_modes", default=None)
TorchFunctionMode._variables = (MODES, _ENTERED)


def entered_modes() -> list[TorchFunctionMode]:
    """Return the modes that are on in this thread, the innermost first."""
    found, entered = [], _ENTERED.get()
    while entered is not None:
        found.append(entered.mode)
        entered = entered.outer
    return found


def set_entered_modes(modes: Sequence[TorchFunctionMode]) -> None:
    """Have these modes on, the innermost first."""
    entered: _Entered | None = None
    for mode in reversed(modes):
        entered = _Entered(mode, entered)
    _ENTERED.set(entered)


def ask_modes(function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Return what the innermost mode says to a call of a function that is no operator."""
    entered = _ENTERED.get()
    if entered is not None:
        return _ask_mode(entered, function, overloaded_arguments(args), args, kwargs)
    with exclude_keys("PreDispatch"):  # the key was included by hand
        return function(*args, **kwargs)


def _ask_mode(entered: _Entered, function: Any, overloaded: Sequence[Any], args: Any, kwargs: Any) -> Any:
    """Return what the innermost mode says to a call; it is off meanwhile. Classes are asked if it says nothing."""
    modes = active_modes() or NO_MODES
    try:
        _ENTERED.set(entered.outer)
        if entered.outer is None:
            set_modes(modes_or_none(modes.include & ~PRE_DISPATCH, modes.mask, modes.top))
        types = tuple(map(type, overloaded))
        result = entered.mode.__torch_function__(function, types, args, kwargs)
        return ask(overloaded, function, args, kwargs) if result is NotImplemented else result
    finally:
        try:
            _ENTERED.set(entered)
        finally:
            set_modes(modes)


def ask(overloaded: Sequence[Any], function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Return what the first class says that handles a call of a function. Raises TypeError where none does."""
    types = tuple(map(type, overloaded))
    for each in overloaded:
        handler = each.__torch_function__
        result = handler(function, types, args, dict(kwargs)) if kwargs else handler(function, types, args)
        if result is not NotImplemented:
            return result
    kinds = "\n".join(f"  - {'tensor subclass' if issubclass(kind, Tensor) else 'object of'} {kind}" for kind in types)
    raise TypeError(
        f"Multiple dispatch failed for '{getattr(function, '__name__', function)}'; all __torch_function__ handlers "
        f"returned NotImplemented:\n\n{kinds}"
    )


def preserved(cls: type, function: Any, types: Iterable[type], args: Sequence[Any], kwargs: Any) -> Any:
    """Call a function, and return its tensors as instances of the class: what `Tensor.__torch_function__` does."""
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    with exclude_keys("PreDispatch"):
        result = function(*args, **(kwargs or {}))
        return result if _is_getter(function, _NOT_WRAPPED) else _as_instances(result, cls)


def disabled_torch_function(
    function: Function, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
) -> Any:
    """Call a function without asking any class: as `__torch_function__` of a class, its results are plain Tensors."""
    with exclude_keys("PreDispatch"):
        return function(*args, **(kwargs or {}))


def is_disabled() -> bool:
    """Whether classes are not asked in calls of this thread: within a handler, or a block that says so."""
    modes = active_modes()
    return modes is not None and not modes.mask & PRE_DISPATCH


def handles_functions(cls: type) -> bool:
    """Whether instances of a class are asked: Tensor's own are not, nor those of classes that switched it off, or that
    handle operators and say nothing of functions."""
    handler = getattr(cls, "__torch_function__", None)
    if handler is None or cls is Tensor or handler is disabled_torch_function:
        return False
    if not issubclass(cls, Tensor) or not cls.has_dispatch_handler():
        return True
    return not _has_tensors_own(cls)


def _has_tensors_own(cls: Any) -> bool:
    """Whether a class of Tensors says nothing of functions."""
    handler, own = cls.__torch_function__, cast(Any, Tensor.__torch_function__)
    return getattr(handler, "__func__", handler) is own.__func__


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether the class of one of these values is asked about functions that are called with them."""
    return not is_disabled() and any(handles_functions(type(each)) for each in relevant_args)


def overloaded_arguments(values: Iterable[Any]) -> list[Any]:
    """Return the first value of each class that is asked, in the order of arguments, subclasses before bases."""
    found: list[Any] = []
    for value in values:
        for each in value if isinstance(value, list | tuple) else (value,):
            kind = type(each)
            if kind is Tensor or not handles_functions(kind) or any(type(other) is kind for other in found):
                continue
            position = next((p for p, other in enumerate(found) if issubclass(kind, type(other))), len(found))
            found.insert(position, each)
    return found


def _public_function(operator: Operator) -> Any:
    """Return the function that a program calls for an operator, `opwright.add`; the operator itself, where none is."""
    if operator.namespace == "aten" and operator.base in FACTORIES:
        return getattr(import_late("opwright"), operator.base)  # it takes `requires_grad`, too
    for each in (operator, *operator.siblings.values()):  # a variant with `out=` has no function of its own
        module = sys.modules.get(getattr(each.stub, "__module__", None) or "")
        found = getattr(module, operator.base, None)
        if found is not None:
            return found
    return operator


def _as_instances(value: Any, cls: type) -> Any:
    if isinstance(value, Tensor):
        return value if isinstance(value, cls) else value.as_subclass(cls)
    if type(value) is tuple or type(value) is list:
        return type(value)([_as_instances(item, cls) for item in value])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[_as_instances(item, cls) for item in value])
    return value


# Members of Tensor that are no operators, of which classes are asked all the same.
_PROPERTIES: Final = (
    "shape", "dtype", "device", "ndim", "layout", "itemsize", "nbytes", "requires_grad", "is_leaf", "grad", "grad_fn",
    "data", "T", "mT", "H", "mH", "real", "imag", "is_cuda", "is_meta",
)  # fmt: skip
_METHODS: Final = (
    "size", "stride", "dim", "numel", "nelement", "ndimension", "element_size", "is_contiguous", "storage_offset",
    "item", "tolist", "numpy", "backward", "register_hook", "requires_grad_", "retain_grad", "data_ptr", "cpu", "cuda",
    "__getitem__", "__setitem__", "__len__", "__bool__", "__float__", "__int__", "__index__", "__repr__", "__format__",
    "__contains__", "__array__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__",
)  # fmt: skip
_MARK: Final = "_opwright_asked"
_NOT_WRAPPED: Final = ("grad", "_base")


def ask_of_members(cls: type) -> None:
    """Have a class with a handler of its own asked about members of Tensor that are no operators: once, when its first
    instance is made."""
    if _MARK in vars(cls) or _has_tensors_own(cls):
        return
    setattr(cls, _MARK, True)
    own = {name for kind in cls.__mro__[: cls.__mro__.index(Tensor)] for name in vars(kind)}
    for name in (*_PROPERTIES, *_METHODS):
        member = inspect.getattr_static(Tensor, name, None)
        if name in own or member is None:
            continue
        setattr(cls, name, _asked_property(member) if hasattr(type(member), "__set__") else _asked_method(name, member))
    if "__eq__" not in own:
        cls.__hash__ = Tensor.__hash__  # type: ignore[method-assign]  # which Python takes away with `__eq__`


def _asked_property(member: Any) -> property:
    def read(self: Any) -> Any:
        return member.__get__(self) if is_disabled() else ask((self,), member.__get__, (self,), {})

    def write(self: Any, value: Any) -> Any:
        return member.__set__(self, value) if is_disabled() else ask((self,), member.__set__, (self, value), {})

    return property(read, write)


def _asked_method(name: str, member: Any) -> Function:
    @functools.wraps(member)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_disabled():
            return member(self, *args, **kwargs)
        return ask(overloaded_arguments((self, *args)) or (self,), member, (self, *args), kwargs)

    return method


def _is_getter(function: Any, names: Iterable[str]) -> bool:
    """Whether a function reads one of these properties of Tensor."""
    owner = getattr(function, "__self__", None)
    return owner is not None and any(owner is inspect.getattr_static(Tensor, name, None) for name in names)
