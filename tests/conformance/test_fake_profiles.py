"""Fake kernels from recorded calls."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import opwright
from opwright import library
from opwright.fake import FakeTensorMode
from opwright.fake_profile import (
    MissingOpProfile,
    OpProfile,
    load_op_profiles,
    save_op_profiles,
    unsafe_generate_fake_kernels,
)
from opwright.symbolic import ShapeEnv
from opwright_core.arrays.sizes import is_symbolic


@pytest.fixture
def lib() -> Iterator[library.Library]:
    lib = library.Library("profiled", "DEF")
    lib.define("rows(Tensor x, int n, Tensor[] others) -> (Tensor, Tensor)")
    lib.impl("rows", lambda x, n, others: (x.repeat(n, 1), x.new_zeros([n], dtype=opwright.int64)), "CPU")
    yield lib
    lib.destroy()


def profiles() -> dict[str, set[OpProfile]]:
    x = opwright.ones(2, 3)
    return {"profiled::rows": {OpProfile.record("profiled::rows", x, 2, [x, x.to(opwright.int64)])}}


def test_a_call_that_looks_like_a_recorded_one_is_answered(lib: library.Library) -> None:
    with unsafe_generate_fake_kernels(profiles()), FakeTensorMode(shape_env=ShapeEnv()) as mode:
        x = mode.from_tensor(opwright.ones(5, 7))
        first, second = opwright.ops.profiled.rows(x, 9, [x, opwright.zeros(1, 1, dtype=opwright.int64)])
    assert (first.ndim, first.dtype, second.ndim, second.dtype) == (2, opwright.float32, 1, opwright.int64)
    assert all(map(is_symbolic, (*first.shape, *second.shape)))
    assert first.stride()[1] == 1
    with pytest.raises(opwright.DispatchError, match="no fake kernel"):
        opwright.ops.profiled.rows(x, 9, [x])


def test_another_rank_dtype_or_device_is_missing(lib: library.Library) -> None:
    with unsafe_generate_fake_kernels(profiles()), FakeTensorMode(shape_env=ShapeEnv()):
        ints = opwright.zeros(1, 1, dtype=opwright.int64)
        for x in (opwright.ones(5), opwright.ones(5, 7, dtype=opwright.float64), opwright.ones(5, 7, device="cuda")):
            with pytest.raises(MissingOpProfile, match=r"no recorded profile[^R]*Recorded:\n  \(float32"):
                opwright.ops.profiled.rows(x, 9, [x, ints])


def test_the_operators_own_fake_kernel_comes_back(lib: library.Library) -> None:
    library.register_fake("profiled::rows", lambda x, n, others: (x, x.new_empty([n])), lib=lib)
    fake = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(opwright.ones(4, 4), static_shapes=True)
    with unsafe_generate_fake_kernels(profiles()), pytest.raises(MissingOpProfile):
        opwright.ops.profiled.rows(fake, 3, [])
    assert opwright.ops.profiled.rows(fake, 3, [])[1].shape == (3,)


def test_profiles_are_saved_and_loaded(lib: library.Library, tmp_path: Path) -> None:
    found = profiles()
    save_op_profiles(found, tmp_path / "profiles.json")
    assert load_op_profiles(tmp_path / "profiles.json") == found


@pytest.mark.parametrize(
    "text, message",
    [
        ("{", "holds no operator profiles"),
        ("[]", "outdated profiles: they are of version None"),
        (json.dumps({"version": 0, "operators": {}}), "outdated profiles: they are of version 0, this is 1"),
        (json.dumps({"version": 1}), "malformed"),
        (
            json.dumps({"version": 1, "operators": {"a::b": [{"args": [{"rank": -1}], "out": None}]}}),
            "a rank is an int",
        ),
        (json.dumps({"version": 1, "operators": {"a::b": [{"args": [{"rank": 1, "dtype": "x"}]}]}}), "malformed"),
    ],
)
def test_a_file_that_holds_no_profiles(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "profiles.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RuntimeError, match=message):
        load_op_profiles(path)
