"""Stubs that are rows: the generator leaves to the runtime what this has closures for."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import opwright
from opwright.errors import ArgumentError

OPS = Path(__file__).parents[2] / "generated" / "opwright_aten" / "ops"


def test_what_only_passes_on_its_arguments_is_a_row() -> None:
    """No stub of one or two tensors is written out."""
    written = [
        f"{path.stem}.{each.name}"
        for path in OPS.glob("*.py")
        for each in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(each, ast.FunctionDef)
        and [argument.arg for argument in each.args.args] in (["self"], ["self", "other"])
        and ast.unparse(each.body[-1]).startswith(("return find1", "return find2"))
        and len(each.body) <= 2
    ]
    assert written == []


def test_a_row_is_a_function_like_any_other() -> None:
    stub = opwright.elu
    assert (
        str(inspect.signature(getattr(stub, "python", stub)))
        == "(self=..., alpha=1, scale=1, input_scale=1, *more, **named)"
    )
    assert (stub.__name__, stub.__qualname__) == ("elu", "elu")
    assert stub.__module__ == "opwright_aten.ops.activations"
    x = opwright.tensor([-1.0, 2.0])
    assert opwright.elu(input=x, alpha=2).equal(opwright.elu(x, opwright.tensor(2.0)))
    assert opwright.ops.aten.sum.dim_IntList(x, dim=[0]).equal(opwright.ops.aten.sum.dim_IntList(x, 0))
    with pytest.raises(ArgumentError, match=r"expected Scalar for argument 'alpha' \(position 1\), got str 'x'"):
        opwright.elu(x, "x")
    with pytest.raises(ArgumentError, match="is missing a value for argument 'mat2'"):
        opwright.mm(x)


@pytest.mark.parametrize(("overload", "args"), [("add.Tensor", 2), ("sum.dim_IntList", 2), ("quantile.default", 2)])
def test_a_row_of_one_overload_takes_its_own_names_alone(overload: str, args: int) -> None:
    name, _, last = overload.partition(".")
    stub = getattr(getattr(opwright.ops.aten, name), last).stub
    x = opwright.tensor([0.5])
    with pytest.raises(TypeError, match=r"got an unexpected keyword argument 'axis'"):
        stub(*[x] * args, axis=0)
    with pytest.raises(TypeError, match=r"missing . required positional arguments?: 'self'"):
        stub()
