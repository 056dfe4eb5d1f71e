"""The methods of Tensor for classes that derive from it (`opwright.python_dispatch`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from opwright.context_managers.keys import exclude_keys
from opwright.names.late_bound import late_bound
from opwright_core.arrays.formats import Layout
from opwright_core.tensors.tensor import Tensor, install_methods

if TYPE_CHECKING:
    from opwright_core.arrays.devices import Device
    from opwright_core.dispatch.call.operator import Operator

Sub = TypeVar("Sub", bound="Tensor")


@install_methods
class Subclassable:
    """The methods of Tensor that make and handle instances of its subclasses; installed on Tensor."""

    __slots__ = ()

    @classmethod
    def __torch_dispatch__(
        cls, func: Operator, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Call the operator without asking any handler; a subclass puts its own handler instead of this one."""
        with exclude_keys("Python"):
            return func(*args, **(kwargs or {}))

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Call a function without asking classes, and return its tensors as instances of this one; NotImplemented where
        instances of another class that this one does not derive from are among the arguments."""
        return late_bound.handlers().preserved(cls, func, types, args, kwargs)

    @classmethod
    def has_dispatch_handler(cls) -> bool:
        """Whether the class has a `__torch_dispatch__` of its own, to be asked for operators on its instances."""
        handler: Any = cls.__torch_dispatch__
        own: Any = Subclassable.__torch_dispatch__
        return getattr(handler, "__func__", handler) is not own.__func__

    @staticmethod
    def _make_subclass(cls: type[Sub], data: Tensor, require_grad: bool = False) -> Sub:
        """Return an instance of a subclass over the memory of a tensor, without its history."""
        made: Sub = late_bound.handlers().make_subclass(cls, data, require_grad)
        return made

    @staticmethod
    def _make_wrapper_subclass(
        cls: type[Sub],
        size: Sequence[int],
        *,
        strides: Sequence[int] | None = None,
        storage_offset: int | None = None,
        dtype: object = None,
        layout: Layout = Layout.strided,
        device: Device | str | None = None,
        requires_grad: bool = False,
    ) -> Sub:
        """Return an instance of a subclass that has no data and looks like a tensor of this size, dtype and device.

        Operators on it reach the `__torch_dispatch__` of the class, which must have one: TypeError.
        """
        made: Sub = late_bound.handlers().make_wrapper(cls, size, strides, storage_offset, dtype, device, requires_grad)
        return made

    def as_subclass(self: Any, cls: type[Sub]) -> Sub:
        """Return an instance of a subclass over the same memory, at the same position in the graph."""
        made: Sub = late_bound.handlers().same_history(cls, self)
        return made
