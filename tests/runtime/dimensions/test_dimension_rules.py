"""The dimension rule of calls: what families, windows and texts give, what follows from it, and its text."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from seeds import numpy_generator

import opwright
from opwright.dimensions.cutting import ends_of, parts_of, put_together
from opwright.dimensions.derivatives import batched_rule, gradient_rule, tangent_rule
from opwright.dimensions.deriving import rule_of
from opwright.dimensions.rule import DimensionRule, parse
from opwright.errors import RegistrationError
from opwright.library import custom_op
from opwright_core.dispatch.call.operator import find_operator
from opwright_core.tensors.tensor import wrap


def t(*shape: int) -> Any:
    return wrap(np.ones(shape, np.float32))


def rule(name: str, *args: Any) -> DimensionRule:
    operator = find_operator(f"aten::{name}")
    return rule_of(operator, operator.signature.bind(args, {}))


RULES = [
    ("add.Tensor", (t(4, 1, 3), t(3)), "a b c, c -> a b c"),
    ("add.Tensor", (t(4, 2), t(1, 2)), "a b, 1 b -> a b"),
    ("sum.dim_IntList", (t(2, 3, 4), [1]), "a c b -> a b; c sum"),
    ("prod.dim_int", (t(2, 3, 4), 1), "a c b -> a b; c again"),
    ("linalg_vecdot", (t(2, 3), t(2, 3)), "a b, a b -> a; b sum"),
    ("upsample_nearest1d", (t(2, 3, 4), [8]), "a b c -> a b 1; c whole"),
    ("max", (t(2, 3),), "a b -> (); a max, b max"),
    ("mean.dim", (t(2, 3), [0]), "b a -> a; b whole"),
    ("cumsum", (t(2, 3), 0), "b a -> 1 a; b whole"),
    ("softmax.int", (t(3, 4), 1), "a b -> a 1; b whole"),
    ("cat", ([t(2, 3), t(2, 5)], 1), "a b, a c -> a 1; b whole, c whole"),
    ("stack", ([t(2, 3), t(2, 3)], 0), "a b, a b -> 1 a b"),
    ("mm", (t(2, 3), t(3, 5)), "a c, c b -> a b; c sum"),
    ("bmm", (t(4, 2, 3), t(4, 3, 5)), "a b d, a d c -> a b c; d sum"),
    ("matmul", (t(7, 2, 3), t(3, 5)), "a b d, d c -> a b c; d sum"),
    ("addmm", (t(5), t(2, 3), t(3, 5)), "b, a c, d b -> a b; c whole, d whole"),
    ("linear", (t(6, 2, 3), t(5, 3)), "a b k, n k -> a b n; k sum"),
    ("linear", (t(2, 3), t(5, 3), t(5)), "a k, n k, n -> a n; k whole"),
    ("mse_loss", (t(3, 4), t(3, 4), 0), "a b, a b -> a b"),
    ("mse_loss", (t(3, 4), t(3, 4), 2), "a b, a b -> (); a sum, b sum"),
    ("mse_loss", (t(3, 4), t(3, 4), 1), "a b, c d -> (); a whole, b whole, c whole, d whole"),
    ("linalg_inv_ex", (t(2, 3, 3),), "a b c -> a 1 1, a; b whole, c whole"),
    ("embedding", (t(9, 4), wrap(np.zeros((2, 3), np.int64))), "v d, a b -> a b d; v whole"),
    ("native_layer_norm", (t(2, 3, 4), [4], t(4), t(4), 1e-5), "a b w0, w0, w0 -> a b 1, a b 1, a b 1; w0 whole"),
    ("permute", (t(2, 3, 4), [2, 0, 1]), "d0 d1 d2 -> d2 d0 d1"),
    ("repeat", (t(2, 3), [5, 1, 2]), "d0 d1 -> 1 d0 1; d1 whole"),
    ("constant_pad_nd", (t(2, 3), [1, 0]), "d0 d1 -> d0 1; d1 whole"),
    ("index_select", (t(2, 3), 0, wrap(np.zeros(5, np.int64))), "b a, c -> 1 a; b whole, c whole"),
    ("index.Tensor", (t(2, 3, 4), [None, wrap(np.zeros(5, np.int64))]), "d0 p1 d2, a -> d0 a d2; p1 whole"),
]


def test_rules_of_families_and_texts() -> None:
    found = [str(rule(name, *args)) for name, args, _ in RULES]
    assert found == [text for _, _, text in RULES]


def convolution(stride: int, padding: int, groups: int = 1, bias: Any = None, transposed: bool = False) -> str:
    weight = t(4, 4 // groups, 3)
    return str(rule("convolution", t(2, 4, 9), weight, bias, [stride], [padding], [1], transposed, [0], groups))


def test_convolution() -> None:
    assert convolution(1, 1) == "n c s0, o c a -> n o s0; c sum, s0 window(1, 1), a whole"
    assert convolution(1, 1, bias=t(4)) == "n c s0, o c a, o -> n o s0; c whole, s0 window(1, 1), a whole"
    assert convolution(2, 1) == "n c s0, o c a -> n o 1; c sum, s0 whole, a whole"
    assert convolution(1, 0) == "n c s0, o c a -> n o 1; c sum, s0 whole, a whole"
    assert convolution(1, 1, groups=2).startswith("n a b, c d e -> n 1 1;")
    assert convolution(1, 1, transposed=True) == "n c a, c o b -> n o 1; c sum, a whole, b whole"


def test_convolutions_by_their_own_names() -> None:
    samples = [
        ("conv1d", (t(2, 4, 9), t(6, 4, 3), None, [1], [1]), "n c s0, o c a -> n o s0; c sum, s0 window(1, 1)"),
        ("conv1d", (t(4, 9), t(6, 4, 3), t(6)), "c s0, o c a, o -> o 1; c whole, s0 whole, a whole"),
        ("conv1d", (t(2, 4, 9), t(6, 2, 3), None, [1], [1], [1], 2), "n a b, c d e -> n 1 1; a whole, b whole,"),
        ("conv2d", (t(2, 4, 9, 8), t(6, 4, 3, 3), None, [2, 1], [1, 1]),
         "n c s0 s1, o c a b -> n o 1 s1; c sum, s0 whole, s1 window(1, 1), a whole, b whole"),
        ("conv1d.padding", (t(2, 4, 9), t(6, 4, 4), None, [1], "same"),
         "n c s0, o c a -> n o s0; c sum, s0 window(1, 2), a whole"),
    ]  # fmt: skip
    for name, args, text in samples:
        assert str(rule(name, *args)).startswith(text), name


WRITING = [
    ("add_.Tensor", (t(4, 3), t(3), 1), "a b, b -> a b"),
    ("add.out", (t(4, 3), t(3), 1, t(4, 3)), "a b, b, a b -> a b"),
    ("mm.out", (t(2, 3), t(3, 5), t(2, 5)), "a c, c b, a b -> a b; c whole"),
    ("sort.values", (t(2, 3), 1, False, t(2, 3), t(2, 3)), "a b, a 1, a 1 -> a 1, a 1; b whole"),
    ("cumsum_", (t(2, 3), 0, None), "b a -> 1 a; b whole"),
]


def test_what_writes_has_the_rule_of_what_returns() -> None:
    """A part writes its part alone: what would be put together is whole."""
    assert [str(rule_of(find_operator(f"aten::{name}"), values)) for name, values, _ in WRITING] == [
        text for _, _, text in WRITING
    ]


def test_custom_operators_say_their_dimensions() -> None:
    @custom_op("said::apart", mutates_args=(), meta='gufunc("(n,d),(m,d)->(n,m)", a, b)', dims="n d, m d -> n m; d sum")
    def apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        return a @ b.T

    @custom_op("said::twice", mutates_args=(), meta="pointwise(a)", dims="linear(a)")
    def twice(a: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        return a * 2

    assert str(rule_of(find_operator("said::apart"), [t(7, 2, 4), t(3, 4)])) == "a n d, m d -> a n m; d sum"
    assert rule_of(find_operator("said::twice"), [t(2, 3)]).linear == ((0,),)
    for text, said in (
        ("n d, m d - n m", r"<dims of said::bad>:1:1: error: '->' is missing \[dims-form\]"),
        ("n d, m d -> n m", r"'d' is not in each result"),
        ("linear(c)", "'c' is no tensor that is taken"),
        ("along(a, dim=0); batched", "register_vmap registers a batching rule"),
    ):
        with pytest.raises(RegistrationError, match=said):
            custom_op("said::bad", mutates_args=(), dims=text)(apart.__wrapped__)
    with pytest.raises(RegistrationError, match="writes to its arguments: say dims= of the operator that returns"):
        custom_op("said::bad", mutates_args="a", schema="(Tensor(a!) a) -> ()", dims="linear(a)")(twice.__wrapped__)


def test_sums_over_what_broadcasts() -> None:
    """Gradients of weights are sums over any number of dimensions, which other results have."""

    @custom_op("said::back", mutates_args=(), dims="... n, ... n -> ... n, n; ... sum, n whole")
    def back(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
        return a * b, (a * b).sum(tuple(range(a.ndim - 1)))

    back.register_fake(lambda a, b: (a * b, (a * b).sum([*range(a.dim() - 1)])))
    found = rule_of(find_operator("said::back"), [t(2, 3, 4), t(2, 3, 4)])
    assert str(found) == "a b n, a b n -> a b 1, 1; n whole, a sum, b sum"


def test_reasons() -> None:
    assert rule("mean.dim", t(2, 3), [0]).kind("b").reason == "the operator works along it"
    assert rule("median", t(2, 3)).reason == "since the middle of parts is not that of the whole"
    assert "shape of" in rule("arange", 5).reason or "no tensors" in rule("arange", 5).reason
    assert "random" in rule("bernoulli", t(3)).reason
    assert "depends on data" in rule("masked_select", t(3), wrap(np.ones(3, np.bool_))).reason
    assert "composed of other operators" in rule("flatten.using_ints", t(2, 3)).reason
    unknown = [name for name in ("add.Tensor", "mm") if rule(name, t(3, 3), t(3, 3)).reason]
    assert unknown == []


def test_a_text_is_read_as_it_is_written() -> None:
    for _, _, text in RULES:
        assert str(parse(text)) == text
    window = parse("r t -> r t; t window(radius, 2)", {"radius": 3})
    assert str(window) == "r t -> r t; t window(3, 2)" and window.kind("t").before == 3
    with pytest.raises(ValueError, match=re.escape("'->' is missing")):
        parse("a b")


def test_gradients_tangents_and_batches() -> None:
    mm = rule("mm", t(2, 3), t(3, 5))
    assert str(gradient_rule(mm, [0])) == "a b, a c, c b -> a c; b sum"
    assert str(gradient_rule(mm, [1])) == "a b, a c, c b -> c b; a sum"
    assert str(tangent_rule(mm, [0])) == "a c, c b, a c -> a b; c sum"
    assert str(batched_rule(mm, [1, None])) == "a batch c, c b -> batch a b; c sum"
    biased = rule("add.Tensor", t(4, 3), t(3))
    assert str(gradient_rule(biased, [1])) == "a b, a b, b -> b; a sum"
    both = gradient_rule(biased, [0, 1])
    assert both.kind("a").word == "sum" and both.results == (("a", "b"), ("b",))
    twice = batched_rule(batched_rule(mm, [0, None]), [None, 0])
    assert str(twice) == "batch a c, batch_ c b -> batch_ batch a b; c sum"
    largest = rule("max", t(2, 3))
    assert {gradient_rule(largest, [0]).kind(name).word for name in "ab"} == {"whole"}
    assert {tangent_rule(largest, [0]).kind(name).word for name in "ab"} == {"whole"}


def test_gradients_by_parts_are_those_of_the_whole() -> None:
    random = numpy_generator("gradients by parts")
    grad, one, other = (random.normal(size=shape) for shape in ((5, 7), (5, 6), (6, 7)))
    found = gradient_rule(rule("mm", t(5, 6), t(6, 7)), [1])
    for factor in found.factors:
        parts = parts_of(found, factor, [grad, one, other], ends_of(found.size(factor, [(5, 7), (5, 6), (6, 7)]), 3))
        made = [[part.operands[1].T @ part.operands[0]] for part in parts]
        if found.kind(factor).word != "whole":
            assert np.allclose(put_together(found, factor, made, parts)[0], one.T @ grad), factor


def test_operators_of_programs() -> None:
    @custom_op("dimension_rules::apart", mutates_args=(), meta='gufunc("(n,d),(m,d)->(n,m)", a, b)')
    def apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        return ((a[..., :, None, :] - b[..., None, :, :]) ** 2).sum(-1)

    operator = find_operator("dimension_rules::apart")
    found = rule_of(operator, [t(7, 2, 4), t(3, 4)])
    assert str(found) == "a b c, d e -> a 1 1; b whole, c whole, d whole, e whole"
    assert "dims" in found.kind("b").reason
    assert opwright.vmap(apart, in_dims=(0, None))(t(7, 2, 4), t(3, 4)).shape == (7, 2, 3)
