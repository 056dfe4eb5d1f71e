"""Tensors from Python values, arrays and other libraries: `tensor`, `asarray`, `from_numpy`, `from_dlpack`."""

from __future__ import annotations

import array as buffers
import functools
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from opwright.creation.asking import ask_modes, asking_modes
from opwright.creation.factories import requires_grad_of
from opwright.names.late_bound import late_bound
from opwright_core.arrays.devices import Array, as_device, backend_named, backend_of, is_array
from opwright_core.arrays.dtypes import (
    CANONICAL,
    COMPLEX,
    FLOATING,
    INTEGRAL,
    DType,
    as_dtype,
    bool_,
    dtype_name,
    get_default_dtype,
    to_complex,
    uint64,
)
from opwright_core.arrays.layouts import Shape, contiguous_strides
from opwright_core.arrays.promotion import promote, scalar_dtype
from opwright_core.arrays.sizes import is_symbolic
from opwright_core.arrays.storage import Extra, Storage, new_array
from opwright_core.core import fast
from opwright_core.keys import ADINPLACEORVIEW, AUTOGRAD, INFERENCE, META, PRE_DISPATCH, WATCHED
from opwright_core.names.late_imports import import_late
from opwright_core.plans.plan import cast_array
from opwright_core.state import Modes, active_modes
from opwright_core.tensors import dlpack
from opwright_core.tensors.given_arrays import check_steps, unsupported_dtype, without_subclass
from opwright_core.tensors.tensor import Tensor, wrap

_PLAIN_NUMBERS = frozenset((bool, int, float))


