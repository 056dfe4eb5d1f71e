"""How many arguments are drawn for a sample: what an operator refuses for good is not drawn again and again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from opwright.registering.kernels import register, undefine
from opwright.testing import arguments, sampler
from opwright.testing.layouts import SITUATIONS
from opwright_core.arrays.dtypes import float32, float64, int64
from opwright_core.dispatch.call.operator import Operator, find_operator
from opwright_core.dispatch.registry.tables import registry

TAKEN = (float32, float64)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The dtype of each draw."""
    counted = []

    def draw(operator: Operator, dtype: Any, *rest: Any) -> Any:
        counted.append(dtype)
        return arguments.draw(operator, dtype, *rest)

    monkeypatch.setattr(sampler, "draw", draw)
    return counted


@pytest.fixture
def operator() -> Iterator[Operator]:
    made = Operator("counted::f", "(Tensor self, Tensor other) -> Tensor")
    yield made
    with registry.lock:
        undefine(made)


def serve(operator: Operator, kernel: Any) -> None:
    register(operator, "CompositeExplicitAutograd", kernel)


def test_a_dtype_that_is_refused_is_given_up(operator: Operator, drawn: list[Any]) -> None:
    """Ten of twelve dtypes were drawn 200 times in each of eight situations: 16,016 draws."""

    def kernel(self: Any, other: Any) -> Any:
        if self.dtype not in TAKEN:
            raise TypeError(f"f is not implemented for {self.dtype}")
        return self.clone()

    serve(operator, kernel)
    found = list(sampler.samples(operator))
    assert [sample.args[0].dtype for sample in found] == [float32] * 9 + [float64] * 9
    assert len(drawn) <= 100


def test_a_situation_that_is_refused_in_the_same_words_is_given_up(operator: Operator, drawn: list[Any]) -> None:
    def kernel(self: Any, other: Any) -> Any:
        if not self.shape:
            raise ValueError("f needs a dimension")
        return self.clone()

    serve(operator, kernel)
    found = list(sampler.samples(operator))
    assert len(found) == len(sampler.DTYPES) * (len(SITUATIONS) - 1)
    assert len(drawn) <= len(found) + 16 * len(sampler.DTYPES)


def test_no_sample_takes_more_than_fifty_draws(operator: Operator, drawn: list[Any]) -> None:
    def kernel(self: Any, other: Any) -> Any:
        raise ValueError(f"no {len(drawn)}")

    serve(operator, kernel)
    assert list(sampler.samples(operator, dtypes=TAKEN)) == []
    assert len(drawn) == 50 * len(TAKEN) * len(SITUATIONS)


def test_one_that_is_refused_now_and_then_is_drawn_again(operator: Operator, drawn: list[Any]) -> None:
    """Only the same words, one after another, mean that the dtype is refused."""

    def kernel(self: Any, other: Any) -> Any:
        if len(drawn) % 4:
            raise TypeError(f"{len(drawn) % 4}: not implemented for {self.dtype}")
        return self.clone()

    serve(operator, kernel)
    assert len(list(sampler.samples(operator, by_fakes=False))) == len(sampler.DTYPES) * len(SITUATIONS)


def test_what_the_declaration_lists_comes_first(operator: Operator, drawn: list[Any]) -> None:
    operator.declare(operator.declaration, (), "", "int64 float64; other: int64")

    def kernel(self: Any, other: Any) -> Any:
        assert other.dtype is int64
        return self.clone()

    serve(operator, kernel)
    found = list(sampler.samples(operator))
    assert [sample.args[0].dtype for sample in found[: 2 * len(SITUATIONS)]] == [float64] * 9 + [int64] * 9
    assert len(found) == len(drawn)


def test_operators_of_pytorchs_keep_their_samples() -> None:
    """Of each kind: fewer draws lose few."""
    for name, least in (("aten::add.Tensor", 90), ("aten::mm", 20), ("aten::sum", 90), ("aten::gather", 30)):
        assert len(list(sampler.samples(name))) >= least


@pytest.mark.parametrize(
    "schema",
    [
        "aten::multinomial",
        "aten::native_group_norm",
        "aten::_embedding_bag",
        "aten::native_batch_norm_backward",
        "aten::upsample_bilinear2d.vec",
        "aten::reflection_pad3d.out",
        "aten::normal.Tensor_Tensor_out",
        "aten::logspace.Tensor_Tensor",
        "aten::linalg_cond.p_str",
        "aten::nanquantile",
    ],
)
def test_names_and_lengths_of_lists_say_what_is_drawn(schema: str) -> None:
    assert list(sampler.samples(find_operator(schema), dtypes=(float32,), situations=("contiguous",))) != []
