"""What generated wrappers record: names of nodes, what they keep, what they refuse, when they are loaded."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from declared import of_kind, operators
from differentiating import derivatives

import opwright
from opwright.autograd.nodes import Node
from opwright.registering import kernels as registering
from opwright_codegen.schema.model import SchemaKind


def leaf(*shape: int) -> opwright.Tensor:
    return opwright.from_numpy(np.linspace(1.0, 2.0, int(np.prod(shape))).reshape(shape)).requires_grad_()


def recorded(result: opwright.Tensor) -> Any:
    node = result.grad_fn
    assert isinstance(node, Node)
    return node


def test_only_what_the_gradients_asked_for_need_is_saved() -> None:
    x, y = leaf(3), opwright.ones([3], dtype=opwright.float64)
    node = recorded(x * y)
    assert node.other is not None and node.self is None
    node = recorded(y * x)
    assert node.other is None and node.self is not None
    assert recorded(x + y).saved == ()


def test_facts_stand_for_tensors() -> None:
    x = leaf(2, 3)
    node = recorded(x.sum())
    assert node.self_shape == (2, 3) and not hasattr(node, "self")


def test_in_place_variants_are_nodes_of_the_same_class() -> None:
    x = leaf(3)
    y = x.clone()
    assert type(recorded(y.mul_(2 * x))) is type(recorded(x * x))


def test_the_old_value_is_kept_where_a_formula_needs_it() -> None:
    x = leaf(3)
    y = x.clone().pow_(3)
    (gradient,) = opwright.autograd.grad(y.sum(), x)
    assert np.allclose(gradient.array, 3 * x.detach().array ** 2)


def test_a_product_with_itself_in_place_cannot_be_differentiated() -> None:
    y = leaf(3).clone()
    y.mul_(y)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation: .*is at version 1; expected version 0"):
        y.sum().backward()


def test_a_gradient_that_nobody_has_written_says_why() -> None:
    result = opwright.special_zeta(leaf(3) + 1, 2.0)
    with pytest.raises(NotImplementedError, match=r"derivative of aten::special_zeta.* with respect to 'self'"):
        result.sum().backward()


def test_an_argument_without_a_formula_must_not_require_grad() -> None:
    x, target = leaf(3), opwright.zeros([3], dtype=opwright.float64)
    with pytest.raises(NotImplementedError, match="the derivative for 'weight' is not implemented"):
        opwright.binary_cross_entropy(x * 0.1, target, leaf(3))


def test_results_that_are_no_numbers_with_gradients_have_no_history() -> None:
    x = leaf(3)
    assert not (x > 1).requires_grad
    assert not x.to(opwright.int64).requires_grad
    values, indices = opwright.sort(x)
    assert values.requires_grad and not indices.requires_grad


def test_a_freed_graph_says_so_where_nothing_but_optional_tensors_was_saved() -> None:
    x, weight = leaf(2, 3), leaf(3)
    y = opwright.layer_norm(x, [3], weight)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.sum().backward()


def test_gradients_that_nobody_asks_for_are_not_computed() -> None:
    x, y = leaf(3), leaf(3)
    result = opwright.special_zeta(x + 1, y)  # whose first gradient is not implemented
    (gradient,) = opwright.autograd.grad(result.sum(), y)
    assert gradient.shape == (3,)


def test_variants_with_out_refuse() -> None:
    x = leaf(3)
    plain = opwright.zeros([3], dtype=opwright.float64)
    for call in (
        lambda: opwright.add(x, x, out=plain),
        lambda: opwright.add(plain, plain, out=x),
        lambda: opwright.cat([x, x], out=opwright.zeros([6], dtype=opwright.float64)),
        lambda: opwright.vstack([x, x], out=opwright.zeros([2, 3], dtype=opwright.float64)),
    ):
        with pytest.raises(RuntimeError, match=r"\(\): functions with out=... arguments don't support automatic"):
            call()
    assert not plain.array.any()
    with opwright.no_grad():
        opwright.add(x, x, out=plain)
    assert plain.array.all()


def test_a_write_is_refused_before_anything_is_written() -> None:
    x = leaf(3)
    before = x.detach().array.copy()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.add_(1)
    assert (x.detach().array == before).all()


def test_what_has_a_gradient_keeps_its_size() -> None:
    x = leaf(3)
    with pytest.raises(RuntimeError, match="cannot resize a tensor that requires grad"):
        (x * 2).resize_([4])
    assert opwright.zeros([3]).resize_([4]).shape == (4,)


def test_a_kernel_over_operators_is_recorded_as_a_whole() -> None:
    def doubled(self: opwright.Tensor) -> opwright.Tensor:
        return self + self

    handle = registering.register("aten::sin", "CPU", doubled)
    try:
        x = leaf(3)
        y = opwright.sin(x)
        assert y.grad_fn.name() == "SinBackward0"
        (gradient,) = opwright.autograd.grad(y.sum(), x)
        np.testing.assert_allclose(gradient.array, np.cos(x.detach().array))
    finally:
        handle.remove()


def test_saved_tensors_can_be_looked_at() -> None:
    x = leaf(3)
    node = recorded(x.pow(2))
    assert node._saved_self is x and node._saved_exponent == 2
    assert recorded(x.exp())._saved_result.requires_grad
    node.release()
    with pytest.raises(RuntimeError, match="a second time"):
        _ = node._saved_self
    with pytest.raises(AttributeError):
        _ = node._saved_other


def test_comparisons_in_place_have_the_gradient_zero() -> None:
    x = leaf(3)
    (gradient,) = opwright.autograd.grad((x * 2).lt_(3).sum(), x)
    assert gradient.array.tolist() == [0.0, 0.0, 0.0]


def test_every_variant_that_writes_is_recorded() -> None:
    """Else a write to a tensor would leave it the gradient of its old value."""
    by_hand = {"detach_", "resize_", "resize_as_", "polygamma_"}
    missing = [
        name
        for name in of_kind(SchemaKind.INPLACE)
        if name not in by_hand
        and not any("CompositeImplicit" in key for key, _ in operators()[name].dispatch)
        and not opwright.dispatch.registrations(f"aten::{name}").keys() & {"Autograd"}
    ]
    assert missing == []


def test_every_entry_is_registered() -> None:
    for name, by_key in derivatives().entries.items():
        if any(entry.derivatives for entry in by_key.values()):
            assert "Autograd" in opwright.dispatch.registrations(name), name


PROGRAM = """
import sys
import opwright
x, y = opwright.ones([3]), opwright.ones([3])
opwright.add(x, y)
with opwright.no_grad():
    opwright.add(x.requires_grad_(), y)
assert "opwright_aten.autograd" not in sys.modules
opwright.add(x, y)
assert "opwright_aten.autograd" in sys.modules
"""


def test_wrappers_are_loaded_by_the_first_call_that_records() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)
