"""Operators to be checked, and what a test says of them."""

from __future__ import annotations

from typing import Any

import opwright
from opwright import Tensor
from opwright.library import Library, opcheck


def define(lib: Library, schema: str, kernel: Any, *, key: str = "CPU", fake: Any = None) -> Any:
    """The operator `f` of the library, of a schema `f(...) -> ...`."""
    lib.define(schema)
    lib.impl("f", kernel, key)
    if fake is not None:
        lib.register_fake("f", fake)
    return getattr(opwright.ops, lib.ns).f.default


def failure(op: Any, args: Any, kwargs: Any = None, *, only: str | None = None, test: str = "test_schema") -> str:
    """What the test says; with `only`, it is that test, and no other one fails."""
    results = opcheck(op, args, kwargs, raise_exception=False)
    found = results[only or test]
    assert isinstance(found, Exception), f"{test} passed: {results}"
    if only is not None:
        assert [name for name, result in results.items() if result != "SUCCESS"] == [only], results
    return str(found)


def nothing(value: object) -> None:
    """For kernels that return nothing."""


def x(*shape: int, grad: bool = False) -> Tensor:
    return opwright.randn(*(shape or (3, 4))).requires_grad_(grad)
