"""Devices, and the backends behind them: the array type that holds the data, the dispatch key of its kernels.

NumPy is there from the start, CuPy from the first time a CUDA device or array is seen; `register_backend` adds others
from outside.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

import numpy as np

from opwright_core import keys
from opwright_core.arrays.dtypes import DType
from opwright_core.arrays.layouts import Shape
from opwright_core.errors import RegistrationError
from opwright_core.late_bound import late_bound
from opwright_core.locks.registry_lock import RegistryLock
from opwright_core.names.late_imports import import_late

Array = Any
_DEVICE = re.compile(r"([a-z_][a-z0-9_]*)(?::(0|[1-9][0-9]*))?")


class _OfItsBlock:
    """A method of the block that makes a device the default: Python calls that, and no function here, in which a signal
    could come between the two (Note [Interrupted blocks] of `opwright.context_managers.blocks`)."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, device: Any, owner: type) -> Any:
        return self if device is None else getattr(late_bound.handlers().block_of_device(device), self._name)


class Device:
    """A tensor's place: a backend's name and, where there are several of it, an index. Immutable.

    `Device("cuda:1")`, `Device("cuda", 1)`, `Device(device)`. Raises RuntimeError for an unknown name or a malformed
    string. As a block it is the device of tensors that factories make without one: `with Device("meta"):`.
    """

    __slots__ = ("index", "type")
    type: str
    index: int | None

    def __init__(self, type: str | Device, index: int | None = None) -> None:
        if isinstance(type, Device):
            name, index = type.type, type.index
        elif index is None:
            name, index = _parse(type)
        elif ":" in type:
            raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {type}")
        else:
            name = type
        _check_type(name, name)
        if index is not None and index < 0:
            raise RuntimeError(f"Device index must not be negative, got {index}")
        object.__setattr__(self, "type", name)
        object.__setattr__(self, "index", index)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Device is immutable: {name} cannot be set")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return f"device(type={self.type!r}" + (")" if self.index is None else f", index={self.index})")

    def __reduce__(self) -> tuple[Callable[..., Device], tuple[str, int | None]]:
        return Device, (self.type, self.index)

    __enter__, __exit__ = _OfItsBlock("__enter__"), _OfItsBlock("__exit__")


def _parse(text: str) -> tuple[str, int | None]:
    found = _DEVICE.fullmatch(text)
    if found is None:
        raise RuntimeError(f"Invalid device string: {text!r}")
    return found[1], None if found[2] is None else int(found[2])


def _check_type(name: str, text: str) -> None:
    if name in _by_name or name in ("cuda", "meta"):
        return
    from opwright_core import plugins

    plugins.load()
    if name not in _by_name:
        names = ", ".join(dict.fromkeys((*_by_name, "cuda", "meta")))
        raise RuntimeError(f"Expected one of {names} device type at start of device string: {text}{plugins.failures()}")


def as_device(spelling: object) -> Device:
    """Return a Device from a Device, a string, or anything that prints as one (`torch.device("cpu")`).

    Raises TypeError, RuntimeError.
    """
    if isinstance(spelling, Device):
        return spelling
    if isinstance(spelling, str):
        return Device(spelling)
    if isinstance(spelling, int) and not isinstance(spelling, bool):
        return Device("cuda", spelling)
    if type(spelling).__name__ == "device":
        return Device(str(spelling))
    raise TypeError(f"expected a device or its name, got {spelling!r}")


@dataclass(frozen=True, eq=False, slots=True)
class Backend:
    """One kind of array: its device name, its dispatch key and the few things the runtime asks of its arrays.

    `keys` is what a plain tensor of it carries. `strides` counts elements. `array_module` gives the `xp` of inline
    kernels.
    """

    name: str
    key: int
    keys: int
    array_type: type
    array_module: Callable[[], Any]
    shape: Callable[[Array], Shape]
    strides: Callable[[Array], Shape]
    dtype: Callable[[Array], DType]
    index: Callable[[Array], int | None]
    to_numpy: Callable[[Array], np.ndarray[Any, Any]]
    from_numpy: Callable[[np.ndarray[Any, Any], int | None], Array]
    data_ptr: Callable[[Array], int]

    def device(self, array: Array) -> Device:
        """Return the device that holds the array."""
        index = self.index(array)
        known = _devices.get((self.name, index))
        if known is None:
            known = _devices[self.name, index] = Device(self.name, index)
        return known

    def keys_of(self, array: Array) -> int:
        """Return the keys that a plain tensor on the array carries."""
        return self.keys


backends_lock: Final = RegistryLock()
_by_name: dict[str, Backend] = {}
_by_type: dict[type, Backend] = {}
_devices: dict[tuple[str, int | None], Device] = {}


