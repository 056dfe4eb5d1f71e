"""Recorded writes to views: where the compiled core notes the place of a view, it is where the Python sees it."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
import seeds

import opwright
from opwright.autograd.recording import rebase_history
from opwright.autograd.views import _ViewSpec, _whole
from opwright_core.core import fast

compiled = pytest.mark.skipif(fast is None, reason=opwright.dispatch.core().reason)
VIEWS: tuple[Callable[[opwright.Tensor, random.Random], opwright.Tensor], ...] = (
    lambda x, draw: x[draw.randrange(x.shape[0])],
    lambda x, draw: x[:: draw.choice((1, 2))],
    lambda x, draw: x.transpose(0, x.ndim - 1),
    lambda x, draw: x.unsqueeze(draw.choice((0, -1))),
    lambda x, draw: x.expand(draw.choice((1, 2)), *x.shape),
    lambda x, draw: x[..., 1:],
    lambda x, draw: x.unfold(0, min(2, x.shape[0]), draw.choice((1, 2))),
    lambda x, draw: x.flatten(),
)


def viewed(draw: random.Random) -> tuple[opwright.Tensor, opwright.Tensor]:
    """Return a recorded tensor and a view of a view of it, with elements."""
    shape = [draw.choice((1, 2, 3, 4, 5)) for _ in range(draw.choice((1, 1, 2, 2, 3)))]
    base = opwright.ones(*shape, requires_grad=True) * 1
    view = base
    for _ in range(draw.choice((1, 1, 2, 3))):
        found = draw.choice(VIEWS)(view, draw) if view.ndim else view
        view = found if found.numel() else view
    return base, view


@compiled
def test_windows_of_the_core_are_those_of_the_python() -> None:
    draw, seen = seeds.generator(3), 0
    for _ in range(1500):
        base, view = viewed(draw)
        if view.extra is None or view.extra.base is not base:
            continue
        expected = _ViewSpec.of(view, base)
        try:
            view.mul_(2.0)
        except RuntimeError:  # elements that several places share
            continue
        found = base.edge.spec
        assert (type(found) is _ViewSpec) != expected.is_of_rows
        assert _whole(found) == expected
        if type(found) is not _ViewSpec:
            seen += 1
            grad = np.arange(base.numel(), dtype=np.float64).reshape(base.shape)
            part, own = found.part(grad), expected.part(grad)
            assert part.strides == own.strides and np.array_equal(part, own) and np.shares_memory(part, grad)
    assert seen > 500


@compiled
def test_a_part_is_of_an_array_laid_out_as_the_base() -> None:
    base = opwright.ones(3, 4, requires_grad=True) * 1
    base[1].mul_(2.0)
    spec = base.edge.spec
    for other in (np.ones((4, 3)), np.ones((3, 4)).T, np.ones(12), np.ones((3, 8))[:, ::2], [1.0]):
        with pytest.raises(ValueError, match="not laid out"):
            spec.part(other)


def test_gradients_of_writes_are_those_of_the_definition() -> None:
    draw = seeds.generator(5)
    for _ in range(200):
        seed, found = draw.random(), []
        for write in (lambda view: view.mul_(3.0), _multiplied):
            base, view = viewed(seeds.generator(seed))
            leaf = base.edge.edges[0].variable
            try:
                write(view)
            except RuntimeError:
                break
            (view.sin().sum() + (base * base).sum()).backward()
            found.append(leaf.grad.array)
        assert len(found) < 2 or np.array_equal(*found)


def _multiplied(view: opwright.Tensor) -> opwright.Tensor:
    """Do what `mul_` does, with the history that the Python gives."""
    node = (view.detach().requires_grad_() * 3.0).edge
    node.edges = (view.edge,)
    with opwright.no_grad():
        view.mul_(3.0)
    return rebase_history(view, node)


def test_what_keeps_its_gradient_keeps_it() -> None:
    base = opwright.ones(3, 4, requires_grad=True) * 1
    base.retain_grad()
    view = base[1]
    view.retain_grad()
    view.mul_(2.0)
    (base * 3).sum().backward()
    assert base.grad is not None and base.grad.tolist() == [[3.0] * 4] * 3
    assert view.grad is None
