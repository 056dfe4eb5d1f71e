"""Arguments of every type, and arguments that are written, on CUDA: kernels of a case held against NumPy.

On the stand-in for CuPy kernels are compiled as C++; structs by value have the layout that compilers for GPUs give them
(`test_cuda_compilers.py` holds their sizes against NVRTC's).
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import seeds
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("cupy", reason="needs CuPy: pip install --group cuda-tests")

import cupy_stand_in
from cupy_stand_in import raw

import opwright
from opwright.fake import FakeTensorMode
from opwright.func import functionalize

cupy: Any = cupy_stand_in.cupy_for_tests()
CASE = Path(__file__).parents[2] / "codegen" / "cases" / "cuda"
NVCC = "nvcc" if cupy_stand_in.HAS_GPU else f"{sys.executable} {Path(cupy_stand_in.__file__).with_name('nvcc.py')}"
pytestmark = pytest.mark.skipif(
    shutil.which("c++") is None or (not cupy_stand_in.HAS_GPU and raw.COMPILER is None), reason="there is no compiler"
)


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The case, built."""
    folder = tmp_path_factory.mktemp("arguments") / "project"
    shutil.copytree(CASE, folder)
    (folder / "ops.yaml").write_text((folder / "ops.yaml").read_text().replace("demo::", "wide_demo::"))
    for path in (folder / "csrc").glob("*.cu"):
        path.write_text(path.read_text().replace("demo_cuda", "wide_demo_cuda"))
    (folder / "pyproject.toml").write_text('[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "wide_ops"\n')
    done = subprocess.run(
        [sys.executable, "-m", "opwright_codegen.cli", "build"],
        cwd=folder, env=os.environ | {"NVCC": NVCC}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    sys.path.insert(0, str(folder))
    yield importlib.import_module("wide_ops.ops")
    sys.path.remove(str(folder))


def on_device(array: Any) -> Any:
    return opwright.as_tensor(cupy.asarray(array))


def back(tensor: Any) -> Any:
    return tensor.numpy(force=True)


def blended(x: Any, y: Any, index: Any, by: Any, *, low: Any, high: Any, shift: Any, flip: Any, weights: Any,
            offsets: Any, mask: Any, window: Any) -> Any:  # fmt: skip
    """What the kernels compute, in float64."""
    total = (x.astype(float) + (0 if y is None else y)) * by
    total = total if low is None else np.maximum(total, low)
    total = total if high is None else np.minimum(total, high)
    total = (total + (shift or 0)) * (-1 if flip else 1)
    total = total + sum(weight for weight, is_taken in zip(weights, mask, strict=False) if is_taken)
    total = total + sum(offsets or ()) + (0 if offsets is None else 100)
    return total + window[0] - window[1] + index


NUMBERS = st.integers(-4, 4)


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from([np.float32, np.float64, np.int16]), st.booleans(), NUMBERS,
    st.fixed_dictionaries({
        "low": st.none() | NUMBERS, "high": st.none() | NUMBERS, "shift": st.none() | NUMBERS,
        "flip": st.none() | st.booleans(), "weights": st.lists(NUMBERS, max_size=5),
        "offsets": st.none() | st.lists(NUMBERS, max_size=32), "mask": st.lists(st.booleans(), max_size=5),
        "window": st.tuples(NUMBERS, NUMBERS),
    }),
)  # fmt: skip
def test_arguments_of_every_type(ops: Any, dtype: Any, has_y: bool, by: int, words: dict[str, Any]) -> None:
    """By value in kernels, on the host in functions of nvcc; None, 0 and an empty list are three things."""
    rng = seeds.numpy_generator(1)
    x, y = (rng.integers(-5, 5, (3, 4)).astype(dtype) for _ in range(2))
    index = rng.integers(-3, 3, (3, 4))
    wanted = blended(x, y if has_y else None, index, by, **words)
    for function in (ops.blend, ops.blend_host):
        given_y = on_device(y) if has_y else None
        found, positive = function(on_device(x), given_y, on_device(index), by, **words)
        np.testing.assert_allclose(back(found), wanted)
        assert back(found).dtype == dtype and back(positive).dtype == bool
        np.testing.assert_array_equal(back(positive), back(found) > 0)