def tensor(
    data: Any, *, dtype: object = None, device: object = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """Return a new tensor from a number, nested sequences, an array or a tensor, always copied.

    Without `dtype`: bool, int64, the default dtype or its complex partner for Python numbers, the dtype that holds all
    of several; that of arrays and NumPy scalars. Raises ValueError for ragged sequences, TypeError for what is no
    number, RuntimeError where a value does not fit the dtype, or gradients are asked of integers. `pin_memory` has no
    effect.
    """
    modes = active_modes()
    if modes is not None and modes.include & PRE_DISPATCH:
        return ask_modes(tensor, data, dtype=dtype, device=device, requires_grad=requires_grad or None)
    made = _new_tensor(data, None if dtype is None else as_dtype(dtype), device, modes)
    return requires_grad_of("tensor", made, requires_grad) if requires_grad else made


def _new_tensor(data: Any, dtype: DType | None, device: object, modes: Modes | None) -> Tensor:
    """Return a new tensor on the device; in a FakeTensorMode, one without data that claims to be there; where a
    transform is on, one of its level."""
    if is_symbolic(data):
        aten = import_late("opwright.namespaces").aten
        return aten["scalar_tensor.default"](data, dtype=dtype or scalar_dtype(data), device=device)  # type: ignore[no-any-return]
    if modes is None:
        if fast is not None and device is None:
            array = fast.array_of_numbers(data, dtype, get_default_dtype())
            if array is not None:
                made: Tensor = wrap(array)
                return made
        return _marked(wrap(_new_array(data, dtype, device)))
    is_fake = modes.include & META
    made = wrap(_new_array(data, dtype, None if is_fake else device))
    made = late_bound.fakes().as_fake_on(made, device) if is_fake else _marked(made)
    if modes.top is not None:
        made = late_bound.levels().lifted(made)
    elif modes.include & WATCHED:
        made = late_bound.handlers().lifted(made)
    return made


@asking_modes
def as_tensor(data: Any, dtype: object = None, device: object = None) -> Tensor:
    """Return a tensor of the data: over its memory, if that is of this dtype and device, else a new one."""
    wanted = None if dtype is None else as_dtype(dtype)
    if (
        isinstance(data, Tensor)
        and wanted in (None, data.dtype)
        and (device is None or as_device(device) == data.device)
    ):
        return data
    if not isinstance(data, Tensor) and is_array(data):
        backend = backend_of(data)
        here = device is None or as_device(device).type == backend.name
        if here and wanted in (None, backend.dtype(data)):
            return from_numpy(data) if isinstance(data, np.ndarray) else wrap(data)
    return tensor(data, dtype=dtype, device=device)


@asking_modes
def asarray(
    obj: Any,
    *,
    dtype: object = None,
    device: object = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """Return a tensor of a number, nested sequences, a buffer, an array or what speaks DLPack: over its memory where
    that is possible, unless `copy` is True. That of a tensor is part of its graph, unless `requires_grad` is False.

    Raises ValueError for `copy=False` where only a copy can be had; otherwise as `tensor`.
    """
    source = _shared(obj)
    if isinstance(source, Tensor):
        made = source.to(dtype=dtype, device=device, copy=copy is True)
        is_copy = made is not source
    elif copy or source is None or (copy is None and isinstance(source, np.ndarray) and not source.flags.writeable):
        made, is_copy = tensor(obj if source is None else source, dtype=dtype, device=device), True
    else:
        made = as_tensor(source, dtype, device)
        is_copy = made.array is not source and not np.may_share_memory(made.array, source)
    if is_copy and copy is False:
        raise ValueError(f"asarray: this tensor of {type(obj).__name__} is a copy, which copy=False forbids")
    if requires_grad is None or requires_grad == made.requires_grad:
        return made
    return requires_grad_of("asarray", made, True) if requires_grad else made.detach()


def _shared(obj: Any) -> Any:
    """Return the tensor or array whose memory a tensor can share; None for numbers and sequences of them."""
    if isinstance(obj, Tensor | np.ndarray) or is_array(obj):
        return obj
    if isinstance(obj, bytes | bytearray | memoryview | buffers.array):
        return np.asarray(memoryview(obj))
    if _is_number(obj) or is_symbolic(obj) or isinstance(obj, Sequence):
        return None
    return _exported(obj)


def from_numpy(array: np.ndarray[Any, Any]) -> Tensor:
    """Return a tensor over the memory of a NumPy array, which is never resized; negative strides are kept.

    Warns of a read-only array. Raises TypeError for anything but a NumPy array and for dtypes that no tensor has,
    ValueError for a foreign byte order and for strides that are no multiple of the element size.
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    array = without_subclass(array)
    if array.dtype not in CANONICAL:
        kind = ValueError if array.dtype.newbyteorder("=") in CANONICAL else TypeError
        raise kind(unsupported_dtype(array))
    check_steps(array)
    if not array.flags.writeable:
        warnings.warn(
            "The given NumPy array is not writable: writing to this tensor fails; opwright.tensor(array) copies it.",
            UserWarning,
            stacklevel=2,
        )
    return borrow(array)


def borrow(array: Array) -> Tensor:
    """Return a tensor over memory that belongs to the caller: operators that would have to resize it raise."""
    made = _marked(wrap(with_known_dtype(array)))
    made.extra = Extra(Storage(made.array, resizable=False))
    return made


def _marked(made: Tensor) -> Tensor:
    """Return a new tensor, in inference mode as an inference tensor."""
    modes = active_modes()
    if modes is not None and modes.include & INFERENCE:
        made.keys &= ~(AUTOGRAD | ADINPLACEORVIEW)
    return made


def from_dlpack(source: Any, *, device: object = None, copy: bool | None = None) -> Tensor:
    """Return a tensor over memory of any DLPack producer, bfloat16 too; copied for `copy=True` or another `device`."""
    made = wrap(dlpack.load(source, copy))
    made.extra = Extra(Storage(made.array, resizable=False))
    return made if device is None else as_tensor(made, device=device)


def _new_array(data: Any, dtype: DType | None, device: object) -> Array:
    if isinstance(data, Tensor):
        data, device = data.array, data.device if device is None else device
    if is_array(data):
        if isinstance(data, np.ndarray) and type(data) is not np.ndarray:
            data = without_subclass(data)
        backend = backend_of(data)
        if device is None:
            device = backend.device(data)
        if hasattr(data, "strides") and as_device(device).type == backend.name:
            return _copied(data, dtype)
        values = _copied(backend.to_numpy(data), dtype)
    else:
        values = _from_python(data, dtype)
        if type(values) is not np.ndarray:  # of an object that offers memory of a device
            return _new_array(values, dtype, device)
        if device is None:
            return values
    wanted = as_device("cpu" if device is None else device)
    return backend_named(wanted).from_numpy(values, wanted.index)


def _copied(array: Array, dtype: DType | None) -> Array:
    """Return a copy in this machine's byte order; dense arrays keep their strides."""
    if array.dtype not in CANONICAL and array.dtype.newbyteorder("=") in CANONICAL:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype not in CANONICAL:
        raise TypeError(unsupported_dtype(array))
    result = new_array(array.shape, contiguous_strides(array.shape), dtype or as_dtype(array.dtype), array)
    result[...] = cast_array(array, result.dtype)
    return result


def _from_python(data: Any, dtype: DType | None) -> np.ndarray[Any, Any]:
    if type(data) is list and data and (kinds := {*map(type, data)}) <= _PLAIN_NUMBERS:
        found = _common_dtype(kinds)
        return _filled(data, (len(data),), found, dtype or found)
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if not _is_sequence(data) and not _is_number(data):
        exported: np.ndarray[Any, Any] = _copied(_exported(data), dtype)
        return exported
    shape = _shape_of(data)
    values = list(_leaves(data, shape, 0))
    of_each = [value.dtype if isinstance(value, np.generic) else type(value) for value in values]
    found = _common_dtype(dict.fromkeys(of_each))
    return _filled(values, shape, found, dtype or found)


def parsed(data: Any) -> np.ndarray[Any, Any]:
    """Return an array of a number or nested sequences, as `tensor` reads them. Raises as `tensor`."""
    found = None if fast is None else fast.array_of_numbers(data, None, get_default_dtype())
    return _from_python(data, None) if found is None else found


def _exported(data: Any) -> Any:
    """Return the array of an object that offers one; RuntimeError for any other object."""
    if hasattr(data, "__dlpack__") and hasattr(data, "__dlpack_device__"):
        return dlpack.load(data)
    if hasattr(data, "__cuda_array_interface__"):
        return backend_named("cuda").array_module().asarray(data)
    if hasattr(data, "__array__") or hasattr(data, "__array_interface__"):
        return np.asarray(data)
    raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex, np.generic))


