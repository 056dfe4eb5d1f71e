"""Results of Booleans where a dtype or `out` asks for them, and dtypes that factories refuse, as in PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

import opwright

pytestmark = pytest.mark.oracle


def outcome(library: Any, name: str, *args: Any, **options: Any) -> Any:
    options = {key: getattr(library, value) if key == "dtype" else value for key, value in options.items()}
    try:
        found = getattr(library, name)(*args, **options)
    except NotImplementedError:
        return "refused"
    return str(found.dtype).rpartition(".")[2], list(found.shape), found.tolist() if name != "randperm" else None


def test_sums_and_products_of_booleans_are_any_and_all() -> None:
    torch = pytest.importorskip("torch")
    rows = [[0.0, 0.0], [0.5, -0.5], [1.0, 0.0]]
    for name in ("sum", "prod", "nansum"):
        for dtype in ("float32", "float64", "int64", "bool", "bfloat16"):
            for rest in ((), (0,), (1,), (1, True)):
                if rest == () and name == "nansum":
                    continue
                found = [
                    outcome(each, name, each.tensor(rows).to(getattr(each, dtype)), *rest, dtype="bool")
                    for each in (opwright, torch)
                ]
                assert found[0] == found[1], (name, dtype, rest)
        for each in (opwright, torch):
            out = each.empty(2, dtype=each.bool)
            given = each.tensor(rows).to(each.bool)
            assert getattr(each, name)(given, 0, dtype=each.bool, out=out).tolist() == (
                [False, False] if name == "prod" else [True, True]
            )


def test_dtypes_that_orders_and_indices_refuse() -> None:
    torch = pytest.importorskip("torch")
    for dtype in (
        "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "bfloat16",
        "float32", "float64", "complex64",
    ):  # fmt: skip
        for name, args in (("randperm", (3,)), ("tril_indices", (2, 3)), ("triu_indices", (2, 3))):
            found = [outcome(each, name, *args, dtype=dtype) for each in (opwright, torch)]
            assert found[0] == found[1], (name, dtype)