def backend_names() -> list[str]:
    """Return the names of the backends that are there."""
    return list(_by_name)


def add_backend(backend: Backend) -> Backend:
    """Add a backend that is fully described. Raises RegistrationError where one of its parts is taken."""
    with backends_lock:
        for other in _by_name.values():
            if other.name == backend.name or other.key == backend.key or other.array_type is backend.array_type:
                raise RegistrationError(
                    f"backend {backend.name!r} of {backend.array_type.__name__} clashes with {other.name!r}: "
                    "a device name, a dispatch key and an array type belong to one backend"
                )
        _by_name[backend.name] = backend
        _forget_types()
    return backend


def remove_backend(backend: Backend) -> None:
    """Forget a backend, if it is there."""
    with backends_lock:
        if _by_name.get(backend.name) is backend:
            del _by_name[backend.name]
            _forget_types()


def _forget_types() -> None:
    """Drop what was found of arrays of other types."""
    _by_type.clear()
    _by_type.update({known.array_type: known for known in _by_name.values()})


def element_strides(array: Array) -> Shape:
    """Return the strides of a NumPy or CuPy array, in elements."""
    size = array.dtype.itemsize
    return tuple([stride // size for stride in array.strides])


NUMPY = add_backend(
    Backend(
        name="cpu",
        key=keys.CPU,
        keys=keys.DENSE_CPU,
        array_type=np.ndarray,
        array_module=lambda: np,
        shape=attrgetter("shape"),
        strides=element_strides,
        dtype=attrgetter("dtype"),
        index=lambda array: None,
        to_numpy=lambda array: array,
        from_numpy=lambda array, index: array,
        data_ptr=lambda array: int(array.__array_interface__["data"][0]),
    )
)


def _load_cuda() -> Backend:
    with backends_lock:
        known = _by_name.get("cuda")
        if known is not None:
            return known
        return add_backend(import_late("opwright_core.arrays.cuda_arrays").cuda_backend())


# Types that are told apart from arrays most often, and have no type between themselves and `object` that could be one.
_NO_ARRAYS = frozenset((list, tuple, int, float, complex, str, type(None)))


def find_backend(kind: type) -> Backend | None:
    """Return the backend whose arrays are of this type or a base of it; None if there is none.

    CuPy is loaded when one of its arrays comes by, plug-ins when an array of an unknown type does.
    """
    known = _by_type.get(kind)
    if known is not None or kind in _NO_ARRAYS:
        return known
    if kind.__module__.partition(".")[0] == "cupy" and "cuda" not in _by_name:
        _load_cuda()
    from opwright_core import plugins

    is_last = plugins.are_loaded()
    known = _find_by_base(kind)
    if known is None and not is_last:
        plugins.load()
        known = _find_by_base(kind)
    return known


def _find_by_base(kind: type) -> Backend | None:
    if _by_type.keys().isdisjoint(kind.__mro__):
        return None
    with backends_lock:
        known = next((_by_type[base] for base in kind.__mro__ if base in _by_type), None)
        return known and _by_type.setdefault(kind, known)


def backend_of(array: Array) -> Backend:
    """Return the backend of an array. Raises TypeError for anything that is no array of a registered backend."""
    backend = _by_type.get(type(array)) or find_backend(type(array))
    if backend is None:
        from opwright_core import plugins

        known = ", ".join(_by_name)
        raise TypeError(
            f"{type(array).__name__} is no array type of a backend; the backends are {known}{plugins.failures()}"
        )
    return backend


def shape_of(array: Array) -> tuple[int, ...]:
    """Return the sizes of an array of any backend. A Tensor's `shape` takes longer, since it is a Size."""
    return array.shape if type(array) is np.ndarray else (_by_type.get(type(array)) or backend_of(array)).shape(array)


def dtype_of(array: Array) -> DType:
    """Return the dtype of an array of any backend."""
    return array.dtype if type(array) is np.ndarray else (_by_type.get(type(array)) or backend_of(array)).dtype(array)


def backend_named(device: object) -> Backend:
    """Return the backend of a device, loading CuPy for the first CUDA one. Raises RuntimeError where there is none."""
    name = as_device(device).type
    backend = _by_name.get(name)
    if backend is not None:
        return backend
    if name == "cuda":
        return _load_cuda()
    if name == "meta":
        late_bound.fakes()  # not before anyone asks: it adds its backend
        return _by_name[name]
    raise RuntimeError(f"no backend holds data on device {name!r}")


def is_array(value: object) -> bool:
    """Whether the value is an array of a registered backend."""
    return find_backend(type(value)) is not None
