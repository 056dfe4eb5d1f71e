"""Random programmes in PyTorch and here: gradients, what accumulates, the order of hooks, second derivatives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from both import check  # noqa: E402
from wrappers import recorded  # noqa: E402, F401

pytestmark = pytest.mark.oracle

SHAPES = [(), (3,), (2, 3), (2, 1), (1, 3)]
Step = tuple[str, int, int]
kinds = st.sampled_from(["add", "mul", "scale", "select", "t", "detach", "add_", "mul_", "row_"])
steps = st.lists(st.tuples(kinds, st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=12)


def build(t: Any, shapes: list[int], programme: list[Step], seen: list[str]) -> tuple[list[Any], list[Any]]:
    leaves = []
    for number, shape in enumerate(shapes):
        x = t.full(SHAPES[shape], 0.5 + 0.25 * number).requires_grad_(number != 1)
        leaves.append(x)
    values = [*leaves]
    for place, (kind, i, j) in enumerate(programme):
        a, b = values[i % len(values)], values[j % len(values)]
        made = run(t, kind, a, b)
        if made is None:
            continue
        values.append(made)
        if made.requires_grad and made.grad_fn is not None:
            made.register_hook(lambda grad, place=place: seen.append(f"{place} {tuple(grad.shape)}"))
    for number, x in enumerate(leaves):
        if x.requires_grad:
            x.register_hook(lambda grad, number=number: seen.append(f"leaf {number}"))
            x.register_post_accumulate_grad_hook(lambda x, number=number: seen.append(f"post {number}"))
    return leaves, values


def run(t: Any, kind: str, a: Any, b: Any) -> Any:
    match kind:
        case "add":
            return a + b
        case "mul":
            return a * b
        case "scale":
            return a * 0.5
        case "detach":
            return a.detach()
        case "select":
            return a.select(0, 0) if a.ndim else None
        case "t":
            return a.t() if a.ndim <= 2 else None
        case "add_" | "mul_" if not a.is_leaf and a.shape == (a + b).shape:
            return a.add_(b) if kind == "add_" else a.mul_(b)
        case "row_" if a.ndim == 2 and not a.is_leaf and b.ndim == 0:
            a.select(0, 0).mul_(b)
            return a
    return None


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(0, len(SHAPES) - 1), min_size=2, max_size=4), steps, st.integers(1, 2))
def test_gradients_and_hooks(shapes: list[int], programme: list[Step], passes: int) -> None:
    def both(t: Any) -> Any:
        seen: list[str] = []
        leaves, values = build(t, shapes, programme, seen)
        for _ in range(passes):
            roots = [value.sum() for value in values[-2:] if value.requires_grad]
            if roots:
                t.autograd.backward(roots, retain_graph=passes > 1)
        return [x.grad for x in leaves], seen, [value.requires_grad for value in values], values

    check(both)


@settings(max_examples=75, deadline=None)
@given(st.lists(st.integers(0, len(SHAPES) - 1), min_size=2, max_size=4), steps)
def test_gradients_of_gradients(shapes: list[int], programme: list[Step]) -> None:
    programme = [step for step in programme if not step[0].endswith("_")]

    def both(t: Any) -> Any:
        leaves, values = build(t, shapes, programme, [])
        wanted = [x for x in leaves if x.requires_grad]
        last = values[-1].sum()
        if not last.requires_grad:
            return None
        first = t.autograd.grad(last, wanted, create_graph=True, materialize_grads=True)
        total = sum((grad * grad).sum() for grad in first)
        if not total.requires_grad:
            return first, "constant"
        return first, t.autograd.grad(total, wanted, materialize_grads=True)

    check(both)
