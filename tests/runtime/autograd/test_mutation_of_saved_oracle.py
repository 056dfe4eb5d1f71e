"""`allow_mutation_on_saved_tensors` and packed results beside PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")
from both import check

pytestmark = pytest.mark.oracle


def allowed(lib: Any) -> Any:
    return lib.autograd.graph.allow_mutation_on_saved_tensors()


def leaf(lib: Any, *shape: int) -> Any:
    size = 1
    for length in shape:
        size *= length
    return (lib.arange(size, dtype=lib.float64).reshape(shape) / 7 + 0.3).requires_grad_()


def one_write(lib: Any, a: Any) -> Any:
    b = a.clone()
    out = (b**2).sum()
    b.sin_()
    return b, out


def a_result(lib: Any, a: Any) -> Any:
    b = a.exp()
    out = (b * 2).sum() + b.tanh().sum()
    b.mul_(5)
    return b, out


def not_recorded(lib: Any, a: Any) -> Any:
    b = a.clone()
    out = (b * b).sum()
    with lib.no_grad():
        b.zero_()
    return b, out


def of_data(lib: Any, a: Any) -> Any:
    b = a.clone()
    out = (b**3).sum()
    b.data.mul_(9)
    return b, out


def saved_base(lib: Any, a: Any) -> Any:
    b = a.clone()
    out = (b * b).sum()
    view = b[0]
    view.mul_(4)
    return b, view, out


def saved_view(lib: Any, a: Any) -> Any:
    b = a.clone()
    view = b[:1]
    out = (view**3).sum()
    b.mul_(3)
    return b, view, out


def assigned(lib: Any, a: Any) -> Any:
    b = a.clone()
    out = (b**2).sum()
    b[0] = 7.0
    b[0, 1:] += 1
    return b, out


def two_versions(lib: Any, a: Any) -> Any:
    b = a.clone()
    out = (b**2).sum()
    b.sin_()
    out = out + (b**3).sum()
    b.sin_()
    out = out + b.exp().sum()
    b.fill_(2.0)
    return b, out


def out_argument(lib: Any, a: Any) -> Any:
    b = lib.ones(2, 3, dtype=lib.float64)
    out = (a * b).sum()
    lib.add(b, 4, out=b)
    return b, out


def laid_out_anew(lib: Any, a: Any) -> Any:
    b = a.clone()
    out = (b**2 * lib.ones(2, 3)).sum()
    b.t_()
    b.mul_(2)
    return b, out


PROGRAMMES = [one_write, a_result, not_recorded, of_data, saved_base, saved_view, assigned, two_versions]
PROGRAMMES += [out_argument, laid_out_anew]


@pytest.mark.parametrize("programme", PROGRAMMES, ids=lambda each: each.__name__)
def test_gradients_are_those_of_what_was_saved(programme: Callable[[Any, Any], Any]) -> None:
    def run(lib: Any) -> Any:
        with allowed(lib) as kept:
            a = leaf(lib, 2, 3)
            *tensors, out = programme(lib, a)
            (first,) = lib.autograd.grad(out, a, create_graph=True)
            second = lib.autograd.grad(first.sum(), a, retain_graph=True) if first.requires_grad else None
            out.backward()
            return tensors, out, first, second, a.grad, len(list(kept.cloned))

    check(run)


def test_a_write_beside_the_first_element_counts() -> None:
    """PyTorch looks for the address of the first element, and gives a wrong gradient here."""
    import opwright

    with allowed(opwright):
        a = leaf(opwright, 3)
        b = a.clone()
        out = (b**2).sum()
        b[1:].zero_()
        out.backward()
    assert a.grad.tolist() == (a.detach() * 2).tolist()


def test_a_write_to_a_list_of_tensors_counts() -> None:
    def run(lib: Any) -> Any:
        with lib.library._scoped_library("kept", "FRAGMENT") as library:
            library.define("add_to_all_(Tensor(a!)[] tensors, float other) -> ()")
            library.impl("add_to_all_", add_to_all, "CompositeExplicitAutograd")
            with allowed(lib):
                a = leaf(lib, 3)
                b, c = a.clone(), a.clone()
                out = (b**2).sum() + (c**3).sum()
                with lib.no_grad():
                    lib.ops.kept.add_to_all_([b, c], 2.0)
                out.backward()
        return b, c, a.grad

    def add_to_all(tensors: Any, other: float) -> None:
        for tensor in tensors:
            tensor += other

    check(run)


def test_copies_are_made_once_and_only_of_what_is_needed() -> None:
    def run(lib: Any) -> Any:
        counts = []

        def count() -> None:
            counts.append((len(list(kept.original)), len(list(kept.cloned))))

        with allowed(lib) as kept:
            a = leaf(lib, 3).clone()
            outs = [(a**2).sum() for _ in range(3)]
            count()
            a.sin_()
            count()
            a.sin_()
            count()
            for out in outs:
                out.backward()
            del out
            outs.clear()
            count()
            a.sin_()
            count()
        count()
        return counts

    check(run)


def backward_later(lib: Any) -> Any:
    with allowed(lib):
        out = (leaf(lib, 3).clone() ** 2).sum()
    out.backward()


def backward_in_another(lib: Any) -> Any:
    with allowed(lib):
        out = (leaf(lib, 3).clone() ** 2).sum()
    with allowed(lib):
        out.backward()


def nested(lib: Any) -> Any:
    with allowed(lib), allowed(lib):
        pass


def cleared(lib: Any) -> Any:
    with allowed(lib) as kept:
        out = (leaf(lib, 3).clone() ** 2).sum()
        kept.clear()
        out.backward()


def saved_before(lib: Any) -> Any:
    b = leaf(lib, 3).clone()
    out = (b**2).sum()
    with allowed(lib):
        b.sin_()
        out.backward()


def written_after(lib: Any) -> Any:
    with allowed(lib):
        pass
    return not_recorded(lib, leaf(lib, 3))[1].backward()


REFUSED = [backward_later, backward_in_another, nested, cleared, saved_before, written_after]


@pytest.mark.parametrize("programme", REFUSED, ids=lambda each: each.__name__)
def test_what_is_refused(programme: Callable[[Any], Any]) -> None:
    assert check(programme)[0] == "raises"


@pytest.mark.parametrize("name", ["exp", "tanh", "sqrt", "sigmoid", "cumprod", "svd", "unbind"])
def test_a_packed_result_keeps_its_place_in_the_graph(name: str) -> None:
    """Second derivatives go through what hooks made of a node's own result."""

    def run(lib: Any) -> Any:
        a = leaf(lib, 2, 2)
        with lib.autograd.graph.saved_tensors_hooks(lambda x: x.clone(), lambda x: x):
            if name == "cumprod":
                out = a.cumprod(0)
            elif name == "svd":
                out = lib.linalg.svd(a)[1] ** 3
            elif name == "unbind":
                out = a.unbind(0)[1].exp_()
            else:
                out = getattr(a, name)()
            (first,) = lib.autograd.grad(out.sum(), a, create_graph=True)
        return first, lib.autograd.grad((first**2).sum(), a)

    check(run)


def test_copies_that_hooks_made_outlast_a_write() -> None:
    def run(lib: Any) -> Any:
        a = leaf(lib, 3)
        b = a.clone()
        with lib.autograd.graph.saved_tensors_hooks(lambda x: x.clone(), lambda x: x):
            y = (b**2).exp()
        b.zero_()
        z = y.sum()
        y.mul_(3)
        z.backward()
        return a.grad

    check(run)
