"""Shapes and strides that are symbolic: the answers for ints, and guards only where these depend on the sizes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opwright.metadata.view_layouts import infer_size, view_strides
from opwright.symbolic import ShapeEnv, SymInt, sym_max
from opwright_core.arrays import layouts
from opwright_core.arrays.layouts import Shape

ShapeEnv()  # imports sympy, which would count for the first example's time


@st.composite
def layout(draw: st.DrawFn, shape: Shape | None = None) -> tuple[Shape, Shape]:
    """A shape with strides: contiguous in some order of the dimensions, with gaps, repeated, or any."""
    if shape is None:
        shape = tuple(draw(st.lists(st.sampled_from([0, 1, 1, 2, 3, 4, 5, 8]), max_size=5)))
    order = draw(st.permutations(range(len(shape))))
    strides = list(layouts.ordered_strides(tuple(max(size, 1) for size in shape), order))
    for dim in range(len(shape)):
        match draw(st.sampled_from(["kept", "kept", "kept", "gap", "repeated", "any"])):
            case "gap":
                strides[dim] *= 2
            case "repeated":
                strides[dim] = 0
            case "any":
                strides[dim] = draw(st.integers(-6, 60))
    return shape, tuple(strides)


class Symbols:
    """Numbers made symbolic, some of them; and symbolic answers made concrete."""

    def __init__(self, draw: Callable[[], bool], **options: bool) -> None:
        self.env = ShapeEnv(**options)
        self.draw = draw
        self.values: dict[str, int] = {}

    def size(self, size: int) -> Any:
        made = self.env.create_symbol(size) if self.draw() else size
        if isinstance(made, SymInt):
            self.values[str(made.origin)] = size
        return made

    def shape(self, sizes: Sequence[int]) -> Any:
        return tuple(map(self.size, sizes))

    def concrete(self, answer: Any) -> Any:
        if isinstance(answer, tuple):
            return tuple(map(self.concrete, answer))
        return self.env.evaluate(answer, self.values)


ON_SHAPES = [layouts.contiguous_strides, layouts.count, lambda shape: layouts.ordered_strides(shape, range(len(shape)))]
ON_LAYOUTS = [
    layouts.is_contiguous, layouts.is_channels_last, layouts.is_dense, layouts.may_overlap_itself, layouts.span,
    lambda shape, strides: layouts.pointwise_strides(shape, [(shape, strides)]),
]  # fmt: skip


@given(layout(), st.data())
def test_functions_of_one_layout(given_layout: tuple[Shape, Shape], data: st.DataObject) -> None:
    shape, strides = given_layout
    made = Symbols(lambda: data.draw(st.booleans()), duck_shape=data.draw(st.booleans()))
    sizes = made.shape(shape)
    for of in ON_SHAPES:
        assert made.concrete(of(sizes)) == of(shape)
    assert made.env.guards == []
    steps = made.shape(strides)
    for of in ON_LAYOUTS:
        assert made.concrete(of(sizes, steps)) == of(shape, strides), of
    assert made.env.check(made.values) == []


@given(st.lists(st.sampled_from([0, 1, 2, 3, 4, 5]), min_size=4, max_size=5), st.data())
def test_channels_last(shape: list[int], data: st.DataObject) -> None:
    made = Symbols(lambda: data.draw(st.booleans()), specialize_zero_one=data.draw(st.booleans()))
    sizes = made.shape(shape)
    strides = layouts.channels_last_strides(sizes)
    assert made.concrete(strides) == layouts.channels_last_strides(tuple(shape))
    assert layouts.is_channels_last(sizes, strides) == layouts.is_channels_last(tuple(shape), made.concrete(strides))


@given(st.lists(st.sampled_from([1, 2, 3, 4, 5]), max_size=4), st.data())
def test_pointwise_results(shape: list[int], data: st.DataObject) -> None:
    """Broadcasting, and the strides of the result; a dimension may be missing, or of size 1, in an operand."""
    made = Symbols(lambda: data.draw(st.booleans()), duck_shape=data.draw(st.booleans()))
    plain, symbolic = [], []
    for _ in range(data.draw(st.integers(1, 3))):
        sizes = [size if data.draw(st.booleans()) else 1 for size in shape][data.draw(st.integers(0, len(shape))) :]
        operand = data.draw(layout(tuple(sizes)))
        plain.append(operand)
        symbolic.append((made.shape(operand[0]), made.shape(operand[1])))
    result = layouts.broadcast_shapes([sizes for sizes, _ in plain])
    found = layouts.broadcast_shapes([sizes for sizes, _ in symbolic])
    assert made.concrete(found) == result
    assert made.concrete(layouts.pointwise_strides(found, symbolic)) == layouts.pointwise_strides(result, plain)
    assert made.env.check(made.values) == []


def test_contiguous_tensors_need_no_guards() -> None:
    env = ShapeEnv()
    shape = env.create_symbol(4), env.create_symbol(8), 3, env.create_symbol(6)
    strides = layouts.contiguous_strides(shape)
    assert layouts.is_contiguous(shape, strides) and layouts.is_dense(shape, strides)
    assert layouts.pointwise_strides(shape, [(shape, strides), ((), ())]) == strides
    last = layouts.channels_last_strides(shape)
    assert layouts.is_channels_last(shape, last) and layouts.is_dense(shape, last)
    assert not layouts.is_contiguous(shape, last)
    assert layouts.broadcast_shapes([shape, (shape[1], 1, 1), (1, 1, 3, shape[3])]) == shape
    assert [str(guard) for guard in env.guards] == []


def test_sizes_that_do_not_broadcast() -> None:
    env = ShapeEnv()
    a, b = env.create_symbol(4), env.create_symbol(8)
    with pytest.raises(RuntimeError, match=r"a \(s0\) must match the size of tensor b \(s1\) at .* dimension 1"):
        layouts.broadcast_shapes([(3, a), (3, b)])
    assert [str(guard.expression) for guard in env.guards] == ["s0 == s1"]


# Unbacked sizes


def test_new_arrays_of_unbacked_sizes() -> None:
    env = ShapeEnv()
    u, v, a = env.create_unbacked_symint(), env.create_unbacked_symint(), env.create_symbol(5)
    for shape in itertools.permutations([u, v, a, 3]):
        strides = layouts.contiguous_strides(shape)
        assert strides[2] is layouts.at_least_one(shape[3])
        assert layouts.is_contiguous(shape, strides) and layouts.is_dense(shape, strides)
        assert not layouts.may_overlap_itself(shape, strides)
        assert layouts.pointwise_strides(shape, [(shape, strides), (shape, strides)]) == strides
        last = layouts.channels_last_strides(shape)
        assert layouts.is_channels_last(shape, last) and layouts.is_dense(shape, last)
        exact = tuple(math.prod(shape[dim + 1 :]) for dim in range(4))
        assert layouts.is_contiguous(shape, exact)
        for sizes in itertools.product([0, 1, 4], repeat=2):
            at = {"u0": sizes[0], "u1": sizes[1], "s0": 5}
            concrete = tuple(env.evaluate(size, at) for size in shape)
            assert tuple(env.evaluate(step, at) for step in strides) == layouts.contiguous_strides(concrete)
    assert env.guards == env.deferred == []


def test_broadcasting_unbacked_sizes() -> None:
    env = ShapeEnv()
    u, v, w = (env.create_unbacked_symint() for _ in range(3))
    assert layouts.broadcast_shapes([(u, 3), (u, 1), (1, 3), ()]) == (u, 3)
    assert layouts.broadcast_shapes([(1,), (u,)]) == (u,)
    assert env.deferred == []
    assert layouts.broadcast_shapes([(u, 2), (v, 2)]) == (u, 2)
    assert layouts.broadcast_shapes([(w,), (7,)]) == (7,)
    assert [str(each.expression) for each in env.deferred] == ["u0 == u1", "u2 == 7"]
    assert u == v and w == 7 and env.guards == []
    with pytest.raises(RuntimeError, match="must match"):
        layouts.broadcast_shapes([(w,), (8,)])


def test_shapes_taken_to_be_equal() -> None:
    env = ShapeEnv()
    u = env.create_unbacked_symint(max=9)
    assert layouts.same_shape((2, 3), (2, 3)) and not layouts.same_shape((2, 3), (2, 4))
    assert not layouts.same_shape((u, 3), (u, 4)) and not layouts.same_shape((u,), (10,)) and env.deferred == []
    assert layouts.same_shape((u, 3), (5, 3)) and u == 5 and len(env.deferred) == 1


def test_undecided_comparisons_are_false_in_layouts() -> None:
    env = ShapeEnv()
    u = env.create_unbacked_symint()
    assert not layouts.is_contiguous((u, 3), (4, 1)) and not layouts.is_contiguous((3, u), (5, 1))
    assert not layouts.may_overlap_itself((u, 3), (0, 1))
    assert not layouts.is_empty((u, 3)) and layouts.is_empty((u, 0))
    assert layouts.span((u, 3), (3, 1))[1] == 3 * u - 1
    assert layouts.at_least_one(u) is sym_max(1, u) and layouts.at_least_one(0) == 1 and layouts.at_least_one(4) == 4
    assert env.guards == env.deferred == []


# Views


@given(layout(), st.data())
def test_views(given_layout: tuple[Shape, Shape], data: st.DataObject) -> None:
    shape, strides = given_layout
    elements = layouts.count(shape)
    factors = [size for size in range(1, 9) if elements % size == 0]
    first = data.draw(st.sampled_from(factors))
    new = data.draw(st.sampled_from([(elements,), (first, elements // first), (elements // first, 1, first), shape]))
    made = Symbols(lambda: data.draw(st.booleans()), duck_shape=data.draw(st.booleans()))
    sizes, steps, wanted = made.shape(shape), made.shape(strides), made.shape(new)
    assert made.concrete(infer_size(wanted, layouts.count(sizes))) == new
    if elements and new:
        inferred = infer_size((*wanted[:-1], -1), layouts.count(sizes))
        assert made.concrete(inferred) == new
    in_bytes = tuple(step * 4 for step in steps)
    found = view_strides(sizes, in_bytes, wanted, 4)
    assert made.concrete(found) == view_strides(shape, tuple(step * 4 for step in strides), new, 4)
    assert made.env.check(made.values) == []


def test_views_of_unbacked_sizes() -> None:
    env = ShapeEnv()
    u, v = env.create_unbacked_symint(), env.create_unbacked_symint()
    shape = (u, v, 4)
    strides = layouts.contiguous_strides(shape)
    assert infer_size((-1, 4), layouts.count(shape)) == (u * v, 4)
    assert infer_size((u, -1), layouts.count(shape)) == (u, 4 * v)
    assert view_strides(shape, strides, (u * v, 4), 1) == (4, 1)
    assert view_strides(shape, strides, (4 * u * v,), 1) == (1,)
    assert view_strides((u, v), (1, u), (u * v,), 1) is None
    assert env.deferred == env.guards == []
    assert infer_size((2, 3), u * v) == (2, 3)
    assert [str(each.expression) for each in env.deferred] == ["u0*u1 == 6"]
    with pytest.raises(RuntimeError, match=r"invalid for input of size u0\*u1"):
        infer_size((2, 4), u * v)
