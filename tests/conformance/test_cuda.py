"""The conformance samples on CuPy against NumPy: same values, dtypes, shapes and strides. Random numbers are drawn on
the CPU, so equal too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from declared import of_kind
from samples import NO_SAMPLES, SAMPLES
from sampling import Sample, bfloat16

import opwright
from opwright_codegen.schema import SchemaKind

cupy: Any = pytest.importorskip("cupy", reason="needs CuPy and a GPU")

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(not cupy.cuda.is_available(), reason="needs a GPU"),
]

UNINITIALISED = ("empty", "empty_strided", "empty_like", "new_empty", "new_empty_strided")


def on_device(value: Any) -> Any:
    """The argument with its arrays on the GPU, under the same strides."""
    if isinstance(value, list):
        return [on_device(each) for each in value]
    if not isinstance(value, np.ndarray):
        return value
    flat = cupy.zeros(
        max(sum((n - 1) * step for n, step in zip(value.shape, value.strides, strict=True)), 0) // value.itemsize + 1,
        value.dtype,
    )
    array = cupy.lib.stride_tricks.as_strided(flat, value.shape, value.strides)
    array[...] = cupy.asarray(value)
    return opwright.as_tensor(array)


def on_host(value: Any) -> Any:
    if isinstance(value, list):
        return [on_host(each) for each in value]
    return opwright.from_numpy(value) if isinstance(value, np.ndarray) else value


def run(function: Any, one: Sample, convert: Any, **options: Any) -> Any:
    opwright.manual_seed(7)
    try:
        return function(*map(convert, one.args), **{k: convert(v) for k, v in one.kwargs.items()}, **options)
    except (RuntimeError, ValueError, TypeError, IndexError, OverflowError) as error:
        return error


def has_bfloat16(one: Sample) -> bool:
    return any(
        getattr(leaf, "dtype", leaf) == bfloat16 for arg in (*one.args, *one.kwargs.values()) for leaf in _leaves(arg)
    )


def _leaves(value: Any) -> list[Any]:
    return [leaf for each in value for leaf in _leaves(each)] if isinstance(value, list) else [value]


def assert_same(device: Any, host: Any, where: str, values: bool) -> None:
    if isinstance(host, list | tuple):
        for a, b in zip(device, host, strict=True):
            assert_same(a, b, where, values)
    elif isinstance(host, opwright.Tensor):
        assert device.device.type == "cuda", where
        assert (device.shape, device.dtype, device.stride()) == (host.shape, host.dtype, host.stride()), where
        if values:
            np.testing.assert_allclose(
                cupy.asnumpy(device.array),
                host.array,
                rtol=2e-3 if host.dtype.itemsize == 2 else 1e-4,
                atol=1e-5,
                err_msg=where,
            )
    else:
        assert device == host or host != host, where


@pytest.mark.parametrize("name", [name for name in of_kind(SchemaKind.FUNCTIONAL) if name not in NO_SAMPLES])
def test_cuda_equals_cpu(name: str) -> None:
    base, _, overload = name.partition(".")
    function = getattr(getattr(opwright.ops.aten, base), overload or "default")
    is_factory = not any(a.type.is_tensor_like for a in function.schema.arguments)
    for one in SAMPLES[name]():
        if has_bfloat16(one):
            continue  # CuPy has no bfloat16
        host = run(function, one, on_host)
        device = run(function, Sample(one.args, {**one.kwargs, "device": "cuda"}) if is_factory else one, on_device)
        if isinstance(host, Exception):
            assert isinstance(device, Exception), f"{name}{one}: {host!r}"
            continue
        assert not isinstance(device, Exception), f"{name}{one}: {device!r}"
        assert_same(device, host, f"{name}{one}", base not in UNINITIALISED)