def test_what_no_kernel_takes_is_an_error(ops: Any) -> None:
    x, index = on_device(np.ones((3, 4), np.int16)), on_device(np.ones((3, 4), np.int64))
    with pytest.raises(RuntimeError, match=r"wide_demo::blend: 'by' is 2\.5, which int16 does not hold"):
        ops.blend(x, None, index, 2.5)
    with pytest.raises(RuntimeError, match=r"wide_demo::blend_host: 'low' is 70000, which int16 does not hold"):
        ops.blend_host(x, None, index, 2, 70000)
    with pytest.raises(NotImplementedError, match="'offsets' has 33 numbers, and a CUDA kernel takes at most 32"):
        ops.blend(x, None, index, 2, offsets=[1] * 33)
    assert back(ops.blend_host(x, None, index, 2, offsets=[1] * 33)[0]).tolist() == [[136] * 4] * 3
    with pytest.raises(NotImplementedError, match="'index' is float32, and its CUDA kernel takes int64 there"):
        ops.blend(x, None, index.float(), 2)
    with pytest.raises(NotImplementedError, match="takes 'x' of 2 dimensions, and this has 1"):
        ops.blend(x[0], None, index, 2)
    for mode, note, said in (("down", None, "down$"), ("down", "ünter", "ünter$")):
        with pytest.raises(RuntimeError, match=f"wide_demo::blend_host: {said}"):
            ops.blend_host(x, None, index, 2, mode=mode, note=note)
    assert back(ops.blend(x, None, on_device(np.ones((3, 4), np.int8)), 2)[0]).tolist() == [[3] * 4] * 3


def test_results_have_the_shapes_of_operands(ops: Any) -> None:
    """A plan of another shape than `meta` gives for `like` and `reduce` launches nothing."""
    from wide_ops.native import cuda as native

    x = cupy.ones((3, 4), np.float32)
    wrong = opwright.rules.like(cupy.ones((4, 4), np.float32))
    with pytest.raises(NotImplementedError, match=r"a result of shape \[4, 4\] is asked for, and 'int' makes it \[3\]"):
        native.row_sums(wrong, x, True, 1)
    with pytest.raises(NotImplementedError, match=r"'a' makes it \[3, 4\]"):
        native.rows(opwright.rules.like(x[0]), x.astype(np.int64), x.astype(np.int64), 1)
    with pytest.raises(OverflowError, match="wide_demo::rows: '_b' is 18446744073709551616, which 64 bits do not hold"):
        native.rows(opwright.rules.like(x), x.astype(np.int64), x.astype(np.int64), 2**64)


# -- operators that write


@settings(deadline=None, max_examples=60)
@given(st.data(), st.sampled_from(["float32", "float64", "int64", "complex64", "complex128", "uint8"]))
def test_views_are_written_where_they_lie(ops: Any, data: st.DataObject, dtype: str) -> None:
    memory = np.arange(64).astype(dtype).reshape(4, 4, 4)
    axes = data.draw(st.permutations(range(3)))
    steps = tuple(slice(None, None, data.draw(st.sampled_from([1, 2, -1, -3]))) for _ in range(3))
    device = cupy.asarray(memory)
    by = 2 - 1j if dtype.startswith("complex") else 3
    expected = memory.copy()
    expected.transpose(axes)[steps] *= np.asarray(by, dtype)
    tensor = opwright.as_tensor(device).permute(axes)
    for dim, step in enumerate(steps):
        tensor = tensor[(slice(None),) * dim + (step,)] if step.step > 0 else tensor
    if any(step.step < 0 for step in steps):  # Tensors have no negative steps; arrays have
        array = device.transpose(axes)[steps]
        from wide_ops.native import cuda as native

        native.scale(array, by)
    else:
        assert ops.scale_(tensor, by) is tensor
    np.testing.assert_array_equal(cupy.asnumpy(device), expected)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 12), st.sampled_from([1, 2, 3])), min_size=3, max_size=3))