def _is_sequence(value: Any) -> bool:
    if isinstance(value, Tensor) or is_array(value):
        return bool(len(value.shape))
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _shape_of(data: Any) -> Shape:
    """Return the shape that the first elements say."""
    shape: list[int] = []
    while _is_sequence(data):
        shape.append(len(data))
        if len(shape) > 64:
            raise ValueError("too many dimensions: a tensor has at most 64")
        if len(data) == 0:
            break
        data = data[0]
    return tuple(shape)


def _leaves(data: Any, shape: Shape, depth: int) -> Iterator[Any]:
    if depth == len(shape):
        yield _leaf(data)
        return
    if not _is_sequence(data):
        raise TypeError(
            f"expected a sequence of length {shape[depth]} at dim {depth}, but {type(data).__name__} is not a sequence"
        )
    if len(data) != shape[depth]:
        raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})")
    for element in data:
        yield from _leaves(element, shape, depth + 1)


def _leaf(value: Any) -> Any:
    if _is_number(value):
        return value
    if isinstance(value, Tensor) or is_array(value):
        if len(value.shape):
            raise ValueError("only one element tensors can be converted to Python scalars")
        return without_subclass(value)[()]
    if isinstance(value, Sequence):
        raise ValueError(f"expected a number, but got a sequence: {type(value).__name__}; the nesting is uneven")
    raise RuntimeError(f"Could not infer dtype of {type(value).__name__}")


def _common_dtype(kinds: Iterable[Any]) -> DType:
    """Return the dtype that holds numbers of some dtypes and Python classes; the default one of none."""
    found = [as_dtype(kind) if isinstance(kind, np.dtype) else _python_dtype(kind) for kind in kinds]
    return functools.reduce(promote, found) if found else get_default_dtype()


def _python_dtype(kind: Any) -> DType:
    if issubclass(kind, complex):
        return to_complex(get_default_dtype())
    return scalar_dtype(kind(0))


def _filled(values: list[Any], shape: Shape, found: DType, dtype: DType) -> np.ndarray[Any, Any]:
    """Return the values as an array of `dtype`, by way of the widest dtype of their category."""
    if found in COMPLEX:
        wide = np.array(values, np.complex128)
        if dtype not in COMPLEX and dtype is not bool_:
            raise TypeError("must be real number, not complex")
    elif found in FLOATING:
        wide = np.array(values, np.float64)
        _check_range(wide, dtype)
    else:
        try:
            kind = np.uint64 if dtype is uint64 and min(values, default=0) >= 0 else np.int64
            wide = np.array([int(value) for value in values], kind)
        except OverflowError as error:
            raise ValueError("Overflow when unpacking long long: an integer has at most 64 bits") from error
        _check_range(wide, dtype)
    shaped: np.ndarray[Any, Any] = cast_array(wide, dtype).reshape(shape)
    return shaped


def _check_range(wide: np.ndarray[Any, Any], dtype: DType) -> None:
    if dtype not in INTEGRAL or wide.size == 0:
        return
    info = np.iinfo(dtype)
    lowest = -int(info.max) if dtype.kind == "u" else int(info.min)
    if not np.isfinite(wide).all() or int(wide.max()) > info.max or int(wide.min()) < lowest:
        raise RuntimeError(f"value cannot be converted to type {dtype_name(dtype)} without overflow")


def with_known_dtype(array: Array) -> Array:
    """Return an array whose dtype is the object that all tensors have: unpickled arrays have equal ones of their own,
    which fast tests do not know."""
    known = CANONICAL.get(array.dtype) if type(array) is np.ndarray else None
    return array if known is None or known is array.dtype else array.view(known)
