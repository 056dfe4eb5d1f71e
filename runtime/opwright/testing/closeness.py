"""`assert_close`: two tensors, or lists and dicts of them, are equal within tolerances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from opwright.creation.construction import as_tensor
from opwright_core.arrays.dtypes import DType, bfloat16, complex64, complex128, float16, float32, float64
from opwright_core.arrays.promotion import promote
from opwright_core.tensors.tensor import Tensor

__all__ = ["TOLERANCES", "assert_close"]

# (rtol, atol) by dtype: PyTorch's.
TOLERANCES: Final[dict[DType, tuple[float, float]]] = {
    float16: (1e-3, 1e-5),
    bfloat16: (1.6e-2, 1e-5),
    float32: (1.3e-6, 1e-5),
    float64: (1e-7, 1e-7),
    complex64: (1.3e-6, 1e-5),
    complex128: (1e-7, 1e-7),
}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_stride: bool = False,
    msg: str | None = None,
) -> None:
    """Raise AssertionError unless `|actual - expected| <= atol + rtol * |expected|` everywhere, and shapes, dtypes and
    devices are equal.

    Tensors, arrays, numbers, and sequences and mappings of them. Without tolerances those of the dtype hold, both or
    none must be given (ValueError). The message says how many elements differ, by how much at most, and where.
    Semantics: `torch.testing.assert_close`.
    """
    if (rtol is None) != (atol is None):
        raise ValueError("rtol and atol must both be given, or neither")
    tolerances = None if rtol is None or atol is None else (rtol, atol)
    checks = [name for name, on in (("device", check_device), ("dtype", check_dtype), ("stride", check_stride)) if on]
    problem = _difference(actual, expected, tolerances, equal_nan, checks, "")
    if problem is not None:
        raise AssertionError(problem if msg is None else msg)


def _difference(
    actual: Any, expected: Any, tolerances: tuple[float, float] | None, equal_nan: bool, checks: list[str], at: str
) -> str | None:
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        if actual.keys() != expected.keys():
            return f"The keys of the mappings differ{at}: {sorted(actual)} and {sorted(expected)}"
        pairs = [(f"{at}[{key!r}]", actual[key], expected[key]) for key in expected]
    elif isinstance(expected, list | tuple) and isinstance(actual, list | tuple):
        if len(actual) != len(expected):
            return f"The length of the sequences mismatch{at}: {len(actual)} != {len(expected)}"
        pairs = [(f"{at}[{i}]", a, b) for i, (a, b) in enumerate(zip(actual, expected, strict=True))]
    else:
        return _tensor_difference(as_tensor(actual), as_tensor(expected), tolerances, equal_nan, checks, at)
    found = (_difference(a, b, tolerances, equal_nan, checks, position) for position, a, b in pairs)
    return next((each for each in found if each is not None), None)


def _tensor_difference(
    actual: Tensor,
    expected: Tensor,
    tolerances: tuple[float, float] | None,
    equal_nan: bool,
    checks: list[str],
    at: str,
) -> str | None:
    where = f" at {at}" if at else ""
    if actual.shape != expected.shape:
        return (
            f"The values for attribute 'shape' do not match{where}: {tuple(actual.shape)} != {tuple(expected.shape)}."
        )
    for name in checks:
        a, b = (each.stride() if name == "stride" else getattr(each, name) for each in (actual, expected))
        if a != b:
            return f"The values for attribute '{name}' do not match{where}: {a} != {b}."
    first, second = (each.numpy(force=True) for each in (actual, expected))
    found = promote(actual.dtype, expected.dtype)
    rtol, atol = TOLERANCES.get(found, (0.0, 0.0)) if tolerances is None else tolerances
    wide = np.complex128 if found.kind == "c" else np.float64 if found in TOLERANCES else found
    first, second = np.asarray(first).astype(wide), np.asarray(second).astype(wide)
    with np.errstate(all="ignore"):
        if wide not in (np.float64, np.complex128):
            close = first == second
        else:
            close = np.isclose(first, second, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if close.all():
        return None
    return _message(first, second, close, rtol, atol, where)


def _message(first: Any, second: Any, close: Any, rtol: float, atol: float, where: str) -> str:
    wrong = ~close
    with np.errstate(all="ignore"):
        distance = np.abs(first.astype(np.complex128) - second.astype(np.complex128))
        relative = distance / np.abs(second)
    lines = [
        f"Tensor-likes are not close{where}!",
        "",
        f"Mismatched elements: {wrong.sum()} / {wrong.size} ({100 * wrong.mean():.1f}%)",
    ]
    for what, values, allowed in (("absolute", distance, atol), ("relative", relative, rtol)):
        shown = np.where(wrong, np.nan_to_num(values, nan=np.inf), -1)
        position = np.unravel_index(int(np.argmax(shown)), shown.shape)
        index = tuple(map(int, position))
        lines.append(f"Greatest {what} difference: {values[position]} at index {index} (up to {allowed} allowed)")
    return "\n".join(lines)
