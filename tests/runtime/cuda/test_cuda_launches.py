"""Launches of CUDA kernels as data: which function, which grid, what travels by value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("cupy", reason="needs CuPy: pip install --group cuda-tests")

import cupy_stand_in

import opwright
from opwright.cuda_kernels.kernels import CudaKernel
from opwright.cuda_kernels.launches import LaunchPlan, LaunchRule, Limits
from opwright.cuda_kernels.operands import broadcast_strides, merged
from opwright.cuda_kernels.sources import CudaSource

cupy: Any = cupy_stand_in.cupy_for_tests()


def kernel(convention: str, dtype: str = "float32", arguments: Any = None, **launch: Any) -> CudaKernel:
    arguments = arguments or ("x: array", "y: array", "alpha: float", "n: int", "flag: bool")
    source = CudaSource(__file__, "none.cu")
    return CudaKernel(source, "demo::f", convention, {dtype: "f_f32"}, arguments, ("",), LaunchRule(**launch))


def told(plan: LaunchPlan) -> list[Any]:
    """The values of a launch: arrays themselves, sizes as lists, numbers with their dtypes."""
    sizes = [v["at"].tolist() if t == "opwright_sizes" else v for t, v in zip(plan.types, plan.values, strict=True)]
    return [(type(v).__name__, v.item()) if isinstance(v, np.generic) else v for v in sizes]


def test_an_elementwise_launch() -> None:
    x, y, out = (np.zeros((10, 103), np.float32) for _ in range(3))
    plan = kernel("elementwise", threads=128, elements=4, shared=64).launch_plan([x, y, 0.5, -3, True], [out], x.dtype)
    assert (plan.function, plan.grid, plan.block, plan.shared) == ("f_f32", (3, 1, 1), (128, 1, 1), 64)
    assert plan.types == ("int64_t", "pointer", "pointer", "double", "int64_t", "int", "pointer")
    found = told(plan)
    assert found[0] == ("int64", 1030)
    assert found[1] is x and found[2] is y and found[6] is out
    assert found[3:6] == [("float64", 0.5), ("int64", -3), ("int32", 1)]
    assert not plan.is_empty


def test_a_strided_launch_of_rows() -> None:
    x = np.zeros((6, 8), np.float32)[::2, ::-1]
    out = np.zeros(3, np.float32)
    plan = kernel("strided", arguments=("x: array",), grid="rows").launch_plan([x], [out], x.dtype)
    assert plan.grid == (3, 1, 1)
    assert plan.types == ("pointer", "int", "opwright_sizes", "opwright_sizes") * 2
    _, ndim, shape, strides, _, out_ndim, out_shape, out_strides = told(plan)
    assert (ndim, shape[:3], strides[:3]) == (("int32", 2), [3, 8, 0], [16, -1, 0])
    assert (out_ndim, out_shape[:2], out_strides[:2]) == (("int32", 1), [3, 0], [1, 0])
    assert all(value.nbytes == 128 for value in (plan.values[2], plan.values[3]))


def test_a_launch_of_loops() -> None:
    """Dense operands are walked as one; others by strides, in as few dimensions as there are."""
    arguments = ("x: array", "y: array")
    x, y, out = np.zeros((4, 5, 6), np.float32), np.zeros((4, 1, 1), np.float32), np.zeros((4, 5, 6), np.float32)
    dense = kernel("loop", arguments=arguments).launch_plan([x, x], [out], x.dtype)
    assert (dense.function, dense.types) == ("f_f32", ("int64_t", "pointer", "pointer", "pointer"))
    plan = kernel("loop", arguments=arguments).launch_plan([x, y], [out], x.dtype)
    assert plan.function == "f_f32_strided"
    sizes = ("opwright_sizes",)
    assert plan.types == ("int64_t", "int", *sizes, "pointer", *sizes, "pointer", *sizes, "pointer")
    count, ndim, shape, _, x_strides, _, y_strides, _ = told(plan)
    assert (count, ndim) == (("int64", 120), ("int32", 2))
    assert (shape[:3], x_strides[:3], y_strides[:3]) == ([4, 30, 0], [30, 1, 0], [1, 0, 0])


def test_what_is_not_launched() -> None:
    x = np.zeros((0, 3), np.float32)
    assert kernel("elementwise").launch_plan([x, x, 0, 0, 0], [x], x.dtype).is_empty
    assert kernel("strided", arguments=("x: array",), grid="rows").launch_plan([x], [x], x.dtype).is_empty
    deep = np.zeros((1,) * 17, np.float32)
    with pytest.raises(opwright.errors.DispatchError, match="demo::f: 'x' has 17 dimensions, and a CUDA kernel takes"):
        kernel("strided", arguments=("x: array",)).launch_plan([deep], [deep], x.dtype)


def test_limits_of_a_device() -> None:
    plan = LaunchPlan("f", (5, 1, 1), (256, 1, 1), 1000, (), ())
    assert list(plan.problems(Limits(256, 5, 1000))) == []
    assert [text.split(" are ")[0] for text in plan.problems(Limits(255, 4, 999))] == [
        "256 threads a block", "5 blocks", "1,000 bytes of shared memory",
    ]  # fmt: skip


@given(st.data())
def test_merged_dimensions_reach_the_same_elements(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 3), max_size=4)))
    own = tuple(1 if data.draw(st.booleans()) else size for size in shape)
    x = np.arange(np.prod(own, dtype=int)).reshape(own)
    x = x.transpose(np.argsort(np.argsort(own))) if data.draw(st.booleans()) else x
    try:
        expected = np.broadcast_to(x, shape)
    except ValueError:
        return
    sizes, (steps,) = merged(shape, [broadcast_strides(x, shape)])
    assert len(sizes) <= len(shape)
    walked = np.lib.stride_tricks.as_strided(x, sizes, [step * x.itemsize for step in steps])
    np.testing.assert_array_equal(walked.ravel(), expected.ravel())