def test_what_overlaps_is_read_as_it_was(ops: Any, windows: list[tuple[int, int]]) -> None:
    """Operands that share memory with what is written; written arrays that do are an error, and nothing is written."""
    memory = np.arange(1.0, 25.0)
    device = cupy.asarray(memory)
    x, y, by = (memory[first::step][:4] for first, step in windows)
    tensors = [opwright.as_tensor(device)[first::step][:4] for first, step in windows]
    if len(x) != 4 or len(y) != 4 or len(by) != 4:
        return
    if np.shares_memory(x, y):
        with pytest.raises(RuntimeError, match="'x' and 'y' share memory, and both are written to"):
            ops.swap(*tensors)
    else:
        new_x, new_y = y * by, x.copy()
        x[...], y[...] = new_x, new_y
        assert ops.swap(*tensors) is None
    np.testing.assert_array_equal(cupy.asnumpy(device), memory)


def test_what_cannot_be_written_is_refused(ops: Any) -> None:
    """Before anything is written."""
    x, y = on_device(np.ones(3)), on_device(np.full(3, 2.0))
    for arrays, said in (
        ((x, y.float()), "'x' is float64 and 'y' float32: a CUDA kernel takes arrays of one dtype$"),
        ((x, y[:2]), "The size of tensor a"),
        ((x[:1], y), r"'x' of shape \[1\] doesn't match the broadcast shape \[3\]"),
        ((x.half(), y.half()), "not implemented for float16: its CUDA kernel takes float32, float64"),
        ((x[:1].expand(3), y), "more than one element of the written-to tensor"),
    ):
        with pytest.raises((RuntimeError, NotImplementedError), match=said):
            ops.swap(*arrays)
    with pytest.raises(RuntimeError, match=r"'by' is 2\.5, which int64 does not hold"):
        ops.scale_(on_device(np.arange(3)), 2.5)
    assert x.tolist() == [1, 1, 1] and y.tolist() == [2, 2, 2]
    from wide_ops.native import cuda as native

    with pytest.raises(RuntimeError, match="'x' is on cuda:0 and 'y' is on cpu, and its CUDA kernel writes to arrays"):
        native.swap(x.array, np.ones(3), None)
    assert ops.swap(x[:0], y[:0]) is None


def test_writes_count_and_are_functionalized(ops: Any) -> None:
    """Versions, gradients that need what was written, functional variants, fakes."""
    x, y = on_device(np.ones(3)), on_device(np.full(3, 2.0))
    before = x._version, y._version
    assert ops.swap(x, y, y) is None
    assert (x.tolist(), y.tolist()) == ([4.0] * 3, [1.0] * 3)
    assert (x._version, y._version) == (before[0] + 1, before[1] + 1)
    made = opwright.ops.wide_demo.swap_functional(x, y)
    assert [each.tolist() for each in made] == [y.tolist(), x.tolist()]
    assert ops.scale(x, 2).tolist() == [8.0] * 3 and x.tolist() == [4.0] * 3

    def program(value: Any) -> Any:
        copy = value.clone()
        ops.scale_(copy[1:], 3.0)
        return copy

    assert functionalize(program)(x).tolist() == program(x).tolist() == [4.0, 12.0, 12.0]
    leaf = on_device(np.ones(3)).requires_grad_()
    twice = leaf * 2
    total = (twice * twice).sum()
    with opwright.no_grad():
        ops.scale_(twice, 2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        ops.scale_(leaf, 2.0)
    with FakeTensorMode():
        fake = opwright.empty(4, device="cuda")
        assert ops.scale_(fake, 2.0) is fake
        assert ops.swap(fake, opwright.empty(4, device="cuda")) is None
        with pytest.raises(NotImplementedError, match="not implemented for float16: its CUDA kernel takes"):
            ops.scale_(opwright.empty(3, dtype=opwright.float16, device="cuda"), 2.0)
