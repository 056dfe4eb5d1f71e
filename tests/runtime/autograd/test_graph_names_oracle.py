"""`autograd.graph` beside PyTorch's: edges, hooks on several gradients, hooks on saved tensors."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch")
from both import check

pytestmark = pytest.mark.oracle


def leaf(lib: Any, *values: float) -> Any:
    return lib.tensor(list(values or (1.0, 2.0)), requires_grad=True)


@pytest.mark.parametrize("mode", ["all", "any", "some"])
@pytest.mark.parametrize("which", [[0], [0, 1], [0, 1, 2], [2], [3], [0, 3]])
def test_hooks_on_several_gradients(mode: str, which: list[int]) -> None:
    def programme(lib: Any) -> Any:
        seen: list[Any] = []
        a, b, c = leaf(lib), leaf(lib), leaf(lib)
        d = a * b
        plain = lib.ones(2)
        tensors = [[a, b, c, d, plain][place] for place in which]
        note = (lambda grads: seen.append([*map(copied, grads)])) if mode == "all" else lambda g: seen.append(copied(g))
        handle = lib.autograd.graph.register_multi_grad_hook(tensors, note, mode=mode)
        for loss in ((d * a).sum(), (d * c).sum(), (b * c).sum()):
            loss.backward(retain_graph=True)
        (d * c).sum().backward(inputs=[a], retain_graph=True)
        lib.autograd.grad((d * c).sum(), [b])
        handle.remove()
        (d * a).sum().backward()
        return seen

    if mode == "any":
        which = [4, *which]  # it is passed over

    def copied(grad: Any) -> Any:
        return None if grad is None else grad.clone()

    check(programme)


def test_gradient_edges() -> None:
    def programme(lib: Any) -> Any:
        edge = lib.autograd.graph.get_gradient_edge
        a = leaf(lib)
        b = a * 3
        first, second = b.unbind(0)
        loss = (first * second * 2) + b.sum()
        found = lib.autograd.grad(loss, [edge(b), edge(a), edge(second), second], retain_graph=True)
        through = lib.autograd.grad(edge(b), a, lib.tensor([2.0, 5.0]), retain_graph=True)
        loss.backward(inputs=[edge(a)], retain_graph=True)
        return found, through, a.grad, edge(second).output_nr, edge(a).node.name(), edge(b).node is b.grad_fn

    check(programme)


def test_what_has_no_edge() -> None:
    check(lambda lib: lib.autograd.graph.get_gradient_edge(lib.ones(2)))
    check(lambda lib: lib.autograd.grad(lib.autograd.graph.get_gradient_edge(leaf(lib) * 2), leaf(lib)))


def test_saved_tensors_on_the_cpu() -> None:
    def programme(lib: Any) -> Any:
        a = leaf(lib)
        with lib.autograd.graph.save_on_cpu():
            y = (a.exp() * a).sum()
        y.backward()
        return a.grad

    check(programme)


def test_hooks_on_saved_tensors_can_be_refused() -> None:
    def hooks(lib: Any) -> Any:
        return lib.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x)

    def inside(lib: Any) -> Any:
        with lib.autograd.graph.disable_saved_tensors_hooks("not here"), hooks(lib):
            pass

    def around(lib: Any) -> Any:
        with hooks(lib), lib.autograd.graph.disable_saved_tensors_hooks("not here"):
            pass

    def after(lib: Any) -> Any:
        with lib.autograd.graph.disable_saved_tensors_hooks("not here"):
            pass
        with hooks(lib):
            return (leaf(lib) * 2).exp().detach()

    for programme in (inside, around, after):
        check(programme)


def test_versions_of_several_tensors_are_counted() -> None:
    def programme(lib: Any) -> Any:
        a, b = lib.ones(1), lib.ones(1)
        lib.autograd.graph.increment_version([a, b])
        lib.autograd.graph.increment_version(a)
        return a._version, b._version

    check(programme)
