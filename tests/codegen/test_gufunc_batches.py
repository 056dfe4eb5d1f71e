"""Kernels without leading dimensions under `gufunc`: opcheck calls one batch, and names `batched=False`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pipeline import generate, imported, new_namespace

import opwright
from opwright.errors import ContractError
from opwright.library import opcheck

ENTRIES = """
- func: NS::alone(Tensor a, Tensor b) -> Tensor
  meta: gufunc("(n),(n)->()", a, b)
  dispatch: {CPU: dot}
- func: NS::declared(Tensor a, Tensor b) -> Tensor
  meta: gufunc("(n),(n)->()", a, b, batched=False)
  dispatch: {CPU: dot}
- func: NS::whole(Tensor a, Tensor b) -> Tensor
  meta: gufunc("(n),(n)->()", a, b)
  dispatch: {CPU: (a * b).sum(-1)}
- func: NS::mixed(Tensor a) -> Tensor
  meta: gufunc("(n)->(n)", a)
  dispatch: {CPU: a / a.sum()}
- func: NS::optional(Tensor a, Tensor b) -> Tensor
  meta: gufunc("(m?,n),(n,p?)->(m?,p?)", a, b)
  dispatch: {CPU: 'xp.matmul(a, b)'}
- func: NS::scaled(Tensor a, Tensor w) -> Tensor
  meta: gufunc("(n)->(n)", a)
  dispatch: {CPU: 'a * xp.ravel(w)[0]'}
"""


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    space = new_namespace()
    kernels = "import numpy as np\ndef dot(a, b):\n    return np.dot(a, b)\n"
    with imported(generate(tmp_path_factory.mktemp("gufunc"), ENTRIES.replace("NS", space), kernels=kernels)):
        yield getattr(opwright.ops, space)


@pytest.mark.parametrize(
    ("name", "count", "said"),
    [
        ("alone", 2, "its kernel raises ValueError"),
        ("mixed", 1, "its kernel mixes the samples"),
        *((name, 2, "") for name in ("declared", "whole", "optional", "scaled")),
    ],
)
def test_one_call_is_a_batch(name: str, count: int, said: str, ops: Any) -> None:
    args = [opwright.arange(1, 4, dtype=opwright.float64)] * count
    found = opcheck(getattr(ops, name), [each.clone() for each in args], raise_exception=False)["test_faketensor"]
    if not said:
        assert found == "SUCCESS"
    else:
        assert isinstance(found, ContractError)
        assert said in str(found) and "hint: write batched=False in `meta`" in str(found)
