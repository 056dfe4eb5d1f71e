"""CuPy's functions: its parameters, NumPy's computation, and what CuPy does otherwise."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

from .arrays import from_numpy, ndarray, refuse_numpy, to_device, to_host
from .memory import host_of
from .raw import ATTRIBUTES, RawModule

# These only look at metadata, so that CuPy's own serve.
OWN = frozenset(
    (
        "broadcast_arrays", "broadcast_shapes", "broadcast_to", "can_cast", "expand_dims", "flip", "fliplr", "flipud",
        "isscalar", "issubdtype", "lib.stride_tricks.as_strided", "may_share_memory", "min_scalar_type", "moveaxis",
        "ndim", "promote_types", "result_type", "rollaxis", "rot90", "shape", "size", "split", "squeeze", "swapaxes",
        "transpose",
    )
)  # fmt: skip


def of_own(function: Callable[..., Any]) -> Callable[..., Any]:
    """CuPy's function, whose results become arrays of the stand-in."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return _as_stand_in(function(*args, **kwargs))

    return call


def _as_stand_in(value: Any) -> Any:
    if type(value) is cupy.ndarray:
        return ndarray(value.shape, value.dtype, value.data, value.strides)
    return type(value)(map(_as_stand_in, value)) if type(value) in (list, tuple) else value


