"""The operators of `torch.testing._internal.custom_op_db` on our API beside PyTorch's own: values, gradients of both
orders, results without data, rules for `vmap`."""

from __future__ import annotations

import ast
import importlib.util
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import custom_op_db
import numpy as np
import pytest
from custom_op_db import DTYPES, ENTRIES, NAMESPACE, Entry
from oracle import call, difference, to_opwright, to_torch, torch
from sampling import FLOAT32, FLOAT64, sample

import opwright
from opwright import Tensor
from opwright.autograd import gradcheck, gradgradcheck
from opwright.batching.tables import REGISTERED
from opwright.library import opcheck
from opwright.testing import assert_close
from opwright_core.dispatch.registry.tables import registry

pytestmark = pytest.mark.oracle
CALLS = [pytest.param(entry, dtype, id=f"{entry.op.__name__}-{dtype}") for entry in ENTRIES for dtype in DTYPES]
DIFFERENTIABLE = [pytest.param(entry, id=entry.op.__name__) for entry in ENTRIES if entry.is_differentiable]


@cache
def theirs() -> Any:
    """PyTorch's operators. What else is in the module needs packages that are for PyTorch's own tests."""
    path = Path(str(importlib.util.find_spec("torch.testing").origin)).parent / "_internal" / "custom_op_db.py"  # type: ignore[union-attr]
    module = ast.parse(path.read_text(encoding="utf-8"))
    module.body = [
        node
        for node in module.body
        if not (isinstance(node, ast.ImportFrom) and str(node.module).startswith("torch.testing"))
        and not (isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "custom_op_db")
    ]
    names: dict[str, Any] = {}
    exec(compile(module, str(path), "exec"), names)
    return SimpleNamespace(**names)


def test_it_has_every_operator_of_pytorch() -> None:
    ours = {name.partition("::")[2] for name in registry.operators if name.startswith(f"{NAMESPACE}::")}
    defined = {name for name, value in vars(theirs()).items() if isinstance(value, torch.library.CustomOpDef)}
    assert ours == {name for name in defined if name.startswith("numpy_")} and len(ours) == len(ENTRIES) == 11


@pytest.mark.parametrize("entry, dtype", CALLS)
def test_values(entry: Entry, dtype: np.dtype[Any]) -> None:
    for one in entry.samples(dtype):
        expected = row_major(call(getattr(theirs(), entry.op.__name__), one, to_torch))
        assert difference(row_major(call(entry.op, one, to_opwright)), expected) is None, one
        arrays = call(entry.op, one, lambda value: value)  # arrays in, arrays out
        assert not any(isinstance(each, Tensor) for each in flat(arrays)), one
        assert difference(row_major(arrays), expected) is None, one


def row_major(value: Any) -> Any:
    """What lists and tuples hold, arrays and Tensors as Tensors in row-major order."""
    if isinstance(value, list | tuple):
        return [row_major(each) for each in value]
    if isinstance(value, np.ndarray):
        value = opwright.from_numpy(value)
    return value.contiguous() if isinstance(value, Tensor | torch.Tensor) else value


def flat(value: Any) -> list[Any]:
    """What lists and tuples hold, one by one."""
    return [each for item in value for each in flat(item)] if isinstance(value, list | tuple) else [value]


def leaves_of(args: list[Any]) -> list[Any]:
    """The arguments that can have gradients, made to require them."""
    tensors = [each for each in flat(args) if isinstance(each, Tensor | torch.Tensor)]
    return [each.requires_grad_() for each in tensors if each.dtype in (torch.float64, FLOAT64)]


def differentiable(result: Any) -> list[Any]:
    """The results that have gradients."""
    return [each for each in flat(result) if isinstance(each, Tensor | torch.Tensor) and each.requires_grad]


@pytest.mark.parametrize("entry", DIFFERENTIABLE)
def test_gradients_of_both_orders(entry: Entry) -> None:
    for one in entry.samples(FLOAT64):
        found = []
        for library, op, convert in (
            (opwright, entry.op, to_opwright),
            (torch, getattr(theirs(), entry.op.__name__), to_torch),
        ):
            args = [convert(arg) for arg in one.args]
            leaves = leaves_of(args)
            results = differentiable(op(*args, **one.kwargs))
            weights = [library.cos(each.detach() + 1).requires_grad_() for each in results]
            first = library.autograd.grad(results, leaves, weights, create_graph=True)
            total = sum((each * each).sum() for each in first)
            second = library.autograd.grad(total, [*leaves, *weights], materialize_grads=True)
            found.append(row_major([each.detach() for each in (*first, *second)]))
        assert difference(*found) is None, one


@pytest.mark.parametrize("entry", DIFFERENTIABLE)
def test_finite_differences(entry: Entry) -> None:
    for one in entry.samples(FLOAT64):
        args = [to_opwright(arg) for arg in one.args]
        if not leaves_of(args)[0].numel():
            continue

        def function(*args: Any, kwargs: dict[str, Any] = one.kwargs) -> Any:
            results = tuple(differentiable(entry.op(*args, **kwargs)))
            return results[0] if len(results) == 1 else results

        assert gradcheck(function, args) and gradgradcheck(function, args)


@pytest.mark.parametrize("records", [False, True])
@pytest.mark.parametrize("entry", [pytest.param(entry, id=entry.op.__name__) for entry in ENTRIES])
def test_opcheck(entry: Entry, records: bool) -> None:
    for one in (one for dtype in (FLOAT64, FLOAT32) for one in entry.samples(dtype)):
        args = [to_opwright(arg) for arg in one.args]
        if records:
            leaves_of(args)
        assert set(opcheck(entry.op, args, one.kwargs).values()) == {"SUCCESS"}


@pytest.mark.parametrize("entry", DIFFERENTIABLE)
def test_rules_for_vmap_do_what_a_loop_does(entry: Entry) -> None:
    rule = REGISTERED.find(f"{NAMESPACE}::{entry.op.__name__}")
    if rule is None:
        assert entry.op is custom_op_db.numpy_cat  # PyTorch's takes no lists
        return
    for one in entry.samples(FLOAT64):
        rows = [
            [np.asarray(arg * k) if getattr(arg, "dtype", None) is FLOAT64 else arg for arg in one.args]
            for k in (1, -2, 0.5)
        ]
        loop = [flat(call(entry.op, sample(*row, **one.kwargs), to_opwright)) for row in rows]
        for at in (0, -1):
            args = [
                np.stack(each, axis=at) if isinstance(each[0], np.ndarray) else each[0]
                for each in zip(*rows, strict=True)
            ]
            in_dims = tuple(at % arg.ndim if isinstance(arg, np.ndarray) else None for arg in args)
            found, dims = rule(SimpleNamespace(batch_size=3), in_dims, *map(to_opwright, args), **one.kwargs)
            many = (
                dims if isinstance(found, tuple) else [dims] * len(flat(found)) if isinstance(found, list) else [dims]
            )
            for number, (batch, dim) in enumerate(zip(flat(found), flat(many), strict=True)):
                expected = [row[number] for row in loop]
                stacked = expected[0] if dim is None else opwright.stack(expected, dim)
                assert_close(batch, stacked)
