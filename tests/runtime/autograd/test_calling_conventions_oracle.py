"""What Functions, hooks and nodes may be given and return: the same programs in PyTorch and here."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")
from both import check, message

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
X = [1.0, 2.0]


def leaf(lib: Any, dtype: str = "float32") -> Any:
    return lib.tensor(X, dtype=getattr(lib, dtype), requires_grad=True)


# Arguments of a Function


def scaled(lib: Any, seen: list[Any], backward: Callable[..., Any]) -> Any:
    class Scaled(lib.autograd.Function):
        @staticmethod
        def forward(x, by=2.0, other=None):
            return x * by if other is None else x * by * other

        @staticmethod
        def setup_context(ctx, inputs, output):
            seen.append([type(each).__name__ for each in inputs])

        @staticmethod
        def backward(ctx, grad):
            seen.append(ctx.needs_input_grad)
            return backward(grad)

    return Scaled.apply


CALLS: list[Callable[..., Any]] = [
    lambda f, x: f(x),
    lambda f, x: f(x, 3.0),
    lambda f, x: f(x, by=3.0),
    lambda f, x: f(x=x, by=3.0),
    lambda f, x: f(x, other=x),
    lambda f, x: f(other=x, x=x),
    lambda f, x: f(x.detach(), other=x),
    lambda f, x: f(),
    lambda f, x: f(x, 1.0, None, 4),
    lambda f, x: f(x, times=2),
]
GRADIENTS: list[Callable[[Any], Any]] = [
    lambda g: g, lambda g: (g, None), lambda g: (g, None, g), lambda g: (g, None, None), lambda g: (g, g, None),
    lambda g: (g, None, None, None), lambda g: [g, None, None], lambda g: None,
]  # fmt: skip


@pytest.mark.parametrize("call, gradients", list(itertools.product(range(len(CALLS)), range(len(GRADIENTS)))))
def test_setup_context_sees_the_arguments_as_forward_gets_them(call: int, gradients: int) -> None:
    def programme(lib: Any) -> Any:
        seen: list[Any] = []
        x = leaf(lib)
        y = CALLS[call](scaled(lib, seen, GRADIENTS[gradients]), x)
        y.sum().backward()
        return y, x.grad, seen

    check(programme)


def test_forward_with_a_context_takes_arguments_by_name() -> None:
    def programme(lib: Any) -> Any:
        class F(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x, by=2.0):
                return x * by

            @staticmethod
            def backward(ctx, grad):
                return grad, None

        x = leaf(lib)
        F.apply(x, 2.0).sum().backward()
        return F.apply(x), F.apply(x, by=3.0), x.grad

    check(programme)


@pytest.mark.parametrize("names", [("backward",), ("vjp",), ("backward", "vjp"), ()])
def test_vjp_is_backward(names: tuple[str, ...]) -> None:
    def programme(lib: Any) -> Any:
        body = {name: staticmethod(lambda ctx, grad: grad * 7) for name in names}
        body["forward"] = staticmethod(lambda ctx, x: x * 2)
        function = type("F", (lib.autograd.Function,), body)
        x = leaf(lib)
        y = function.apply(x)
        y.sum().backward()
        return y, x.grad

    check(programme)


@pytest.mark.parametrize("grad", [True, False])
def test_what_is_saved_is_looked_at_when_the_call_is_recorded(grad: bool) -> None:
    def programme(lib: Any) -> Any:
        class F(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x, 5)
                return x * 2

        return F.apply(leaf(lib) if grad else lib.tensor(X)).detach()

    check(programme)


# Forward mode of Functions that write

JVPS: dict[str, Callable[..., Any]] = {
    "nothing": lambda t, s: None,
    "untouched": lambda t, s: t,
    "a new tangent": lambda t, s: None if t is None else t * 2,
    "written": lambda t, s: t.mul_(2),
    "another's": lambda t, s: s,
    "a view": lambda t, s: None if t is None else t.view(2),
}


@pytest.mark.parametrize("which, jvp", list(itertools.product((1, 2, 3), JVPS)))
def test_a_function_that_writes_must_write_to_the_tangent(which: int, jvp: str) -> None:
    def programme(lib: Any) -> Any:
        forward_ad = importlib.import_module(f"{lib.__name__}.autograd.forward_ad")

        class F(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x, y):
                x.mul_(2)
                ctx.mark_dirty(x)
                return x

            @staticmethod
            def jvp(ctx, t, s):
                return JVPS[jvp](t, s)

        with forward_ad.dual_level():
            values = [lib.tensor(X), lib.tensor(X)]
            for place, bit in enumerate((1, 2)):
                if which & bit:
                    values[place] = forward_ad.make_dual(values[place], lib.ones(2) * (place + 3)).clone()
            result = F.apply(*values)
            return result is values[0], forward_ad.unpack_dual(result).tangent

    check(programme)


# Dtypes of gradients


@pytest.mark.parametrize("dtype", ["float32", "complex64", "float16", "float64"])
@pytest.mark.parametrize("given", ["int64", "bool", "uint8", "float16", "float64", "complex64", "complex128"])
def test_gradients_of_other_dtypes(dtype: str, given: str) -> None:
    def gradient(lib: Any) -> Any:
        return lib.ones(2, dtype=getattr(lib, given)) * lib.tensor(1, dtype=getattr(lib, given))

    def from_the_caller(lib: Any) -> Any:
        x = leaf(lib, dtype)
        (x * 2).backward(gradient(lib))
        return x.grad

    def as_grad_outputs(lib: Any) -> Any:
        x = leaf(lib, dtype)
        return lib.autograd.grad(x * 2, x, gradient(lib))

    def from_a_function(lib: Any) -> Any:
        class F(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                return gradient(lib)

        x = leaf(lib, dtype)
        F.apply(x).abs().sum().backward()
        return x.grad

    def from_a_custom_operator(lib: Any) -> Any:
        with lib.library._scoped_library("e6dtypes", "FRAGMENT") as library:
            library.define("f(Tensor x) -> Tensor")
            library.impl("f", lambda x: x * 2, "CPU")
            lib.library.register_autograd("e6dtypes::f", lambda ctx, grad: gradient(lib), lib=library)
            x = leaf(lib, dtype)
            lib.ops.e6dtypes.f(x).abs().sum().backward()
            return x.grad

    for programme in (from_the_caller, as_grad_outputs, from_a_function, from_a_custom_operator):
        check(programme)


def test_a_gradient_that_is_needed_is_not_left_out() -> None:
    def programme(lib: Any) -> Any:
        with lib.library._scoped_library("e6passed", "FRAGMENT") as library:
            library.define("f(Tensor x, int n=3, Tensor? y=None) -> Tensor")
            library.impl("f", lambda x, n=3, y=None: x * n if y is None else x * n * y, "CPU")
            lib.library.register_autograd("e6passed::f", lambda ctx, grad: grad * 3, lib=library)
            x, y = leaf(lib), leaf(lib)
            f = lib.ops.e6passed.f
            f(x).sum().backward()
            f(x, y=y).sum().backward()

    assert "incorrect number of gradients (expected 3, got 1)" in message(programme)


# `inputs=` and hooks


def graph(lib: Any, seen: list[Any], hooks: str) -> tuple[Any, Any, Any]:
    """A leaf, a tensor made of it, and a loss; with a hook of each kind that `hooks` names."""
    x = leaf(lib)
    y = x * 2
    ends = (x * 1).grad_fn.next_functions[0][0]

    def note(name: str, factor: int) -> Callable[..., Any]:
        def hook(*grads: Any) -> Any:
            found = grads[-1] if isinstance(grads[-1], lib.Tensor) else grads[-1][0]
            seen.append((name, found.clone()))  # a leaf may keep this one, and add to it
            return None if not factor else found * factor if isinstance(grads[-1], lib.Tensor) else (found * factor,)

        return hook

    kinds = {
        "t": lambda: y.register_hook(note("y", 3)),
        "r": lambda: y.retain_grad(),
        "u": lambda: y.register_hook(note("y again", 5)),
        "p": lambda: y.grad_fn.register_prehook(note("before y", 7)),
        "q": lambda: y.grad_fn.register_hook(note("after y", 0)),
        "l": lambda: x.register_hook(note("x", 11)),
        "a": lambda: x.register_post_accumulate_grad_hook(lambda leaf: seen.append(("stored", leaf.grad.clone()))),
        "b": lambda: ends.register_prehook(note("before x", 13)),
        "c": lambda: ends.register_hook(note("after x", 0)),
    }
    for kind in hooks:
        kinds[kind]()
    return x, y, (y * y).sum()


HOOKS = ["", "t", "rt", "tr", "turpq", "tuq", "labc", "bc", "trpqlabc", "pq", "ra"]
INPUTS: list[Callable[..., Any]] = [
    lambda x, y, z: [y], lambda x, y, z: [x], lambda x, y, z: [x, y], lambda x, y, z: (y, x), lambda x, y, z: y,
    lambda x, y, z: [y, y], lambda x, y, z: [x, x], lambda x, y, z: [z], lambda x, y, z: [z, y], lambda x, y, z: [],
]  # fmt: skip


@pytest.mark.parametrize("hooks, inputs", list(itertools.product(HOOKS, range(len(INPUTS)))))
def test_hooks_where_inputs_are_named(hooks: str, inputs: int) -> None:
    def backward(lib: Any) -> Any:
        seen: list[Any] = []
        x, y, z = graph(lib, seen, hooks)
        wanted = INPUTS[inputs](x, y, z)
        z.backward(inputs=wanted, retain_graph=True)
        z.backward(inputs=wanted, retain_graph=True)
        z.backward()
        return x.grad, y.grad if y.retains_grad else None, z.grad if z.retains_grad else None, seen

    def grad(lib: Any) -> Any:
        seen: list[Any] = []
        x, y, z = graph(lib, seen, hooks)
        found = lib.autograd.grad(z, INPUTS[inputs](x, y, z))
        return found, x.grad, y.grad if y.retains_grad else None, seen

    check(backward)
    check(grad)


@pytest.mark.parametrize("create", [False, True])
def test_gradients_of_inputs_can_be_recorded(create: bool) -> None:
    def programme(lib: Any) -> Any:
        x, y, z = graph(lib, [], "")
        z.backward(inputs=[y, x], create_graph=create)
        return x.grad, y.grad, x.grad.requires_grad, y.grad.requires_grad

    check(programme)


def test_inputs_that_the_result_does_not_depend_on_keep_their_grad() -> None:
    def programme(lib: Any) -> Any:
        x, other = leaf(lib), leaf(lib)
        made = other * 2
        (x * 2).sum().backward(inputs=[other, made])
        x.backward(lib.ones(2), inputs=[other])
        return x.grad, other.grad, made.grad

    check(programme)


def test_one_of_several_results_is_an_input() -> None:
    def programme(lib: Any) -> Any:
        seen: list[Any] = []
        a, b = (leaf(lib) * 2).unbind(0)
        a.register_hook(lambda grad: seen.append(grad) or grad * 10)
        b.register_hook(lambda grad: seen.append(grad) or grad * 100)
        (a * b * 3).backward(inputs=[a])
        return a.grad, b.grad, seen

    check(programme)


@pytest.mark.parametrize("returned", [lambda t: t.grad, lambda t: t, lambda t: 5, lambda t: None])
@pytest.mark.parametrize("inputs", [False, True])
def test_hooks_after_accumulation_return_nothing(returned: Callable[[Any], Any], inputs: bool) -> None:
    def programme(lib: Any) -> Any:
        x = leaf(lib)
        x.register_post_accumulate_grad_hook(returned)
        (x * 2).sum().backward(**{"inputs": [x]} if inputs else {})
        return x.grad

    check(programme)


@pytest.mark.parametrize(
    "returned", [lambda i, o: i[0], lambda i, o: [i[0]], lambda i, o: (i[0] * 2,), lambda i, o: 3, lambda i, o: ()]
)
def test_hooks_of_nodes_return_tuples(returned: Callable[..., Any]) -> None:
    def programme(lib: Any) -> Any:
        x = leaf(lib)
        y = x.exp()
        y.grad_fn.register_hook(returned)
        y.sum().backward()
        return x.grad

    check(programme)


# Nodes as functions


@pytest.mark.parametrize("count", range(4))
@pytest.mark.parametrize("make", [lambda x: x.exp(), lambda x: (x * 1).unbind(0)[0], lambda x: x.sort()[0],
                                  lambda x: x.sum(), lambda x: x * x])  # fmt: skip
def test_nodes_take_a_gradient_for_each_result(make: Callable[[Any], Any], count: int) -> None:
    check(lambda lib: make(leaf(lib)).grad_fn(*[make(leaf(lib)).detach() for _ in range(count)]))


@pytest.mark.parametrize("grad", [None, 3, "s", [1.0, 2.0]])
def test_nodes_take_tensors_and_none(grad: Any) -> None:
    check(lambda lib: leaf(lib).exp().grad_fn(grad))


def test_an_empty_list_of_inputs_is_an_error() -> None:
    assert "cannot be empty" in message(lambda lib: lib.autograd.grad(leaf(lib).sum(), []))
