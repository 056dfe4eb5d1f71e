"""PyTorch beside us: the same arguments as its tensors, and what its results and ours have in common."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from sampling import Sample, bfloat16

import opwright

torch: Any = __import__("pytest").importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")

_TORCH_DTYPES = {
    np.dtype(name): getattr(torch, name)
    for name in (
        "bool",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    )
} | {bfloat16: torch.bfloat16}
_DTYPES = {theirs: ours for ours, theirs in _TORCH_DTYPES.items()}

_ERRORS = {NotImplementedError: RuntimeError, torch.linalg.LinAlgError: opwright.linalg.LinAlgError}

# How far results may be apart, beside an equal rounding of the last place: what libraries of mathematical functions
# differ by.
_TOLERANCE = {
    "float16": 2e-3,
    "bfloat16": 1.6e-2,
    "float32": 1e-5,
    "float64": 1e-12,
    "complex64": 1e-5,
    "complex128": 1e-12,
}


def to_torch(value: Any) -> Any:
    """An argument for PyTorch; arrays keep their strides and share their memory with what is made of them."""
    if isinstance(value, np.ndarray):
        if not value.size:  # NumPy says nothing about the strides of empty arrays
            return torch.empty(value.shape, dtype=_TORCH_DTYPES[value.dtype])
        if value.dtype == bfloat16:
            return torch.from_numpy(value.view(np.uint16)).view(torch.bfloat16)
        return torch.from_numpy(value)
    if isinstance(value, np.dtype):
        return _TORCH_DTYPES[value]
    if isinstance(value, list):
        return [to_torch(each) for each in value]
    return value


def to_opwright(value: Any) -> Any:
    """An argument for us."""
    if isinstance(value, np.ndarray):
        return opwright.from_numpy(value)
    if isinstance(value, list):
        return [to_opwright(each) for each in value]
    return value


def dtype_of(tensor: Any) -> np.dtype | None:
    """The dtype of PyTorch's tensor; None where we have none like it."""
    return _DTYPES.get(tensor.dtype)


def copied(value: Any) -> Any:
    """The argument with memory of its own under the same strides."""
    if isinstance(value, list):
        return [copied(each) for each in value]
    if not isinstance(value, np.ndarray):
        return value
    extent = sum((size - 1) * step for size, step in zip(value.shape, value.strides, strict=True)) if value.size else 0
    flat = np.zeros(extent // value.itemsize + 1, value.dtype)
    view = np.lib.stride_tricks.as_strided(flat, value.shape, value.strides)
    view[...] = value
    return view


def call(function: Callable[..., Any], sample: Sample, convert: Callable[[Any], Any]) -> Any:
    """The function's result, or the exception it raised. Warnings are PyTorch's business."""
    args = [convert(arg) for arg in sample.args]
    kwargs = {name: convert(value) for name, value in sample.kwargs.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*args, **kwargs)
        except Exception as error:
            return error


def difference(ours: Any, theirs: Any, *, values: bool = True) -> str | None:
    """What makes our result another than PyTorch's; None where they agree. Exceptions agree if ours is of the class
    of theirs."""
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        return _error_difference(ours, theirs)
    if isinstance(theirs, list | tuple):
        if not isinstance(ours, list | tuple) or len(ours) != len(theirs):
            return f"{ours!r} for {len(theirs)} results"
        found = (difference(a, b, values=values) for a, b in zip(ours, theirs, strict=True))
        return next((each for each in found if each is not None), None)
    if not isinstance(theirs, torch.Tensor):
        same = type(ours) is type(theirs) and (ours == theirs or (ours != ours and theirs != theirs))
        return None if same else f"{ours!r}, not {theirs!r}"
    return _tensor_difference(ours, theirs, values)


def _error_difference(ours: Any, theirs: Any) -> str | None:
    if not isinstance(ours, Exception):
        return f"no error, but PyTorch raises {type(theirs).__name__}: {str(theirs)[:200]}"
    if not isinstance(theirs, Exception):
        return f"raises {type(ours).__name__}: {str(ours)[:300]}"
    wanted = _ERRORS.get(type(theirs), type(theirs))
    return None if isinstance(ours, wanted) else f"raises {ours!r:.200}, not {theirs!r:.200}"


def _tensor_difference(ours: Any, theirs: Any, values: bool) -> str | None:
    if theirs.dtype not in _DTYPES:
        return None  # complex32, which NumPy does not have
    if not isinstance(ours, opwright.Tensor):
        return f"{type(ours).__name__} where a Tensor is expected"
    problem = different_fact(
        {"shape": tuple(ours.shape), "dtype": str(ours.dtype), "strides": tuple(ours.stride())},
        {"shape": tuple(theirs.shape), "dtype": str(_DTYPES[theirs.dtype]), "strides": tuple(theirs.stride())},
    )
    if problem is not None:
        return problem
    return value_difference(ours.array, numpy_of(theirs)) if values else None


def different_fact(ours: dict[str, Any], theirs: dict[str, Any]) -> str | None:
    """The first fact that differs: others may follow from it, so a table names that one alone."""
    return next((f"{fact} {ours[fact]}, not {wanted}" for fact, wanted in theirs.items() if ours[fact] != wanted), None)


def numpy_of(tensor: Any) -> np.ndarray:
    """PyTorch's tensor as an array."""
    tensor = tensor.detach().resolve_conj()
    if tensor.dtype == torch.bfloat16:
        return tensor.contiguous().view(torch.uint16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def value_difference(ours: np.ndarray, theirs: np.ndarray, *, normwise: bool = False) -> str | None:
    """Where two arrays of one dtype differ by more than rounding; by more than that of their largest element, where
    `normwise`."""
    tolerance = _TOLERANCE.get(str(theirs.dtype))
    if tolerance is None:
        same = np.array_equal(ours, theirs)
    else:
        wide = np.complex128 if theirs.dtype.kind == "c" else np.float64
        absolute = tolerance * np.abs(theirs).max(initial=0.1) if normwise else tolerance / 10
        with np.errstate(all="ignore"):
            same = np.allclose(ours.astype(wide), theirs.astype(wide), rtol=tolerance, atol=absolute, equal_nan=True)
    return None if same else f"values {ours.tolist()!r:.300}, not {theirs.tolist()!r:.300}"
