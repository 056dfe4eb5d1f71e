"""How users write calls: ints one by one, numbers on the left, results by name; as PyTorch takes and gives them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opwright
from opwright.errors import ArgumentError

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from both import check  # noqa: E402

pytestmark = pytest.mark.oracle

Calls = Callable[[Any], Any]

ONE_BY_ONE: dict[str, Calls] = {
    "zeros": lambda t: t.zeros(2, 3),
    "zeros of one": lambda t: t.zeros(3),
    "ones with dtype": lambda t: t.ones(2, 3, dtype=t.int8),
    "rand": lambda t: t.rand(2, 3),
    "randn with generator": lambda t: t.randn(2, 3, generator=None),
    "empty": lambda t: t.empty(2, 0),
    "a bool among them": lambda t: t.zeros(2, True),
    "view": lambda t: t.ones(6).view(2, 3),
    "view of one": lambda t: t.ones(2, 3).view(-1),
    "view of a tuple": lambda t: t.ones(6).view((3, 2)),
    "reshape": lambda t: t.ones(6).reshape(-1, 2),
    "permute": lambda t: t.ones((2, 3, 4)).permute(0, 2, 1),
    "expand": lambda t: t.ones((1, 3)).expand(4, -1),
    "expand with keyword": lambda t: t.ones((1, 3)).expand(4, -1, implicit=False),
    "new_zeros": lambda t: t.ones(1).new_zeros(2, 3),
    "squeeze": lambda t: t.ones((1, 2, 1)).squeeze(0, 2),
    "squeeze of one": lambda t: t.ones((1, 2, 1)).squeeze(0),
    "sum": lambda t: t.ones((2, 3)).sum(0),
}


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_ints_one_by_one(name: str) -> None:
    ours, theirs = (ONE_BY_ONE[name](module) for module in (opwright, torch))
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(theirs.dtype) == f"torch.{ours.dtype}"


@pytest.mark.parametrize(
    "call", [lambda t: t.ones(6).view(2, "a"), lambda t: t.zeros((2,), 3), lambda t: t.ones(1).permute([0], 1)]
)
def test_what_is_no_int_among_them(call: Calls) -> None:
    with pytest.raises(ArgumentError, match=r"(size|dims).* element [01] is"):
        call(opwright)
    with pytest.raises(TypeError):
        call(torch)


REFLECTED: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda number, tensor: number + tensor,
    "-": lambda number, tensor: number - tensor,
    "*": lambda number, tensor: number * tensor,
    "/": lambda number, tensor: number / tensor,
    "//": lambda number, tensor: number // tensor,
    "%": lambda number, tensor: number % tensor,
    "**": lambda number, tensor: number**tensor,
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int32", "uint8"])
@pytest.mark.parametrize("number", [1, 5, 2.5, -3, True], ids=str)
@pytest.mark.parametrize("operator", REFLECTED)
def test_numbers_on_the_left(operator: str, number: Any, dtype: str) -> None:
    values = [1.5, -2.0, 0.75] if "float" in dtype else [1, 2, 3]
    if operator == "-" and number is True:  # refused on both sides, as are bool tensors
        for module in (opwright, torch):
            with pytest.raises((RuntimeError, NotImplementedError)):
                number - module.tensor(values, dtype=getattr(module, dtype))
        return
    ours, theirs = (
        REFLECTED[operator](number, module.tensor(values, dtype=getattr(module, dtype))) for module in (opwright, torch)
    )
    assert str(theirs.dtype) == f"torch.{ours.dtype}"
    if operator == "**":  # by the math library, which rounds the last digit as it likes
        assert ours.tolist() == pytest.approx(theirs.tolist(), rel=1e-5, nan_ok=True)
    else:
        assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("left, right", [({}, 1.0), (1.0, {})], ids=str)
def test_values_with_a_method_called_keys_are_no_tensors(left: Any, right: Any) -> None:
    """A dict has `keys`, as tensors do, and what they give has no `|`."""
    values = [opwright.tensor(value) if isinstance(value, float) else value for value in (left, right)]
    with pytest.raises(ArgumentError, match=r"aten::maximum\(\) expected Tensor for argument .* got dict"):
        opwright.maximum(*values)
    with pytest.raises(ArgumentError, match="no overload of aten::add fits") as caught:
        opwright.add(*values)
    assert "aten::add.Tensor(Tensor self" in str(caught.value)
    assert "aten::add.Scalar(Tensor self" in str(caught.value)


NAMED: dict[str, Calls] = {
    "function": lambda t: t.max(t.tensor([[1.0, 4.0], [3.0, 2.0]]), 0),
    "method": lambda t: t.tensor([[1.0, 4.0], [3.0, 2.0]]).min(dim=1, keepdim=True),
    "again": lambda t: [t.tensor([[1.0, 4.0]]).max(0) for _ in range(3)][-1],
}


@pytest.mark.parametrize("name", NAMED)
def test_several_results_have_names(name: str) -> None:
    ours, theirs = (NAMED[name](module) for module in (opwright, torch))
    assert ours.values.tolist() == theirs.values.tolist()
    assert ours.indices.tolist() == theirs.indices.tolist()
    values, indices = ours
    assert isinstance(ours, tuple) and values is ours.values and indices is ours.indices


def test_named_results_of_every_way_to_call() -> None:
    tensor, array = opwright.tensor([[1.0, 4.0]]), np.array([[1.0, 4.0]])
    dim = opwright.ops.aten.max.dim
    calls = (
        dim(tensor, 0),
        dim(tensor, dim=0),
        opwright.ops.aten.max(tensor, 0),
        opwright.max(array, 0),
        dim(array, 0),
    )
    assert [found.values.tolist() for found in calls] == [[1.0, 4.0]] * 5
    assert repr(calls[0]).startswith("opwright.return_types.max(\nvalues=tensor([1., 4.]),\nindices=")
    copied = pickle.loads(pickle.dumps(calls[3]))
    assert type(copied) is type(calls[0])


def test_the_classes_of_named_results_have_pytorchs_names() -> None:
    def programme(lib: Any) -> Any:
        x, kinds = lib.tensor([[1.0, 4.0], [3.0, 2.0]]), lib.return_types
        out = lib.max(x, 0, out=(lib.empty(2), lib.empty(2, dtype=lib.int64)))
        return [
            [isinstance(found, kind) for kind in (kinds.max, kinds.max_out, kinds.sort, kinds.linalg_svd)]
            + [repr(found).partition(".")[2].partition("(")[0]]
            for found in (x.max(0), out, x.sort(), x.sort(stable=True), lib.linalg.svd(x), lib.vmap(lib.max)(x))
            if isinstance(found, tuple)
        ]

    check(programme)
    names = [name for name in dir(torch.return_types) if name.removesuffix("_out") in dir(opwright.ops.aten)]
    assert len(names) > 50
    assert [name for name in names if not hasattr(opwright.return_types, name) and not name.startswith("_")] == []
    with pytest.raises(AttributeError, match="no results of this operator have names"):
        opwright.return_types.add  # noqa: B018
