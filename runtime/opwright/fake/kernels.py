"""Kernels of users and composites on tensors without data: in the mode of their arguments, their results checked."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from opwright.errors import FakeKernelError
from opwright.fake.arrays import MetaArray, Place
from opwright.fake.context import FakeContext, running
from opwright.fake.modes import FakeTensorMode, active_mode, as_fake, mode_of
from opwright.pytree import tensors_of
from opwright_core.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["check_fake_kernel", "fake_kernel", "in_mode", "mixed"]

Function = Callable[..., Any]
_F = TypeVar("_F", bound=Callable[..., Any])


def in_mode(function: Function) -> Function:
    """Return a kernel over other operators, run in the mode of its arguments: what it makes anew is fake too."""

    def call(*args: Any) -> Any:
        mode = mode_of(args)
        if mode is None or mode is active_mode():
            return function(*args)
        with mode:
            return function(*args)

    return call


def fake_kernel(name: str) -> Callable[[_F], _F]:
    """Return a decorator of generated fakes whose kernel is written by hand: `get_ctx()` works there, for `name`."""

    def decorate(function: _F) -> _F:
        @functools.wraps(function)
        def call(*args: Any) -> Any:
            outer = running.get()
            try:
                running.set(FakeContext(name, mode_of(args) or active_mode()))
                return function(*args)
            finally:
                running.set(outer)

        return cast(_F, call)

    return decorate


def check_fake_kernel(operator: Operator, function: Function) -> Function:
    """Return a user's fake kernel, run in the mode of its arguments, with a context for `get_ctx()`; what it returns is
    without data, and on the device of the arguments where it names none."""

    run = in_mode(function)

    def call(*args: Any) -> Any:
        outer = running.get()
        try:
            running.set(FakeContext(operator.name, mode_of(args) or active_mode()))
            result = run(*args)
        finally:
            running.set(outer)
        place = next((tensor.array.place for tensor in tensors_of(args) if type(tensor.array) is MetaArray), None)
        return _checked(operator, result, place)

    return call


def _checked(operator: Operator, result: Any, place: Place | None) -> Any:
    for tensor in tensors_of(result if isinstance(result, (tuple, list)) else (result,)):
        array = tensor.array
        if type(array) is not MetaArray:
            raise FakeKernelError(
                f"the fake kernel of {operator.name} returned a tensor with data, on {tensor.device}: it has to make "
                'its results from its arguments (x.new_empty(shape), opwright.empty_like(x)) or on device="meta"'
            )
        if place is not None and array.place.device.type == "meta" and place.device.type != "meta":
            tensor.keys = tensor.keys & ~array.place.keys | place.keys
            array.place = place
    return result


def mixed(operator: Operator) -> Function:
    """Return a kernel for calls that have real tensors among those without data, or in a FakeTensorMode."""

    def call(*args: Any) -> Any:
        mode = mode_of(args) or active_mode()
        if mode is not None and not mode.allow_non_fake_inputs:
            raise FakeKernelError(_real_among_fake(operator, args))
        for position in operator.signature.written:
            if any(type(tensor.array) is not MetaArray for tensor in tensors_of((args[position],))):
                raise FakeKernelError(
                    f"{operator.name}: argument '{operator.signature.names[position]}' is a real tensor, and what "
                    "would be written to it has no data"
                )
        converted = [_converted(value, mode) for value in args]
        return operator.call(*converted)

    return call


def _converted(value: Any, mode: FakeTensorMode | None) -> Any:
    if isinstance(value, Tensor):
        return as_fake(value, mode)
    if type(value) is list:
        return [_converted(item, mode) for item in value]
    return value


def _real_among_fake(operator: Operator, args: tuple[Any, ...]) -> str:
    for name, value in zip(operator.signature.names, args, strict=True):
        for tensor in tensors_of((value,)):
            if type(tensor.array) is not MetaArray:
                what = f"{tensor.dtype}{list(tensor.shape)} on {tensor.device}"
                return (
                    f"{operator.name}: argument '{name}' is a real tensor ({what}), but the call is in a "
                    "FakeTensorMode. Convert it first, with mode.from_tensor(tensor), or make the mode with "
                    "allow_non_fake_inputs=True"
                )
    return f"{operator.name}: real tensors met fake ones"
