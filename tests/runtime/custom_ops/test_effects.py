"""Side effects that operators are given: their calls stay in graphs."""

from __future__ import annotations

import pytest

import opwright
from opwright import Tensor
from opwright.fx.experimental.proxy_tensor import make_fx
from opwright.library import EffectType, Library, custom_op, register_effect
from opwright.registering.effects import effect_of


def calls_left(op: opwright.dispatch.Operator) -> int:
    """How many calls whose results nobody reads a graph keeps."""

    def function(x: Tensor) -> Tensor:
        op(x)
        return x + 1

    graph = make_fx(function, tracing_mode="fake")(opwright.ones(2)).graph
    graph.eliminate_dead_code()
    return sum(node.target is op for node in graph.nodes)


def defined(library: Library, name: str) -> opwright.dispatch.Operator:
    library.define(f"{name}(Tensor x) -> Tensor")
    library.impl(name, opwright.Tensor.clone, "CompositeExplicitAutograd")
    return getattr(getattr(opwright.ops, library.ns), name).default


def test_calls_stay_as_long_as_the_library() -> None:
    op = defined(kept := Library("tests_effects", "DEF"), "sent")
    assert calls_left(op) == 0
    library = Library("tests_effects", "FRAGMENT")
    register_effect(op, EffectType.ORDERED, lib=library)
    assert (calls_left(op), effect_of(op)) == (1, EffectType.ORDERED)
    register_effect("tests_effects::sent", None, lib=library)
    assert (calls_left(op), effect_of("tests_effects::sent")) == (0, None)
    register_effect("tests_effects::sent.default", EffectType.ORDERED, lib=library)
    assert calls_left(op) == 1
    library.destroy()
    assert calls_left(op) == 0
    kept.destroy()


def test_custom_operators() -> None:
    @custom_op("tests_effects::logged", mutates_args=())
    def logged(x: Tensor) -> Tensor:
        return x.clone()

    logged.register_fake(opwright.empty_like)
    op = opwright.ops.tests_effects.logged.default
    assert calls_left(op) == 0
    logged.register_effect(EffectType.ORDERED)
    assert calls_left(op) == 1
    register_effect(logged, None)
    assert calls_left(op) == 0


def test_the_effects_that_aten_has() -> None:
    assert effect_of("aten::_linalg_check_errors") is EffectType.ORDERED
    assert effect_of(opwright.ops.aten.add.Tensor) is None


def test_what_is_no_operator() -> None:
    with pytest.raises(ValueError, match="expected an operator's name, got int"):
        register_effect(3, EffectType.ORDERED)
    with pytest.raises(opwright.RegistrationError, match="is not in the namespace"):
        Library("tests_effects", "FRAGMENT")._register_effectful_op("aten::add", EffectType.ORDERED)


def test_pytorchs_names() -> None:
    op = defined(library := Library("tests_effects_named", "DEF"), "counted")
    opwright.library._register_effectful_op(op, EffectType.ORDERED, lib=library)
    assert calls_left(op) == 1
    library._register_effectful_op("counted", None)
    assert calls_left(op) == 0
