"""The same call on the CPU and on a CUDA device: a GPU where there is one, else the stand-in for CuPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import cupy_stand_in
import numpy as np
import pytest
from declared import functional_of
from samples import SAMPLES
from sampling import Sample, bfloat16

import opwright

cupy: Any = cupy_stand_in.cupy_for_tests()
MARKS = [pytest.mark.cuda] if cupy_stand_in.HAS_GPU else []

# What a call may raise. Anything else is a fault of ours or of the stand-in.
ERRORS = (RuntimeError, ValueError, TypeError, IndexError, OverflowError, NotImplementedError)

# What the CPU refuses and a device does not, by a word of the error; and why.
ONLY_ON_THE_CPU = {
    "ZeroDivisionError": "a GPU has no error for an integer divided by zero: PyTorch's gives some number there, too",
}
# Where an index stands twice, the last value is written on the CPU; on a GPU any of them, as in PyTorch.
WRITES_TWICE = ("index_copy", "scatter")
# Vectors that have any phase, and in a null space any direction: the values alone are compared.
DECOMPOSITIONS = ("_linalg_eigh", "linalg_eigh", "linalg_eig", "_linalg_svd", "linalg_svd", "svd")
# Operators whose results are not compared by value, and why.
UNINITIALISED = ("empty", "empty_strided", "empty_like", "empty_permuted", "new_empty", "new_empty_strided")

Convert = Callable[[Any], Any]


def on_device(value: Any) -> Any:
    """The argument with its arrays on the device, under the same strides."""
    if isinstance(value, list):
        return [on_device(each) for each in value]
    if not isinstance(value, np.ndarray):
        return value
    reach = sum((n - 1) * step for n, step in zip(value.shape, value.strides, strict=True)) if value.size else 0
    flat = cupy.zeros(max(reach, 0) // value.itemsize + 1, value.dtype)
    array = cupy.ndarray(value.shape, value.dtype, flat.data, value.strides)
    array[...] = cupy.asarray(value)
    return opwright.as_tensor(array)


def determined(name: str, results: Any) -> Any:
    """What of an operator's results has to be the same on any device."""
    if name.partition(".")[0] not in DECOMPOSITIONS or not isinstance(results, tuple):
        return results
    return min(results, key=lambda each: each.dim())


def writes_twice(name: str, one: Sample) -> bool:
    """Whether a sample writes two values to one place. Its second argument is the dimension, its third the index."""
    if name.partition(".")[0].rstrip("_") not in WRITES_TWICE:
        return False
    dim, index = one.args[1:3]
    lines = np.moveaxis(index, dim if index.ndim > 1 else 0, -1).reshape(-1, index.shape[dim if index.ndim > 1 else 0])
    return any(len(np.unique(line)) < len(line) for line in lines)


def on_host(value: Any) -> Any:
    """The argument with its arrays as tensors of the CPU."""
    if isinstance(value, list):
        return [on_host(each) for each in value]
    return opwright.from_numpy(value) if isinstance(value, np.ndarray) else value


def operator(name: str) -> Any:
    """`aten`'s operator of a name in schema files."""
    base, _, overload = name.partition(".")
    return getattr(getattr(opwright.ops.aten, base), overload or "default")


def samples_of(name: str) -> Iterator[Sample]:
    """The samples of an operator: those of the functional one that it is made of."""
    yield from SAMPLES[functional_of(name) if name not in SAMPLES else name]()


def placed(function: Any, one: Sample) -> tuple[Sample, str]:
    """The sample for the device, and where its results will be: a factory is told."""
    names = [argument.name for argument in function.schema.arguments]
    given = {**dict(zip(names, one.args, strict=False)), **one.kwargs}.get("device")
    if given is not None:
        return one, opwright.device(given).type
    if "device" in names:
        return Sample(one.args, {**one.kwargs, "device": "cuda"}), "cuda"
    return one, "cuda"


def outcome(function: Any, call: Callable[[], Any]) -> Any:
    """What a call returns or raises; random numbers are drawn from the same seed each time."""
    if "nondeterministic_seeded" in function.tags:
        opwright.manual_seed(7)
    try:
        return call()
    except ERRORS as error:
        return error


def run(function: Any, one: Sample, convert: Convert) -> Any:
    """The outcome of calling an operator with a sample."""
    args, kwargs = [convert(each) for each in one.args], {name: convert(each) for name, each in one.kwargs.items()}
    return outcome(function, lambda: function(*args, **kwargs))


def assert_same(device: Any, host: Any, where: str, kind: str = "cuda", values: bool = True) -> None:
    """Compare what two calls returned, or that both raised."""
    if isinstance(host, Exception):
        if not any(word in str(host) for word in ONLY_ON_THE_CPU):
            assert isinstance(device, Exception), f"{where}: {host!r} on the CPU alone"
        return
    assert not isinstance(device, Exception), f"{where}: {device!r} on the device alone"
    if isinstance(host, list | tuple):
        for a, b in zip(device, host, strict=True):
            assert_same(a, b, where, kind, values)
    elif isinstance(host, opwright.Tensor):
        assert device.device.type == kind, where
        assert (device.shape, device.dtype, device.stride()) == (host.shape, host.dtype, host.stride()), where
        if values:
            assert_close(device, host, where)
    else:
        assert device == host or host != host, where


def assert_close(device: opwright.Tensor, host: opwright.Tensor, where: str) -> None:
    """Compare two tensors' values, to the digits that parallel sums leave: of terms as large as the largest element."""
    found, expected = device.detach().numpy(force=True), host.detach().numpy()
    if found.dtype == bfloat16:
        found, expected = found.astype(np.float32), expected.astype(np.float32)
    rough = host.dtype.itemsize == 2
    if found.dtype.kind == "c":  # of a number divided by zero CuPy makes NaN, NumPy an infinity
        outside = ~np.isfinite(expected)
        np.testing.assert_array_equal(np.isfinite(found[outside]), False, err_msg=where)
        found, expected = found[~outside], expected[~outside]
    numbers = np.abs(expected[np.isfinite(expected)]) if expected.dtype.kind in "fc" else np.zeros(0)
    largest = max(1.0, float(numbers.max(initial=0)))
    tolerances = {"rtol": 1e-2 if rough else 1e-4, "atol": 1e-2 if rough else 1e-5 * largest}
    np.testing.assert_allclose(found, expected, **tolerances, err_msg=where)
