"""`opwright.testing`: samples drawn from schemas, and assert_close."""

from __future__ import annotations

import numpy as np
import pytest

import opwright
from opwright import library
from opwright.testing import assert_close, samples
from opwright.testing.layouts import Copies


def test_samples_are_calls_that_the_operator_takes() -> None:
    found = list(samples("aten::addmm", dtypes=["float32"]))
    assert len(found) >= 5
    for one in found:
        opwright.ops.aten.addmm(*one.args, **one.kwargs)


def test_samples_cover_dtypes_and_layouts() -> None:
    first = [one.args[0] for one in samples("aten::mul.Tensor")]
    assert {str(x.dtype) for x in first} >= {"float32", "bfloat16", "bool", "int8", "complex128"}
    assert any(x.ndim == 0 for x in first) and any(0 in x.shape for x in first)
    assert any(0 in x.stride() and x.numel() for x in first)  # expanded
    assert any(x.storage_offset() for x in first)  # sliced
    assert any(x.ndim > 1 and x.stride()[0] == 1 and not x.is_contiguous() for x in first)  # transposed


def test_samples_broadcast() -> None:
    shapes = [(one.args[0].shape, one.args[1].shape) for one in samples("aten::mul.Tensor")]
    assert any(a != b for a, b in shapes)


def test_the_same_seed_draws_the_same() -> None:
    def drawn(seed: int) -> list[str]:
        return [
            f"{one} {[x.tolist() for x in one.args]}" for one in samples("aten::atan2", seed=seed, dtypes=["float32"])
        ]

    assert drawn(1) == drawn(1) != drawn(2)


def test_a_packet_stands_for_its_overloads() -> None:
    kinds = {type(one.args[1]).__name__ for one in samples(opwright.ops.aten.mul, dtypes=["float32"])}
    assert {"Tensor"} < kinds


def test_operators_of_users_are_sampled_too() -> None:
    lib = library.Library("sampled", "DEF")
    lib.define("scale(Tensor x, float factor, *, bool round=False) -> Tensor")
    lib.impl("scale", lambda x, factor, *, round=False: x * factor, "CompositeImplicitAutograd")
    found = list(samples(opwright.ops.sampled.scale.default, dtypes=["float32", "int64"]))
    assert len(found) == 16 and all(type(one.args[1]) is float for one in found)


def test_an_operator_that_is_not_there() -> None:
    with pytest.raises(opwright.DispatchError):
        list(samples("aten::nothing_of_the_kind"))


def test_a_copy_lies_in_memory_as_the_original_does() -> None:
    x = opwright.from_numpy(np.arange(24.0).reshape(2, 3, 4))[:, 1:, ::2].transpose(0, 2)
    y = Copies()(x)
    assert (y.shape, y.stride(), y.storage_offset()) == (x.shape, x.stride(), x.storage_offset())
    y.zero_()
    assert x.tolist() == opwright.from_numpy(np.arange(24.0).reshape(2, 3, 4))[:, 1:, ::2].transpose(0, 2).tolist()


def test_assert_close_passes_and_says_where_it_fails() -> None:
    a = opwright.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert_close(a, a + 1e-6)
    assert_close([a, {"x": 1}], [a, {"x": 1}])
    assert_close(opwright.tensor([float("nan")]), opwright.tensor([float("nan")]), equal_nan=True)
    with pytest.raises(AssertionError, match=r"Mismatched elements: 1 / 4 \(25.0%\)\n.*0.5 at index \(1, 0\)"):
        assert_close(a, a + opwright.tensor([[0, 0], [0.5, 0]]))
    with pytest.raises(AssertionError, match="'dtype' do not match"):
        assert_close(a, a.to(opwright.float64))
    assert_close(a, a.to(opwright.float64), check_dtype=False)
    with pytest.raises(AssertionError, match="'shape' do not match"):
        assert_close(a, a[0])
    with pytest.raises(AssertionError, match="'stride' do not match"):
        assert_close(a, a.t().contiguous().t(), check_stride=True)
    with pytest.raises(AssertionError, match=r"at \[1\]\['x'\]"):
        assert_close([a, {"x": 1}], [a, {"x": 2}])
    with pytest.raises(AssertionError, match="my words"):
        assert_close(a, -a, msg="my words")
    with pytest.raises(ValueError, match="both"):
        assert_close(a, a, rtol=0.1)
