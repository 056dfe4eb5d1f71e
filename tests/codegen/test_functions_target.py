"""Target `functions/*.py`: Python modules of functions that call operators under other names and signatures."""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from pipeline import generate

import opwright

SCHEMAS = """
- func: functions_target::clip(Tensor self, float low=0.0, float high=1.0, *, float slope=1.0) -> Tensor
  doc: Return `self` held between two numbers.
  functions:
    own.held:
    own.held_:
    own.between(input, high, low=-1, inplace=False): Return `input` between `low` and `high`.
    own.steep(input, slope=2.0): Return `input` times a slope, between 0 and 1.
  autogen: clip_
  meta: like(self)
  dispatch: {CPU: "xp.clip(self * slope, low, high)"}

- func: functions_target::ends(Tensor x, int[2] at=[0, 0]) -> Tensor
  functions:
    own.ends(x, at=None, return_indices=False): Return `x` less the numbers of `at`.
    other.float(x): Return `x`.
    other.count(x, at=3): Return `x` less twice 3.
  meta: like(x)
  dispatch: {CPU: "x - at[0] - at[1]"}

- func: functions_target::ends_with_indices(Tensor x, int[2] at=[0, 0]) -> (Tensor, Tensor)
  functions:
    own.ends_with_indices(x, at=None, return_indices=False): Return `x` less the numbers of `at`, and `x`.
  meta: like(x), like(x)
  dispatch: {CPU: "x - at[0] - at[1], x + 0"}

- func: functions_target::whole_part(Tensor x) -> Tensor
  python_module: whole
  meta: like(x)
  dispatch: {CPU: xp.floor(x)}

- func: functions_target::rest(Tensor x) -> Tensor
  python_module: whole
  meta: like(x)
  dispatch: {CPU: x - xp.floor(x)}

- func: functions_target::loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor
  functions:
    own.loss(input, target, size_average=None, reduce=None, reduction="mean"): Return the distance.
    own.total(input, target, reduction="sum"): Return the distance.
  meta: like(self)
  dispatch: {CPU: self - target + reduction}
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("functions")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run = generate(folder, SCHEMAS)
    assert run.status == 0, run.stderr
    return run.package


def load(package: Path, name: str) -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(package.parent))
        return importlib.import_module(f"{package.name}.functions.{name}")


@pytest.fixture
def own(package: Path) -> ModuleType:
    return load(package, "own")


def test_a_name_is_the_operator(package: Path, own: ModuleType) -> None:
    operators = sys.modules[f"{package.name}.ops"]
    assert own.held is operators.clip and own.held_ is operators.clip_


def test_a_module_has_the_operators_with_its_prefix(package: Path) -> None:
    whole = load(package, "whole")
    assert whole.__all__ == ["part"]
    assert whole.part(np.array([1.5])).tolist() == [1.0]


def test_a_signature_has_its_own_order_and_defaults(own: ModuleType) -> None:
    x = np.array([-3.0, 0.25, 3.0])
    assert own.between(x, 2.0).tolist() == [-1, 0.25, 2]
    assert own.steep(x, 4.0).tolist() == [0, 1, 1]
    assert own.steep(input=x).tolist() == [0, 0.5, 1]
    signature = inspect.signature(own.between)
    assert [*signature.parameters] == ["input", "high", "low", "inplace"]
    assert own.between.__doc__ == "Return `input` between `low` and `high`."


def test_inplace_calls_the_variant(own: ModuleType) -> None:
    x = opwright.tensor([-3.0, 3.0])
    assert own.between(x, 2.0, inplace=True) is x
    assert x.tolist() == [-1.0, 2.0]


def test_none_stands_for_the_default_of_the_operator(own: ModuleType) -> None:
    assert own.ends(np.array([5.0])).tolist() == [5.0]
    assert own.ends(np.array([5.0]), [1, 2]).tolist() == [2.0]


@pytest.mark.parametrize("name", ["ends", "ends_with_indices"])
def test_return_indices_calls_the_variant_with_two_results(own: ModuleType, name: str) -> None:
    first, second = getattr(own, name)(np.array([5.0]), 1, return_indices=True)
    assert first.tolist() == [3.0] and second.tolist() == [5.0]


def test_reductions_are_names(own: ModuleType) -> None:
    x = np.zeros(1)
    assert own.loss(x, x).tolist() == [1.0]
    assert own.total(x, x).tolist() == [2.0]
    assert own.loss(x, x, reduction="none").tolist() == [0.0]
    with pytest.raises(ValueError, match="'average' is not a valid value for reduction"):
        own.loss(x, x, reduction="average")
    with pytest.warns(UserWarning, match="please use reduction='sum' instead") as warned:
        assert own.loss(x, x, size_average=False).tolist() == [2.0]
    assert warned[0].filename == __file__


def test_a_function_may_hide_a_builtin(package: Path) -> None:
    other = load(package, "other")
    assert other.__all__ == ["count", "float"]
    assert other.float(np.ones(1)).tolist() == [1.0]
    assert other.count(np.ones(1)).tolist() == [-5.0]
