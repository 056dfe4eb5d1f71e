"""`cupy.ndarray` of the stand-in. What looks at metadata is CuPy's own; what would launch a kernel is NumPy's."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np

from .loops import REDUCTIONS, cast_array, reduced_dtype
from .memory import Host, host_of, pointer_to


class ndarray(cupy.ndarray):  # type: ignore[misc]
    """An array that refuses what CuPy's refuses, over memory of the host."""

    def __new__(cls, *args: Any, _no_init: bool = False, **kwargs: Any) -> Any:
        if _no_init or len(args) > 2 or kwargs.get("memptr") is not None:
            return super().__new__(cls, *args, _no_init=_no_init, **kwargs)
        kwargs.pop("memptr", None)
        return to_device(np.empty(*args, **kwargs) if len(args) > 1 or "dtype" in kwargs else np.empty(*args, float))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__":
            return NotImplemented
        return getattr(_module(), ufunc.__name__)(*inputs, **options)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return getattr(_module(), function.__name__)(*args, **kwargs)

    def __getitem__(self, index: Any) -> Any:
        if is_basic(index):
            return super().__getitem__(index)
        return to_device(np.array(host_of(self)[self.host_index(index)]))

    def __setitem__(self, index: Any, value: Any) -> None:
        basic = is_basic(index)
        if basic and isinstance(value, (np.ndarray, list, tuple)) and np.ndim(value):
            raise ValueError("non-scalar numpy.ndarray cannot be used for fill")
        source = to_host(value)
        target = host_of(self)
        if isinstance(source, np.ndarray):
            source = cast_array(source, target.dtype)
        target[self.host_index(index)] = source

    def host_index(self, index: Any) -> Any:
        """An index for NumPy. Positions beyond the end are wrapped, in silence, as CuPy's kernels do."""
        given = list(index) if isinstance(index, tuple) else [index]
        for place, each in enumerate(given):
            if isinstance(each, (cupy.ndarray, list)):
                given[place] = to_host(each) if isinstance(each, cupy.ndarray) else np.asarray(each)
        taken = sum(_dims_of(each) for each in given)
        dim, wrapped = 0, []
        for each in given:
            if isinstance(each, np.ndarray) and each.dtype.kind in "iu" and self.shape[dim]:
                each = each % self.shape[dim]
            elif isinstance(each, np.ndarray) and each.dtype.kind not in "iub":
                raise IndexError("arrays used as indices must be of integer or boolean type")
            dim += self.ndim - taken if each is Ellipsis else _dims_of(each)
            wrapped.append(each)
        return tuple(wrapped)

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
        """A view where CuPy makes one, else a copy."""
        host = host_of(self)
        wanted = shape[0] if len(shape) == 1 else shape
        try:
            host.reshape(wanted, order=order, copy=False)
        except ValueError:
            return to_device(host.reshape(wanted, order=order))
        return super().reshape(*shape, order=order)

    def ravel(self, order: str = "C") -> Any:
        """A view where CuPy makes one, else a copy."""
        return self.reshape(-1) if order == "C" else to_device(host_of(self).ravel(order))

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        """A view, new where it is empty."""
        found = host_of(self).diagonal(offset, axis1, axis2)
        return super().diagonal(offset, axis1, axis2) if found.shape[-1] else to_device(found)

    def astype(
        self, dtype: Any, order: str = "K", casting: str | None = None, subok: Any = None, copy: bool = True
    ) -> Any:
        """A copy in another dtype, or itself where it has that one and `copy` is false."""
        if subok is not None:
            raise TypeError("subok is not supported yet")
        if not copy and self.dtype == dtype:
            return self
        return to_device(cast_array(host_of(self), dtype, order=order, casting=casting or "unsafe", copy=True))

    def get(self, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> Host:
        """A copy for NumPy."""
        if out is None:
            return host_of(self).copy(order)
        out[...] = host_of(self)
        return out

    def fill(self, value: Any) -> None:
        """Every element one number."""
        self[...] = value

    @property
    def imag(self) -> Any:
        """The imaginary parts, as a view; new zeros for a real array."""
        return super().imag if self.dtype.kind == "c" else to_device(np.zeros(self.shape, self.dtype))

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag[...] = value

    @property
    def real(self) -> Any:
        """The real parts, as a view; itself where it is real."""
        return super().real

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        strides = None if self.flags.c_contiguous else self.strides
        data = (self.data.ptr if self.size else 0, False)
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": data,
            "strides": strides,
            "version": 3,
            "stream": 1,
        }

    def __dlpack__(self, **options: Any) -> Any:
        return host_of(self).__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)

    def __bool__(self) -> bool:
        return bool(host_of(self))

    def __int__(self) -> int:
        return int(host_of(self))

    def __float__(self) -> float:
        return float(host_of(self))

    def __complex__(self) -> complex:
        return complex(host_of(self))

    def __index__(self) -> int:
        return host_of(self).__index__()

    def __repr__(self) -> str:
        return repr(host_of(self))

    def __str__(self) -> str:
        return str(host_of(self))

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.copy()

    def __reduce__(self) -> Any:
        return to_device, (host_of(self).copy(),)

    def __divmod__(self, other: Any) -> Any:
        return _module().divmod(self, other)

    def __matmul__(self, other: Any) -> Any:
        return _module().matmul(self, other)


