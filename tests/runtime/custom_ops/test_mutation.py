"""Operators that write to their arguments: versions, in-place and out operators, and what is recorded of a write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opwright
from opwright import Tag, Tensor
from opwright.library import CustomOpDef, custom_op

pytestmark = pytest.mark.usefixtures("operators_are_dropped")


@pytest.fixture
def x() -> Tensor:
    return opwright.tensor([1.0, 2.0])


@pytest.fixture
def double() -> CustomOpDef:
    @custom_op("made::double", mutates_args={"x"})
    def double(x: Tensor) -> None:
        np.multiply(x.numpy(), 2, out=x.numpy())

    return double


@pytest.fixture
def double_() -> CustomOpDef:
    @custom_op("made::double_", mutates_args={"x"}, tags=Tag.inplace)
    def double_(x: Tensor) -> Tensor:
        np.multiply(x.numpy(), 2, out=x.numpy())
        return x

    return double_


@pytest.fixture
def double_out() -> CustomOpDef:
    @custom_op("made::double_out", mutates_args={"out"}, tags=[Tag.out])
    def double_out(x: Tensor, *, out: Tensor) -> Tensor:
        np.multiply(x.numpy(), 2, out=out.numpy())
        return out

    return double_out


def test_a_declared_write_counts_whatever_the_function_does(x: Tensor) -> None:
    @custom_op("made::f", mutates_args=("a", "bs", "c"))
    def f(a: Tensor, bs: list[Tensor], c: Tensor | None, d: Tensor, add: bool) -> None:
        if add:
            a.add_(1)

    b, d = x.clone(), x.clone()
    f(x, [b, b.clone()], None, d, False)
    assert (x._version, b._version, d._version) == (1, 1, 0)
    f(x, [b], d, d, True)
    assert (x._version, b._version, d._version) == (3, 2, 1)
    with opwright.no_grad():
        f(x, [b], None, d, False)
    assert x._version == 4


def test_unknown_means_every_tensor(x: Tensor) -> None:
    @custom_op("made::f", mutates_args="unknown")
    def f(a: Tensor, bs: list[Tensor], k: int) -> None: ...

    assert str(f._opoverload.schema) == "made::f(Tensor(a0!) a, Tensor(a1!)[] bs, SymInt k) -> ()"
    b = x.clone()
    f(x, [b], 1)
    assert (x._version, b._version) == (1, 1)


def test_a_write_to_a_plain_array(double: CustomOpDef, double_: CustomOpDef, double_out: CustomOpDef) -> None:
    array = np.ones(2)
    assert double(array) is None and array.tolist() == [2, 2]
    assert double_(array) is array and array.tolist() == [4, 4]
    out = np.zeros(2)
    assert double_out(array, out=out) is out and out.tolist() == [8, 8]


def test_a_write_to_a_leaf_is_an_error_before_it_happens(x: Tensor, double: CustomOpDef, double_: CustomOpDef) -> None:
    x.requires_grad_()
    for op in (double, double_):
        with pytest.raises(RuntimeError, match=r"writes to argument 'x': a leaf Variable that requires .* copy"):
            op(x)
        with pytest.raises(RuntimeError, match="argument 'x': a view of a leaf Variable that requires grad"):
            op(x[:1])
        assert x.tolist() == [1, 2] and x._version == 0
        with opwright.no_grad():
            op(x)
        assert x.tolist() == [2, 4] and x.is_leaf
        with opwright.no_grad():
            x.copy_(opwright.tensor([1.0, 2.0]))
        x = x.detach().clone().requires_grad_()


@pytest.mark.parametrize("name", ["double", "double_"])
def test_a_write_to_what_requires_grad_has_no_formula(x: Tensor, name: str, request: pytest.FixtureRequest) -> None:
    op = request.getfixturevalue(name)
    y = x.requires_grad_() * 3
    op(y)
    assert y.tolist() == [6, 12] and y.requires_grad and not y.is_leaf
    with pytest.raises(RuntimeError, match=f"made::{name}: a backward pass .* no autograd formula was registered"):
        y.sum().backward()


def test_a_write_of_what_requires_grad_into_a_plain_tensor_is_recorded(x: Tensor) -> None:
    @custom_op("made::copy", mutates_args={"out", "count"})
    def copy(x: Tensor, out: Tensor, count: Tensor) -> None:
        out.copy_(x)
        count.add_(1)

    out, count = opwright.zeros(2), opwright.tensor(0)
    copy(x.requires_grad_(), out, count)
    assert out.requires_grad and not count.requires_grad and out.tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        out.sum().backward()


def test_what_was_saved_and_is_written_to_is_found_in_the_backward(x: Tensor, double: CustomOpDef) -> None:
    class Square(opwright.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    weight = x.clone().requires_grad_()
    middle = weight * 1
    y = Square.apply(middle)
    with opwright.no_grad():
        double(middle)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*is at version 1; expected version 0"):
        y.sum().backward()


def test_inference_tensors_are_not_written_outside_of_inference_mode(double: CustomOpDef) -> None:
    with opwright.inference_mode():
        x = opwright.ones(2)
        double(x)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        double(x)
    assert x.tolist() == [2, 2]


def test_an_inplace_operator_returns_its_argument(x: Tensor, double_: CustomOpDef) -> None:
    assert double_(x) is x and x.tolist() == [2, 4] and x._version == 1
    assert str(double_._opoverload.schema) == "made::double_(Tensor(a0!) x) -> Tensor(a0!)"

    @custom_op("made::wrong_", mutates_args={"x"}, tags=Tag.inplace)
    def wrong_(x: Tensor) -> Tensor:
        return x + 1

    with pytest.raises(RuntimeError, match=r"wrong_ at .*test_mutation.py:\d+ .* result 0 must be argument 'x' itself"):
        wrong_(x)


def _tensor(x: Tensor) -> Tensor: ...  # type: ignore[empty-body]
def _number(k: int, x: Tensor) -> Tensor: ...  # type: ignore[empty-body]
def _two(x: Tensor, y: Tensor) -> Tensor: ...  # type: ignore[empty-body]
def _nothing(x: Tensor) -> None: ...
def _several(x: Tensor) -> tuple[Tensor, Tensor]: ...  # type: ignore[empty-body]
def _keyword(*, x: Tensor) -> Tensor: ...  # type: ignore[empty-body]


@pytest.mark.parametrize(
    "function, mutates", [(_number, "x"), (_two, "xy"), (_two, "y"), (_nothing, "x"), (_several, "x"), (_keyword, "x")]
)
def test_rules_of_the_tag_inplace(function: Callable[..., Any], mutates: str) -> None:
    with pytest.raises(ValueError, match="inplace"):
        custom_op("made::f", function, mutates_args=set(mutates), tags=Tag.inplace)


def test_the_tags_inplace_and_out_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="mutually exclusive"):
        custom_op("made::f", _tensor, mutates_args={"x"}, tags=[Tag.inplace, Tag.out])


@pytest.mark.parametrize(
    "tag, schema", [(Tag.inplace, "(Tensor(a!) x) -> Tensor"), (Tag.out, "(Tensor x, *, Tensor(a!) out) -> Tensor")]
)
def test_a_given_schema_must_alias_the_return(tag: Tag, schema: str) -> None:
    with pytest.raises(ValueError, match=tag):
        custom_op("made::f", lambda x: x, mutates_args="unknown", schema=schema, tags=tag)
    fitting = schema.replace("-> Tensor", "-> Tensor(a!)")
    custom_op("made::f", lambda x, **out: x, mutates_args="unknown", schema=fitting, tags=tag)


def test_out_operators_return_what_they_wrote(x: Tensor, double_out: CustomOpDef) -> None:
    out = opwright.empty(2)
    assert double_out(x, out=out) is out and out.tolist() == [2, 4] and out._version == 1

    @custom_op("made::both_out", mutates_args={"a", "b"}, tags=Tag.out)
    def both_out(x: Tensor, *, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        return a, b

    b = opwright.empty(2)
    first, second = both_out(x, a=out, b=b)
    assert first is out and second is b

    @custom_op("made::wrong_out", mutates_args={"out"}, tags=Tag.out)
    def wrong_out(x: Tensor, *, out: Tensor) -> Tensor:
        return x + 1

    with pytest.raises(RuntimeError, match="result 0 must be argument 'out' itself"):
        wrong_out(x, out=out)


def _positional(x: Tensor, out: Tensor) -> Tensor: ...  # type: ignore[empty-body]
def _optional(x: Tensor, *, out: Tensor | None) -> Tensor: ...  # type: ignore[empty-body]
def _list(x: Tensor, *, out: list[Tensor]) -> Tensor: ...  # type: ignore[empty-body]
def _one_of_two(x: Tensor, *, out: Tensor, b: Tensor) -> Tensor: ...  # type: ignore[empty-body]
def _one_tuple(x: Tensor, *, out: Tensor) -> tuple[Tensor]: ...  # type: ignore[empty-body]


@pytest.mark.parametrize(
    "function, mutates",
    [(_positional, ["out"]), (_optional, ["out"]), (_list, ["out"]), (_one_of_two, ["out", "b"]), (_one_tuple, ["out"]),
     (_one_tuple, [])],
)  # fmt: skip
def test_rules_of_the_tag_out(function: Callable[..., Any], mutates: list[str]) -> None:
    with pytest.raises(ValueError, match="out"):
        custom_op("made::f", function, mutates_args=mutates, tags=Tag.out)


def test_out_operators_are_not_differentiated(x: Tensor, double_out: CustomOpDef) -> None:
    out = opwright.empty(2)
    weight = x.clone().requires_grad_()
    for args, out_ in [((weight,), out), ((x,), weight)]:
        with pytest.raises(RuntimeError, match=r"functions with out=\.\.\. arguments don't support automatic diff"):
            double_out(*args, out=out_)
    with opwright.no_grad():
        assert double_out(weight, out=out) is out
        leaf = x.clone().requires_grad_()
        assert double_out(x, out=leaf) is leaf and leaf.is_leaf and leaf.grad_fn is None


def test_what_returns_its_arguments_needs_no_fake_kernel(
    double: CustomOpDef, double_: CustomOpDef, double_out: CustomOpDef
) -> None:
    with opwright.fake.FakeTensorMode():
        x, out = opwright.ones(2), opwright.empty(2)
        assert double(x) is None and x._version == 1
        assert double_(x) is x and x._version == 2
        assert double_out(x, out=out) is out and out._version == 1
    with pytest.warns(UserWarning, match="fake kernel of made::double_ is unnecessary"):
        double_.register_fake(lambda x: x)
