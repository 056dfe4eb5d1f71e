"""The backends that are registered from outside: `register_backend`."""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final

import numpy as np

from opwright.backends.numpy_fallback import fall_back_to_numpy
from opwright.user_kernels.registering import register_array_kernel
from opwright_core import keys
from opwright_core.arrays import layouts
from opwright_core.arrays.devices import (
    Array,
    Backend,
    add_backend,
    backend_named,
    backend_names,
    backends_lock,
    remove_backend,
)
from opwright_core.arrays.dtypes import as_dtype
from opwright_core.arrays.layouts import Shape
from opwright_core.errors import RegistrationError

__all__ = ["register_backend"]

_NAME: Final = re.compile(r"[a-z_][a-z0-9_]*")
_PRIVATE_USE: Final = ("PrivateUse1", "PrivateUse2", "PrivateUse3")


class RegisteredBackend(Backend):
    """A backend from outside, which kernels are registered for."""

    __slots__ = ()

    def impl(self, operator: str, kernel: Callable[..., Any]) -> Any:
        """Register a kernel on arrays of this backend for, say, `"aten::add.Tensor"`; the handle can `.remove()` it."""
        return register_array_kernel(operator, self.key, kernel)

    def kernel(self, operator: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Return a decorator that registers a function as `impl` does."""

        def register(kernel: Callable[..., Any]) -> Callable[..., Any]:
            register_array_kernel(operator, self.key, kernel)
            return kernel

        return register

    def fall_back_to_numpy(self, *, warn: bool = False, error_on_views: bool = False) -> Any:
        """Run every operator that the backend has no kernel for by the CPU's; the handle can `.remove()` it.

        Arrays go to NumPy and back by `to_numpy` and `from_numpy`. Writes to memory of several tensors need a kernel of
        `aten::copy_`, views one of `aten::as_strided`, unless `to_numpy` and `from_numpy` share memory. Without, views
        are copies, with a warning for each operator, or a RuntimeError with `error_on_views`. With `warn` the first
        call of each operator that is served so warns, too.
        """
        return fall_back_to_numpy(self, warn=warn, error_on_views=error_on_views)

    def remove(self) -> None:
        """Forget the backend; its tensors can no longer be made. Kernels are removed through their own handles."""
        remove_backend(self)


def register_backend(
    name: str,
    key: str | None = None,
    *,
    array_type: type,
    from_numpy: Callable[..., Array],
    to_numpy: Callable[[Array], np.ndarray[Any, Any]] = np.asarray,
    shape: Callable[[Array], Any] = attrgetter("shape"),
    dtype: Callable[[Array], Any] = attrgetter("dtype"),
    strides: Callable[[Array], Any] | None = None,
    index: Callable[[Array], int | None] | None = None,
    data_ptr: Callable[[Array], int] = id,
    array_module: Callable[[], Any] | None = None,
) -> RegisteredBackend:
    """Add a backend: arrays of `array_type` become tensors on device `name`, whose kernels stand at dispatch key `key`,
    the first of PrivateUse1..3 that is free if none is given.

    `from_numpy(ndarray)` makes an array and must be given (with a second parameter it is told the device index); the
    rest has defaults: `to_numpy(array)` (`numpy.asarray`), `shape(array)` and `dtype(array)` (the attributes of these
    names; any spelling of a dtype), `strides(array)` in elements (None: always row-major), `index(array)` (None: one
    device without an index), `data_ptr(array)`, and `array_module()`, the namespace that stands for `xp`, where kernels
    are inline expressions. `Backend.fall_back_to_numpy()` handles what it has no kernel for. Nothing else is asked of
    an array: no methods, no protocol. Raises RegistrationError if the name, the key or the type is taken, or the key is
    none of PrivateUse1..3.
    """
    if key is not None and key not in _PRIVATE_USE:
        raise RegistrationError(
            f"backend {name!r}: its key must be PrivateUse1, PrivateUse2 or PrivateUse3, not {key!r}"
        )
    if _NAME.fullmatch(name) is None:
        raise RegistrationError(f"backend {name!r}: a device name is lower-case letters, digits and underscores")

    def row_major(array: Array) -> Shape:
        return layouts.contiguous_strides(tuple(shape(array)))

    def no_module() -> Any:
        raise NotImplementedError(f"backend {name!r} has no array module: inline kernels cannot run on it")

    takes_index = from_numpy.__code__.co_argcount > 1 if hasattr(from_numpy, "__code__") else False
    own_strides = row_major if strides is None else strides
    with backends_lock:
        bit = keys.DispatchKey.parse(key or _free_key(name)).bit
        made = RegisteredBackend(
            name=name,
            key=bit,
            keys=bit | keys.ADINPLACEORVIEW | keys.autograd_of(bit),
            array_type=array_type,
            array_module=array_module or no_module,
            shape=lambda array: tuple(shape(array)),
            strides=lambda array: tuple(own_strides(array)),
            dtype=lambda array: as_dtype(dtype(array)),
            index=index or (lambda array: None),
            to_numpy=to_numpy,
            from_numpy=from_numpy if takes_index else (lambda array, index: from_numpy(array)),
            data_ptr=data_ptr,
        )
        add_backend(made)
        return made


def _free_key(name: str) -> str:
    """Return the first PrivateUse key that no backend has. The lock is held. Raises RegistrationError."""
    owners = {backend_named(each).key: each for each in backend_names()}
    for key in _PRIVATE_USE:
        if keys.DispatchKey.parse(key).bit not in owners:
            return key
    taken = ", ".join(f"{key} by {owners[keys.DispatchKey.parse(key).bit]!r}" for key in _PRIVATE_USE)
    raise RegistrationError(f"backend {name!r}: no dispatch key is left for it; taken are {taken}")