def to_device(host: Any) -> ndarray:
    """An array of the stand-in over the memory of a NumPy one, or of a scalar."""
    host = np.asarray(host)
    return ndarray(host.shape, host.dtype, pointer_to(host), None if host.flags.c_contiguous else host.strides)


def to_host(value: Any) -> Any:
    """The value with NumPy arrays for those of the stand-in, in lists and tuples too."""
    if isinstance(value, cupy.ndarray):
        return host_of(value)
    if type(value) in (tuple, list):
        return type(value)(map(to_host, value))
    return value


def from_numpy(value: Any) -> Any:
    """What a function of NumPy returned, as CuPy would."""
    if isinstance(value, (np.ndarray, np.generic)):
        return to_device(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(from_numpy, value))
    return type(value)(map(from_numpy, value)) if isinstance(value, (tuple, list)) else value


def refuse_numpy(values: Sequence[Any]) -> None:
    """Raise TypeError for an array of NumPy's, 0-dim ones among them."""
    for each in values:
        if isinstance(each, np.ndarray):
            raise TypeError(f"Unsupported type {type(each)}")
        if isinstance(each, (list, tuple)):
            refuse_numpy(each)


def is_basic(index: Any) -> bool:
    """Whether an index makes a view: numbers, slices, None and Ellipsis alone."""
    parts = index if isinstance(index, tuple) else (index,)
    return not any(isinstance(each, (cupy.ndarray, np.ndarray, list, bool, np.bool_)) for each in parts)


def _dims_of(index: Any) -> int:
    """How many dimensions a part of an index takes."""
    if index is None or index is Ellipsis or isinstance(index, (bool, np.bool_)):
        return 0
    return index.ndim if isinstance(index, np.ndarray) and index.dtype == bool else 1


def _module() -> Any:
    from . import module

    return module.CUPY


def signature_of(method: str) -> inspect.Signature | None:
    """The signature that the first line of a compiled method's documentation says."""
    line = (getattr(cupy.ndarray, method).__doc__ or "").partition("\n")[0]
    found = re.match(rf"_?ndarray(?:_base)?\.{method}\((.*?)\)(?: ->|$)", line)
    if found is None:
        return None
    names = re.sub(r"\b(?:int|tuple|Py_ssize_t|_ndarray_base) (?=[a-z])", "", found[1])
    scope: dict[str, Any] = {}
    exec(f"def {method}({names}): ...", scope)
    return inspect.signature(scope[method])


def _computed(method: str) -> Callable[..., Any]:
    """A method that NumPy computes, with CuPy's parameters."""
    signature = signature_of(method)

    def call(self: ndarray, *args: Any, **kwargs: Any) -> Any:
        if signature is not None:
            signature.bind(self, *args, **kwargs)
        refuse_numpy((*args, *kwargs.values()))
        out = kwargs.get("out")
        with np.errstate(all="ignore"):
            result = getattr(host_of(self), method)(*map(to_host, args), **{k: to_host(v) for k, v in kwargs.items()})
        if method in REDUCTIONS and signature is not None and "dtype" not in kwargs:
            result = cast_array(np.asarray(result), reduced_dtype(method, self.dtype))
        return result if result is None else from_numpy(result) if out is None else out

    call.__name__ = method
    return call


# These only look at metadata, so that CuPy's own serve.
_OWN = frozenset(["squeeze", "swapaxes", "transpose", "view", "reduced_view"])
# NumPy's answers are none of arrays.
_PLAIN = frozenset(["item", "tolist", "tobytes"])
_OPERATORS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "lshift": "left_shift", "rshift": "right_shift", "and": "bitwise_and",
    "or": "bitwise_or", "xor": "bitwise_xor",
}  # fmt: skip
_COMPARISONS = {
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}
_UNARY = {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}


def _operator(ufunc: str, is_reflected: bool = False, is_inplace: bool = False) -> Callable[..., Any]:
    def call(self: ndarray, other: Any) -> Any:
        if other is None or isinstance(other, (str, list, tuple)):
            return NotImplemented
        operands = (other, self) if is_reflected else (self, other)
        return getattr(_module(), ufunc)(*operands, **({"out": self} if is_inplace else {}))

    return call


def _unary(ufunc: str) -> Callable[..., Any]:
    return lambda self: getattr(_module(), ufunc)(self)


def _plain(method: str) -> Callable[..., Any]:
    return lambda self, *args: getattr(host_of(self), method)(*args)


def _fill_class() -> None:
    """Give the class every method that would launch a kernel."""
    for name in dir(cupy.ndarray):
        is_known = name.startswith("_") or name in _OWN or name in vars(ndarray)
        if not is_known and callable(getattr(cupy.ndarray, name)) and hasattr(np.ndarray, name):
            setattr(ndarray, name, _plain(name) if name in _PLAIN else _computed(name))
    for name, ufunc in _OPERATORS.items():
        setattr(ndarray, f"__{name}__", _operator(ufunc))
        setattr(ndarray, f"__r{name}__", _operator(ufunc, is_reflected=True))
        setattr(ndarray, f"__i{name}__", _operator(ufunc, is_inplace=True))
    for name, ufunc in _COMPARISONS.items():
        setattr(ndarray, f"__{name}__", _operator(ufunc))
    for name, ufunc in _UNARY.items():
        setattr(ndarray, f"__{name}__", _unary(ufunc))
    ndarray.__module__ = "cupy"


_fill_class()
