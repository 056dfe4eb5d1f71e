"""Overload resolution."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from conftest import Maker

import opwright
from opwright.errors import ArgumentError, DispatchError
from opwright.namespaces import ops
from opwright.registering.kernels import register
from opwright_core.dispatch.call.packets import Packet, packet
from opwright_core.tensors.tensor import wrap


def define_all(define: Maker, *schemas: str) -> Packet:
    """Operators that return their overload's name."""
    for schema in schemas:
        operator = define(schema)
        name = operator.overload or "default"
        register(operator, "CompositeExplicitAutograd", lambda *args, name=name, **kwargs: name)
    return packet(f"{operator.namespace}::{operator.base}")


@pytest.fixture
def adds(define: Maker) -> Packet:
    return define_all(
        define,
        "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> str",
        "add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> str",
        "add.int(int self, int other) -> str",
        "add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> str",
    )


X = wrap(np.ones(2))


@pytest.mark.parametrize(
    ("args", "kwargs", "overload"),
    [
        ((X, X), {}, "Tensor"),
        ((X, np.ones(2)), {}, "Tensor"),
        ((np.ones(2), np.ones(2)), {"alpha": 2}, "Tensor"),
        ((X, 2), {}, "Scalar"),
        ((X, 2.5), {"alpha": 2}, "Scalar"),
        ((X, 2, 3), {}, "Scalar"),
        ((X, np.float64(2)), {}, "Scalar"),
        ((X, np.float32(2)), {}, "Scalar"),
        ((1, 2), {}, "int"),
        ((X,), {"other": X, "out": X}, "out"),
        ((X, X), {"out": np.ones(2)}, "out"),
        ((X, X), {"out": None}, "Tensor"),
    ],
)
def test_first_overload_that_matches(adds: Packet, args: Any, kwargs: Any, overload: str) -> None:
    for _ in range(2):  # the second time from memory
        assert adds(*args, **kwargs) == overload
        if kwargs.get("out", X) is not None:
            assert adds.resolve(args, kwargs).overload == overload


def test_definition_order_decides(define: Maker) -> None:
    found = define_all(define, "f.b(float x) -> str", "f.a(int x) -> str", "f(Scalar x) -> str")
    assert found(1) == "b"
    assert found(1j) == "default"
    assert found.overloads() == ["b", "a", "default"]


def test_what_types_do_not_tell_is_looked_at_every_time(define: Maker) -> None:
    found = define_all(define, "f.int(int x) -> str", "f.Tensor(Tensor x) -> str")
    one, two = wrap(np.ones(1)), wrap(np.ones(2))
    assert [found(one), found(two), found(one)] == ["int", "Tensor", "int"]
    lists = define_all(define, "g.ints(int[] x) -> str", "g.Tensors(Tensor[] x) -> str", "g.strs(str[] x) -> str")
    assert [lists([1]), lists([X]), lists(["a"]), lists([2])] == ["ints", "Tensors", "strs", "ints"]
    names = define_all(define, "h.device(Device x) -> str", "h.str(str x) -> str")
    assert [names("cpu"), names("nowhere"), names("cpu")] == ["device", "str", "device"]
    sizes = define_all(define, "k.int(int x) -> str", "k.float(float x) -> str")
    assert [sizes(1), sizes(2**70), sizes(1)] == ["int", "float", "int"]


def test_a_new_overload_is_seen(define: Maker) -> None:
    found = define_all(define, "f.Scalar(Scalar x) -> str")
    assert found("a" if False else 1) == "Scalar"
    with pytest.raises(ArgumentError):
        found("a")
    define_all(define, "f.str(str x) -> str")
    assert found("a") == "str"
    assert found.overloads() == ["Scalar", "str"]


def test_numpy_scalars_are_arrays_where_nothing_takes_numbers(define: Maker) -> None:
    found = define_all(define, "f.Tensor(Tensor x) -> str", "f.list(Tensor[] x) -> str")
    assert found(np.float32(1)) == "Tensor"


def test_no_match_lists_every_candidate_with_its_reason(adds: Packet) -> None:
    with pytest.raises(ArgumentError) as error:
        adds("a", 1)
    text = str(error.value)
    assert f"no overload of {adds.name} fits" in text
    for number, operator in enumerate(adds.operators.values(), 1):
        assert f"{number}. {operator.name}()" in text
        assert f"Declaration: {operator.name}{operator.declaration}" in text
    assert "expected int for argument 'self' (position 0), got str 'a'" in text
    assert "missing value for argument 'out'" not in text or "'out' (position 3)" in text


def test_one_overload_gives_its_own_error(define: Maker) -> None:
    found = define_all(define, "f.Scalar(Scalar x) -> str")
    with pytest.raises(ArgumentError, match=r"^test\d+::f\.Scalar\(\) expected Scalar"):
        found(X)


def test_overloads_are_attributes(adds: Packet) -> None:
    assert adds.Tensor is adds.operators["Tensor"]
    assert {"Tensor", "out"} <= set(dir(adds))
    with pytest.raises(AttributeError, match=r"has no overload 'Tensr'; it has Tensor, Scalar, int, out"):
        _ = adds.Tensr


def test_reached_through_ops(adds: Packet) -> None:
    namespace = getattr(ops, adds.namespace)
    assert namespace.add is adds
    assert namespace.add.Scalar(X, 1) == "Scalar"
    assert dir(namespace) == ["add"]
    assert adds.namespace in dir(ops)
    with pytest.raises(AttributeError, match="has no operator 'sub'"):
        _ = namespace.sub


def test_pickles_and_copies_by_name(adds: Packet, define: Maker) -> None:
    assert pickle.loads(pickle.dumps(adds)) is adds
    assert copy.deepcopy(adds) is adds
    text = pickle.dumps(adds)
    define.close()
    with pytest.raises(DispatchError, match="does not exist"):
        pickle.loads(text)


def test_a_remembered_choice_goes_through_the_stub(define: Maker) -> None:
    found = define_all(define, "f.int(int x, *, int y=1) -> str", "f.float(float x) -> str")
    found.int.stub = lambda x, *, y=1: f"stub {x} {y}"
    assert [found(3), found(3), found(3, y=2), found(3, y=2)] == ["int", "stub 3 1", "int", "stub 3 2"]


@pytest.mark.parametrize("start", [[1], 1.0, True])
def test_a_function_prefers_its_overload_of_tensors(start: object) -> None:
    """A tensor of one element converts to an int, which would be the overload declared first."""
    with pytest.raises(RuntimeError, match="start must be a 0-dim integer tensor"):
        opwright.narrow(opwright.ones(3), 0, opwright.tensor(start), 2)
