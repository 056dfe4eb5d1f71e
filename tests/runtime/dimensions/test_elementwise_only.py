"""Only `pointwise` says that an operator works element by element: for every other rule parts are not cut, and `vmap`
calls the operator for each sample."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import opwright
from opwright.dimensions.deriving import rule_of
from opwright_codegen.cli import main
from opwright_core.dispatch.call.operator import find_operator

# Kernels along the first or the last dimension, or over all: (meta, kernel).
ALONG = {
    "softmax": ("like(x)", "xp.exp(x) / xp.exp(x).sum(0, keepdims=True)"),
    "cumsum": ("like(x)", "xp.cumsum(x, 0)"),
    "flip": ("like(x)", "x[::-1] * 1"),
    "sort": ("like(x)", "xp.sort(x, axis=0)"),
    "centre": ("like(x)", "x - x.mean()"),
    "formatted": ('like(x, memory_format="contiguous_format")', "xp.cumsum(x, 0)"),
    "started": ("overwritten(x)", "xp.cumsum(x, 0)"),
    "both": ("pointwise(x), like(x)", "x + 1, xp.cumsum(x, 0)"),
    "either": ("pointwise(x) if n else like(x)", "x + 1 if n else xp.cumsum(x, 0)"),
    "narrower": ("pointwise(x), pointwise(x, y)", "x + 1, x + y"),
}
ELEMENTWISE = {
    "moved": ("pointwise(x)", "x + 1"),
    "twice": ("pointwise(x, y), pointwise(x, y)", "x + y, x - y"),
    "chosen": ('pointwise(x) if n else pointwise(x, kind="int_to_float")', "x + 1"),
}


def entry(name: str, meta: str, kernel: str) -> str:
    returns = "(Tensor, Tensor)" if "), " in meta else "Tensor"
    schema = f"alone::{name}(Tensor x, Tensor y, int n=0) -> {returns}"
    return f"- func: {schema}\n  meta: '{meta}'\n  dispatch: {{CPU: '{kernel}'}}\n"


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("alone")
    texts = [entry(name, *both) for name, both in (ALONG | ELEMENTWISE).items()]
    (folder / "ops.yaml").write_text("".join(texts))
    assert main(["generate", str(folder / "ops.yaml"), "-o", str(folder / "alone_ops")]) == 0
    sys.path.insert(0, str(folder))
    try:
        from alone_ops import ops  # type: ignore[import-not-found]

        yield ops
    finally:
        sys.path.remove(str(folder))


def values() -> list[Any]:
    return [opwright.arange(12.0).reshape(4, 3) + 1, opwright.ones(4, 3), 0]


@pytest.mark.parametrize("name", ALONG)
def test_no_other_rule_cuts(ops: Any, name: str) -> None:
    rule = rule_of(find_operator(f"alone::{name}"), values())
    assert all(rule.kind(factor).word == "whole" for factor in rule.operands[0])


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_pointwise_cuts(ops: Any, name: str) -> None:
    rule = rule_of(find_operator(f"alone::{name}"), values())
    assert not any(rule.kind(factor).word == "whole" for factor in rule.operands[0])


@pytest.mark.parametrize("name", [*ALONG, *ELEMENTWISE])
def test_vmap_is_a_loop(ops: Any, name: str) -> None:
    x, y, n = values()
    x = opwright.stack([x, 2 * x, x - 3])
    call = getattr(ops, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = opwright.vmap(lambda each: call(each, y, n))(x)
    expected = [call(each, y, n) for each in x]
    for index, result in enumerate(found if isinstance(found, tuple) else (found,)):
        for sample, one in zip(result, expected, strict=True):
            np.testing.assert_array_equal(sample, one[index] if isinstance(one, tuple) else one)


def test_a_formula_at_run_time_says_no_more() -> None:
    @opwright.library.custom_op("alone_now::cumsum", mutates_args=(), meta="like(x)")
    def running(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.cumsum(x, 0)

    rule = rule_of(find_operator("alone_now::cumsum"), [opwright.ones(4, 3)])
    assert all(rule.kind(factor).word == "whole" for own in rule.operands for factor in own)
    x = opwright.ones(2, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(opwright.vmap(running)(x).numpy(), np.cumsum(np.ones((2, 4)), 1))
