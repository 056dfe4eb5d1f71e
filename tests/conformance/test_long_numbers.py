"""Python numbers that a dtype does not hold, as operands: the right value or an error of ours, never another number."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import islice, product
from typing import Any

import numpy as np
import pytest
from declared import functional_of
from faking import converted
from samples import NO_SAMPLES, samples_of

import opwright
from opwright_core.dispatch.registry.tables import registry

Function = Callable[[opwright.Tensor, Any], Any]
REFUSED = (OverflowError, RuntimeError, opwright.errors.ArgumentError)
HUGE = (2**64, 2**70, -(2**70))
VALUES = (1, 0, 3)


def in_place(function: Function) -> Function:
    return lambda x, number: function(x.clone(), number)


def written(function: Callable[..., Any]) -> Function:
    return lambda x, number: function(x, number, out=opwright.empty_like(x))


WAYS: dict[str, Function] = {
    "x + n": operator.add,
    "add": opwright.add,
    "x += n": in_place(operator.iadd),
    "add, out=": written(opwright.add),
    "x * n": operator.mul,
    "x *= n": in_place(operator.imul),
    "x - n": operator.sub,
    "x -= n": in_place(operator.isub),
    "n - x": lambda x, number: number - x,
    "clamp_max": opwright.clamp_max,
    "clamp_max_": in_place(opwright.Tensor.clamp_max_),
    "clamp_min": opwright.clamp_min,
    "x == n": operator.eq,
    "eq_": in_place(opwright.Tensor.eq_),
    "x < n": operator.lt,
    "x ** n": operator.pow,
    "x **= n": in_place(operator.ipow),
    "pow, out=": written(opwright.pow),
    "fill_": in_place(opwright.Tensor.fill_),
    "full_like": opwright.full_like,
    "where": lambda x, number: opwright.where(x == x, number, x),
}
SAYS_SO = "does not fit 64 bits|value cannot be converted to type|negative integer powers|outside the representable"


@pytest.mark.parametrize("number", HUGE)
@pytest.mark.parametrize("way", [way for way in WAYS if "out=" not in way])  # those take no more than 64 bits
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_floats_compute_with_long_ints(name: str, way: str, number: int) -> None:
    x = opwright.tensor(VALUES, dtype=name)
    for _ in range(3):  # plans are kept
        found = WAYS[way](x, number)
        wanted = WAYS[way](x, float(number))
        assert (found.dtype, found.tolist()) == (wanted.dtype, wanted.tolist())


@pytest.mark.parametrize("way", [way for way in WAYS if "clamp" not in way])
@pytest.mark.parametrize("name", ["uint8", "int32", "int64"])
def test_integers_refuse_them(name: str, way: str) -> None:
    x = opwright.tensor(VALUES, dtype=name)
    for number in (*HUGE, 2**2000, 10**5000):
        with pytest.raises(REFUSED, match=SAYS_SO) as caught:
            WAYS[way](x, number)
        assert len(str(caught.value).splitlines()[0]) < 200


@pytest.mark.parametrize("name", ["uint8", "int32", "int64"])
def test_integers_are_clamped_by_them(name: str) -> None:
    x = opwright.tensor(VALUES, dtype=name)
    for number in (2**63, *HUGE[:2], 2**2000, 10**5000):
        assert opwright.clamp_max(x, number).tolist() == list(VALUES)
        assert x.clone().clamp_min_(-number).tolist() == list(VALUES)
        with pytest.raises(RuntimeError, match="outside the representable range"):
            opwright.clamp_min(x, number)


@pytest.mark.parametrize("way", WAYS)
def test_what_no_float_holds_is_refused(way: str) -> None:
    for number in (2**2000, -(10**5000)):
        with pytest.raises(REFUSED, match=SAYS_SO):
            WAYS[way](opwright.ones(3), number)


@pytest.mark.parametrize("name, number", [("uint8", 300), ("int8", 128), ("int8", -200), ("int32", 2**40)])
def test_where_and_pow_do_not_wrap_ints_around(name: str, number: int) -> None:
    x = opwright.tensor(VALUES, dtype=name)
    ways: list[Function] = [
        lambda x, number: opwright.where(x == x, number, x),
        lambda x, number: opwright.where(x == x, x, number),
        lambda x, number: x ** abs(number),
        lambda x, number: x.clone().pow_(abs(number)),
    ]
    for way in ways:
        for _ in range(3):  # plans are kept
            with pytest.raises(RuntimeError, match=f"value cannot be converted to type {name} without overflow"):
                way(x, number)
        assert way(x, 2).dtype == x.dtype


def test_errors_show_no_thousand_digits() -> None:
    number, x = 10**5000, opwright.ones(3)
    calls: list[Callable[[], Any]] = [
        lambda: opwright.zeros(number),
        lambda: x.view(number),
        lambda: x[number],
        lambda: x.cumsum(number),
        lambda: opwright.manual_seed(number),
        lambda: opwright.polygamma(number, x),
        lambda: opwright.arange(number, number + 3),
        lambda: opwright.linspace(0, number, 3),
    ]
    for call in calls:
        with pytest.raises((IndexError, *REFUSED)) as caught:
            call()
        assert "4300 digits" not in str(caught.value)


@pytest.mark.parametrize("number", [2**63, -(2**70), 2**2000])
def test_arange_refuses_what_int64_does_not_hold(number: int) -> None:
    with pytest.raises(RuntimeError, match="value cannot be converted to type int64"):
        opwright.arange(number, number + 3)


@pytest.mark.parametrize("way", ["x + n", "x += n", "x * n", "x *= n", "x - n", "x -= n", "add, out="])
def test_floats_beyond_a_dtype_are_infinite(way: str) -> None:
    with np.errstate(all="raise"):
        for _ in range(3):  # plans are kept
            assert WAYS[way](opwright.ones(3), 1e300).isinf().all()


def copied(array: Any) -> opwright.Tensor:
    return opwright.from_numpy(array.copy())


@pytest.mark.filterwarnings("ignore")
def test_every_operator_says_which_number_is_too_long() -> None:
    """A number in the place of each Scalar and float of a call: no text of Python's own."""
    opwright.add(opwright.ones(1), 1)  # the operators are declared
    wrong, count = [], 0
    for called in [each for each in registry.operators.values() if each.name.startswith("aten::")]:
        signature, name = called.signature, called.name.removeprefix("aten::")
        places = [place for place, text in enumerate(signature.types) if text.rstrip("?") in ("Scalar", "float")]
        if not places or signature.written or functional_of(name) in NO_SAMPLES:
            continue
        for sample, place, number in product(islice(samples_of(name), 3), places, (2**1100, -(2**1100))):
            kwargs = {key: converted(value, copied) for key, value in sample.kwargs.items()}
            count += 1
            try:
                arguments = [*signature.bind(converted(sample.args, copied), kwargs)]
                arguments[place] = number
                called(*arguments)
            except opwright.errors.ArgumentError:
                pass  # it names the argument
            except Exception as error:
                if "too large" in str(error):
                    wrong.append(f"{name}, argument {place}: {type(error).__name__}: {error!s:.80}")
    assert count > 1_000
    assert wrong == []
