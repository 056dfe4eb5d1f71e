"""Operators whose C kernels write arguments, and arguments of every type, compiled and held against NumPy.

Without a C compiler these tests are skipped; continuous integration has one.
"""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import seeds
from hypothesis import given, settings
from hypothesis import strategies as st
from native_projects import EXAMPLE, build

import opwright
from opwright.fake import FakeTensorMode
from opwright.func import functionalize, vmap
from opwright.library import opcheck

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The example under a name of its own."""
    folder = tmp_path_factory.mktemp("writes") / "project"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("native_demo", "__pycache__", ".*"))
    for path in (*folder.glob("*.*"), *folder.glob("csrc/*")):
        path.write_text(path.read_text().replace("native_demo", "writing_demo"))
    build(folder, CFLAGS="-Wall -Wextra -Werror")
    sys.path.insert(0, str(folder))
    yield importlib.import_module("writing_demo")
    sys.path.remove(str(folder))


def adamw(param: Any, grad: Any, mean: Any, square: Any, step: int) -> list[Any]:
    """One step by the formulas, in new arrays."""
    mean = 0.9 * mean + 0.1 * grad
    square = 0.999 * square + 0.001 * grad * grad
    moved = param * (1 - 1e-5) - 1e-3 / (1 - 0.9**step) * mean / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return [moved, mean, square]


MEMORY = 64
STEPS = st.sampled_from([1, 2, 3, -1, -2])


@st.composite
def windows(draw: st.DrawFn) -> Any:
    """Return what makes of memory an array of 4 elements or of shape (2, 2): with gaps, backwards, transposed."""
    first, step = draw(st.integers(8, 40)), draw(STEPS)
    is_square, is_turned = draw(st.booleans()), draw(st.booleans())

    def window(memory: Any) -> Any:
        found = memory[first : first + 4 * step : step].reshape(2, 2) if is_square else memory[first::step][:4]
        found = np.lib.stride_tricks.as_strided(memory[first:], (2, 2), found.strides) if is_square else found
        return found.T if is_turned else found

    return window


@settings(deadline=None, max_examples=300)
@given(st.lists(windows(), min_size=4, max_size=4), st.booleans(), st.integers(1, 9))
def test_what_is_written_is_what_numpy_gives(demo: ModuleType, chosen: list[Any], one: bool, step: int) -> None:
    """On arrays of one memory, or of four: what overlaps is read as it was, or is an error that has written nothing."""
    memories = [seeds.numpy_generator(7).random(MEMORY) for _ in range(4)]
    arrays = [window(memories[0 if one else place]) for place, window in enumerate(chosen)]
    before = [memory.copy() for memory in memories]
    expected = adamw(*arrays, step) if len({each.shape for each in arrays}) == 1 else None
    written = [arrays[0], *arrays[2:]]
    overlap = any(np.shares_memory(a, b) for i, a in enumerate(written) for b in written[:i])
    try:
        assert demo.ops.adamw_step(*arrays, step=step) is None
    except RuntimeError:
        assert overlap or expected is None
        for memory, old in zip(memories, before, strict=True):
            np.testing.assert_array_equal(memory, old)
        return
    assert not overlap
    if expected is not None:
        for found, wanted in zip(written, expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12)


@settings(deadline=None, max_examples=200)
@given(st.sampled_from(["int64", "longlong", "float32", "float64", "complex128"]), st.data())
def test_any_layout_is_written(demo: ModuleType, dtype: str, data: st.DataObject) -> None:
    """The strided kernel gets arrays in the order of their indices; others are copied and put back."""
    memory = np.arange(64).astype(dtype).reshape(4, 4, 4)
    axes = data.draw(st.permutations(range(3)))
    steps = tuple(slice(None, None, data.draw(st.sampled_from([1, 2, -1, -3]))) for _ in range(3))
    array = memory.transpose(axes)[steps]
    expected = memory.copy()
    expected.transpose(axes)[steps] *= 3
    assert demo.ops.scale_(array, 3) is array
    np.testing.assert_array_equal(memory, expected)


def test_what_cannot_be_written_is_refused(demo: ModuleType) -> None:
    step, scale_ = demo.ops.adamw_step, demo.ops.scale_
    p, m, v = (np.zeros(4) for _ in range(3))
    for arrays, said in (
        ((p, m, p, v), "'param' and 'exp_avg' share memory, and both are written to: clone one of them"),
        ((np.zeros(3), np.zeros((2, 3)), np.zeros(3), np.zeros(3)), r"'param' of shape \[3\] doesn't match"),
        ((p, p.astype("f4"), m, v), "'param' is float64 and 'grad' float32: a C kernel takes arrays of one dtype$"),
        ((p.astype("f2"),) * 4, "adamw_step: not implemented for float16: its C kernel takes float32, float64"),
        ((p, p, m, v[:2].repeat(2).reshape(2, 2)), "The size of tensor a"),
    ):
        with pytest.raises((RuntimeError, NotImplementedError), match=said):
            step(*arrays, step=1)
    with pytest.raises(RuntimeError, match="step counts from 1"):
        step(p, m, v, np.zeros(4), step=0)
    p.flags.writeable = False
    with pytest.raises(ValueError, match="'self' is read-only"):
        scale_(p, 2.0)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        scale_(opwright.ones(1).expand(3), 2.0)
    with pytest.raises(RuntimeError, match=r"'by' is 2\.5, which int64 does not hold"):
        scale_(np.arange(3), 2.5)
    with pytest.raises(RuntimeError, match=r"'by' is 1e\+300, which float32 does not hold"):
        scale_(np.ones(3, "f4"), 1e300)
    assert np.isinf(scale_(np.ones(3, "f4"), np.inf)).all()


def test_writes_count_and_are_functionalized(demo: ModuleType) -> None:
    """Tensors: versions, gradients that need what was written, functional variants, fakes, opcheck."""
    ops = opwright.ops.writing_demo
    p, g, m, v = (opwright.rand(3, dtype=opwright.float64) for _ in range(4))
    before = [each._version for each in (p, g, m, v)]
    assert demo.ops.adamw_step(p, g, m, v, step=1) is None
    assert [each._version for each in (p, g, m, v)] == [before[0] + 1, before[1], before[2] + 1, before[3] + 1]
    kept = p.clone()
    made = ops.adamw_step_functional(p, g, m, v, step=2)
    assert p.tolist() == kept.tolist()
    demo.ops.adamw_step(p, g, m, v, step=2)
    assert [each.tolist() for each in made] == [p.tolist(), m.tolist(), v.tolist()]

    def program(x: Any) -> Any:
        y = x.clone()
        demo.ops.scale_(y[1:], 3.0)
        return y

    assert functionalize(program)(p).tolist() == program(p).tolist()
    x = opwright.rand(3, dtype=opwright.float64, requires_grad=True)
    y = x * 1
    z = (y * y).sum()
    with opwright.no_grad():
        demo.ops.scale_(y, 2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        demo.ops.scale_(x, 2.0)
    with FakeTensorMode():
        fake = opwright.empty(4)
        assert demo.ops.scale_(fake, 2.0) is fake
        assert demo.ops.adamw_step(fake, fake, fake, fake, step=1) is None
        with pytest.raises(NotImplementedError, match="not implemented for float16"):
            demo.ops.scale_(opwright.empty(3, dtype=opwright.float16), 2.0)
    for operator, arguments in ((ops.adamw_step, (p, g, m, v)), (ops.scale_, (p, 2.0)), (ops.scale, (p, 2.0))):
        step = {"step": 1} if operator is ops.adamw_step else {}
        assert set(opcheck(operator.default, arguments, step).values()) == {"SUCCESS"}
    batched = opwright.ones(2, 3)
    with pytest.warns(UserWarning, match="there is no batching rule for writing_demo::scale_"):
        assert vmap(demo.ops.scale_, in_dims=(0, None))(batched, 2.0).tolist() == [[2.0] * 3] * 2


def test_an_array_may_be_missing_or_of_another_dtype(demo: ModuleType) -> None:
    rng = seeds.numpy_generator(3)
    logits, target, weight = rng.random((5, 4)), rng.integers(0, 4, 5), rng.random(4)
    chosen = np.log(np.exp(logits).sum(1)) - logits[np.arange(5), target]
    np.testing.assert_allclose(demo.ops.nll_rows(logits, target), chosen)
    np.testing.assert_allclose(demo.ops.nll_rows(logits, target.astype("i2"), weight), chosen * weight[target])
    found = demo.ops.nll_rows(*map(opwright.tensor, (logits.tolist(), target.tolist())))
    np.testing.assert_allclose(np.asarray(found), chosen, rtol=1e-6)
    with pytest.raises(NotImplementedError, match="'target' is float64, and its C kernel takes int64 there"):
        demo.ops.nll_rows(logits, target.astype(float))
    with pytest.raises(RuntimeError, match="a target is no class"):
        demo.ops.nll_rows(logits, target + 4)