def of_numpy(name: str, own: Callable[..., Any], compute: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function with CuPy's parameters. Raises TypeError for NumPy arrays and keywords that CuPy lacks."""
    try:
        signature = inspect.signature(own)
    except ValueError:
        signature = None

    def call(*args: Any, **kwargs: Any) -> Any:
        if signature is not None:
            signature.bind(*args, **kwargs)
        refuse_numpy((*args, *kwargs.values()))
        out = kwargs.get("out")
        kwargs.pop("blocking", None)
        with np.errstate(all="ignore"):
            result = compute(*map(to_host, args), **{key: to_host(value) for key, value in kwargs.items()})
        return from_numpy(result) if out is None else out

    call.__name__ = name
    return call


def of_method(name: str, own: Callable[..., Any]) -> Callable[..., Any]:
    """A function with CuPy's parameters that asks its first argument."""
    signature, method = inspect.signature(own), {"amax": "max", "amin": "min"}.get(name, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        (_, array), *given = signature.bind(*args, **kwargs).arguments.items()
        refuse_numpy((array,))
        return getattr(array, method)(**dict(given))

    return call


def asarray(a: Any, dtype: Any = None, order: Any = None, *, copy: bool | None = None, blocking: bool = False) -> Any:
    """`cupy.asarray`: itself where nothing changes; arrays of NumPy are copied to the device."""
    return array(a, dtype, bool(copy), order or "K", blocking=blocking)


def array(
    obj: Any, dtype: Any = None, copy: bool = True, order: str = "K", subok: bool = False, ndmin: int = 0, *,
    blocking: bool = False,
) -> Any:  # fmt: skip
    """`cupy.array`."""
    if isinstance(obj, cupy.ndarray):
        if not copy and (dtype is None or obj.dtype == dtype) and order in ("K", "A") and obj.ndim >= ndmin:
            return obj
        host = host_of(obj)
        return to_device(np.array(host.astype(dtype or host.dtype), copy=True, order=order, ndmin=ndmin))
    if hasattr(obj, "__cuda_array_interface__") and not isinstance(obj, cupy.ndarray):
        return array(_over(obj), dtype, copy, order, subok, ndmin)
    return to_device(np.array(to_host(obj), dtype, copy=True, order=order, ndmin=ndmin))


def _over(obj: Any) -> Any:
    """An array over the memory that another library's array says it has."""
    described = {**obj.__cuda_array_interface__, "version": 3}
    described.pop("stream", None)
    if not all(described["shape"]):
        return to_device(np.empty(described["shape"], described["typestr"]))
    return to_device(np.asarray(type("Interface", (), {"__array_interface__": described, "owner": obj})()))


def ascontiguousarray(a: Any, dtype: Any = None) -> Any:
    """`cupy.ascontiguousarray`."""
    if isinstance(a, cupy.ndarray) and a.flags.c_contiguous and (dtype is None or a.dtype == dtype):
        return a if a.ndim else a.reshape(1)
    return to_device(np.ascontiguousarray(to_host(a), dtype))


def asnumpy(a: Any, stream: Any = None, order: str = "C", out: Any = None, *, blocking: bool = True) -> Any:
    """`cupy.asnumpy`."""
    return a.get(order=order, out=out) if isinstance(a, cupy.ndarray) else np.asarray(a, order=order)


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = None) -> None:
    """`cupy.copyto`: into an array of CuPy's, from one, or from a number."""
    if not isinstance(dst, cupy.ndarray):
        raise AttributeError(f"{type(dst.data).__name__!r} object has no attribute 'copy_from_async'")
    if isinstance(src, np.ndarray):
        if src.size != 1:
            raise ValueError("non-scalar numpy.ndarray cannot be used for copyto")
        src = src.squeeze()[()]
    refuse_numpy((where,))
    is_python = type(src) in (bool, int, float, complex)
    if not is_python and not np.can_cast(src.dtype, dst.dtype, casting):
        raise TypeError(f"Cannot cast {src.dtype} to {dst.dtype} in {casting} casting mode")
    mask = True if where is None else to_host(where)
    if not isinstance(mask, bool) and mask.dtype != bool:
        raise TypeError(f"Cannot cast array data from {mask.dtype!r} to bool according to the rule 'safe'")
    with np.errstate(all="ignore"):
        np.copyto(host_of(dst), to_host(src), casting=casting if is_python else "unsafe", where=mask)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """`cupy.diagonal`: a view, new where it is empty."""
    return a.diagonal(offset, axis1, axis2)


def take(a: Any, indices: Any, axis: Any = None, out: Any = None) -> Any:
    """`cupy.take`: positions beyond the end are wrapped, in silence."""
    refuse_numpy((a, indices, out))
    found = np.take(to_host(a), to_host(indices), axis, mode="wrap")
    if out is None:
        return to_device(found)
    out[...] = to_device(found)
    return out


def take_along_axis(a: Any, indices: Any, axis: Any) -> Any:
    """`cupy.take_along_axis`: positions beyond the end are wrapped, in silence."""
    if indices.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    refuse_numpy((a, indices))
    length = a.size if axis is None else a.shape[axis]
    return to_device(np.take_along_axis(host_of(a), host_of(indices) % max(length, 1), axis))


def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    """`cupy.put_along_axis`: positions beyond the end are wrapped, in silence."""
    refuse_numpy((arr, indices))
    length = arr.size if axis is None else arr.shape[axis]
    np.put_along_axis(host_of(arr), host_of(indices) % max(length, 1), to_host(values), axis)


def lexsort(keys: Any) -> Any:
    """`cupy.lexsort`: of one array of keys, of at most two dimensions."""
    _check_sortable(keys, TypeError)
    if keys.ndim > 2:
        raise NotImplementedError("Keys with the rank of three or more is not supported in lexsort")
    return to_device(np.lexsort(host_of(keys)))


def bincount(x: Any, weights: Any = None, minlength: Any = None) -> Any:
    """`cupy.bincount`: of an array of CuPy's, of integers."""
    if x.dtype.kind == "f":
        raise TypeError("x must be int array")
    refuse_numpy((x, weights))
    host = host_of(x).astype(np.int64)
    return to_device(np.bincount(host, None if weights is None else host_of(weights), minlength or 0))


def sort(a: Any, axis: Any = -1, kind: Any = None) -> Any:
    """`cupy.sort`: always stable."""
    _check_kind(kind)
    _check_sortable(a, NotImplementedError)
    return to_device(np.sort(host_of(a), axis, kind="stable"))


def argsort(a: Any, axis: Any = -1, kind: Any = None) -> Any:
    """`cupy.argsort`: always stable."""
    _check_kind(kind)
    _check_sortable(a, NotImplementedError)
    return to_device(np.argsort(host_of(a), axis, kind="stable"))


def _check_kind(kind: Any) -> None:
    if kind is not None and kind != "stable":
        raise ValueError("kind can only be None or 'stable'")


def _check_sortable(keys: Any, error: type[Exception]) -> None:
    if keys.dtype.name == "bfloat16":
        raise error(f"Sorting arrays with dtype {keys.dtype.name!r} is not supported")


def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    """`cupy.isin`: of two arrays of CuPy's, the others in order."""
    refuse_numpy((element.ravel(), test_elements.ravel()))
    _check_sortable(test_elements, NotImplementedError)
    return to_device(np.isin(host_of(element), host_of(test_elements), invert=invert))


def from_dlpack(source: Any) -> Any:
    """`cupy.from_dlpack`: shares the memory."""
    return to_device(np.from_dlpack(_OnHost(source)))


class _OnHost:
    def __init__(self, source: Any) -> None:
        self.source = source

    def __dlpack__(self, **options: Any) -> Any:
        return self.source.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class Device:
    """`cupy.cuda.Device`, of one GPU."""

    attributes = ATTRIBUTES

    def __init__(self, device: int | None = None) -> None:
        if device not in (None, 0):
            raise RuntimeError("cudaErrorInvalidDevice: invalid device ordinal")
        self.id = 0

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def use(self) -> None:
        """Nothing: there is one."""

    def synchronize(self) -> None:
        """Nothing: all work is done."""


class Stream:
    """`cupy.cuda.Stream`, the default one."""

    ptr = 0


# In place of CuPy's functions of these names, below `cupy`.
MODELS: dict[str, Any] = {
    function.__name__: function
    for function in (
        asarray, array, ascontiguousarray, asnumpy, copyto, diagonal, take, take_along_axis, put_along_axis,
        lexsort, bincount, sort, argsort, isin, from_dlpack,
    )
} | {"asanyarray": asarray, "ndarray": ndarray, "cuda.Device": Device, "cuda.is_available": lambda: True,
     "RawModule": RawModule, "cuda.runtime.getDevice": lambda: 0, "cuda.get_current_stream": Stream}  # fmt: skip
