"""Forward mode beside PyTorch's: writes, views, second derivatives both ways, `Function.jvp`, `autograd.functional`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opwright

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

Program = Callable[[Any, Any], Any]
VALUES = np.array([0.6, 1.1, 1.4])
TANGENT = np.array([0.3, -0.2, 0.7])


def viewed(y: Any, write: Callable[[Any], Any]) -> Any:
    write(y[1:])
    return (y**3).sum()


def put(y: Any, place: Any, value: Any) -> Any:
    y[place] = value
    return (y**2).sum()


PROGRAMS: dict[str, Program] = {
    "exp": lambda T, x: (x.exp() * x.sin()).sum(),
    "matmul": lambda T, x: ((x.outer(x) @ x).tanh() * x).sum(),
    "sigmoid": lambda T, x: (x.sigmoid() * x.reciprocal()).sum(),
    "mul_": lambda T, x: ((x * 2).mul_(x) ** 2).sum(),
    "exp_": lambda T, x: ((x * 2).exp_() ** 2).sum(),
    "add_": lambda T, x: ((x * 2).add_(x) ** 3).sum(),
    "two writes": lambda T, x: ((x * 2).mul_(x).exp_() ** 2).sum(),
    "mul_ of a view": lambda T, x: viewed(x * 2, lambda y: y.mul_(x[1:])),
    "zero_ of a view": lambda T, x: viewed(x * 2, lambda y: y.zero_()),
    "copy_ to a view": lambda T, x: viewed(x * 2, lambda y: y.copy_(x[1:])),
    "copy_ to what has no tangent": lambda T, x: viewed(x.detach() * 2, lambda y: y.copy_(x[1:])),
    "fill_": lambda T, x: ((x.detach() * 2).fill_(x[0]) * x).sum(),
    "setitem": lambda T, x: put(x * 2, 0, x[1]),
    "setitem by index": lambda T, x: put(x * 2, T.tensor([0, 1]), x[1:]),
    "clamp_": lambda T, x: ((x * 2).clamp_(0, 2.0) ** 2).sum(),
    "stack": lambda T, x: (T.stack([x, x.sin(), x.detach()]) ** 2).sum(),
    "cat": lambda T, x: (T.cat([x.detach(), x.sin()]) ** 2).sum(),
    "log_softmax": lambda T, x: T.log_softmax(x * x, -1)[0] * x.mean(),
    "norm": lambda T, x: x.norm() * x.std(),
    "logsumexp": lambda T, x: T.logsumexp(x * x, 0),
    "layer_norm": lambda T, x: (T.nn.functional.layer_norm(x, [3], x.detach() + 1, x) ** 2)[1],
    "mse_loss": lambda T, x: T.nn.functional.mse_loss(x, x.exp()),
    "no_grad": lambda T, x: (without_grad(T, x) * x).sum(),
}


def without_grad(T: Any, x: Any) -> Any:
    with T.no_grad():
        return x * 3


def forward(T: Any, program: Program) -> Any:
    with T.autograd.forward_ad.dual_level():
        x = T.autograd.forward_ad.make_dual(T.tensor(VALUES), T.tensor(TANGENT))
        return T.autograd.forward_ad.unpack_dual(program(T, x)).tangent


def forward_over_reverse(T: Any, program: Program) -> Any:
    with T.autograd.forward_ad.dual_level():
        x = T.autograd.forward_ad.make_dual(T.tensor(VALUES).requires_grad_(), T.tensor(TANGENT))
        (gradient,) = T.autograd.grad(program(T, x), x, create_graph=True)
        return T.autograd.forward_ad.unpack_dual(gradient).tangent


def reverse_over_forward(T: Any, program: Program) -> Any:
    leaf = T.tensor(VALUES).requires_grad_()
    with T.autograd.forward_ad.dual_level():
        x = T.autograd.forward_ad.make_dual(leaf, T.tensor(TANGENT))
        (gradient,) = T.autograd.grad(T.autograd.forward_ad.unpack_dual(program(T, x)).tangent, leaf)
        return gradient


# Programs that PyTorch cannot differentiate in this order; the other order has the same value.
FORWARD_FIRST_IS_WRONG = {
    "layer_norm": "PyTorch takes the mean for a constant",
    **dict.fromkeys(["log_softmax", "logsumexp"], "PyTorch writes over a tensor that its backward pass needs"),
}


@pytest.mark.parametrize("way", [forward, forward_over_reverse, reverse_over_forward])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, way: Callable[[Any, Program], Any]) -> None:
    is_swapped = way is reverse_over_forward and name in FORWARD_FIRST_IS_WRONG
    wanted = (forward_over_reverse if is_swapped else way)(torch, PROGRAMS[name])
    found = way(opwright, PROGRAMS[name])
    assert np.allclose(found.detach().numpy(), wanted.detach().numpy(), rtol=1e-10)


def doubled(ctx: Any, x: Any, y: Any) -> Any:
    ctx.save_for_forward(x, y)
    return x * y


def of_doubled(ctx: Any, x_t: Any, y_t: Any) -> Any:
    x, y = ctx.saved_tensors
    return x_t * y + y_t * x


def written(ctx: Any, x: Any, y: Any) -> Any:
    ctx.mark_dirty(x)
    return x.mul_(y)


def with_float(ctx: Any, x: Any, y: Any) -> Any:
    other = x + 1
    ctx.mark_non_differentiable(other)
    return x * y, other


FUNCTIONS: dict[str, tuple[Any, Any]] = {
    "saved": (doubled, of_doubled),
    "alias": (doubled, lambda ctx, x, y: x),
    "too many": (doubled, lambda ctx, x, y: (x, x)),
    "shape": (doubled, lambda ctx, x, y: x[:1]),
    "number": (doubled, lambda ctx, x, y: 3),
    "in place": (written, lambda ctx, x, y: x.mul_(3)),
    "not in place": (written, lambda ctx, x, y: x * 3),
    "view": (lambda ctx, x, y: x.view_as(x), lambda ctx, x, y: x.view_as(x)),
    "no view": (lambda ctx, x, y: x.view_as(x), lambda ctx, x, y: x * 1),
    "itself": (lambda ctx, x, y: x, lambda ctx, x, y: x.view_as(x)),
    "two": (lambda ctx, x, y: (x * y, x + y), lambda ctx, x, y: (x * 1, y * 2)),
    "one of two": (lambda ctx, x, y: (x * y, x + y), lambda ctx, x, y: x * 1),
    "not differentiable": (with_float, lambda ctx, x, y: (x * 2, None)),
    "tangent of what has none": (with_float, lambda ctx, x, y: (x * 2, x * 1)),
    "none": (doubled, None),
}


@pytest.mark.parametrize("duals", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_jvp(name: str, duals: tuple[int, ...]) -> None:
    def run(T: Any) -> Any:
        made = {"forward": staticmethod(FUNCTIONS[name][0])}
        if FUNCTIONS[name][1] is not None:
            made["jvp"] = staticmethod(FUNCTIONS[name][1])
        function = type("Made", (T.autograd.Function,), made)
        with T.autograd.forward_ad.dual_level():
            given = [T.tensor(VALUES), T.tensor(VALUES * 2)]
            for place in duals:
                given[place] = T.autograd.forward_ad.make_dual(given[place], T.tensor(TANGENT))
            try:
                results = function.apply(*given)
            except Exception as error:
                return type(error)
            several = results if isinstance(results, tuple) else (results,)
            tangents = [T.autograd.forward_ad.unpack_dual(each).tangent for each in several]
            return [None if each is None else each.tolist() for each in tangents]

    assert run(opwright) == run(torch)


def exponential(a: Any) -> Any:
    return a * a.exp()


def both(a: Any, b: Any) -> Any:
    return (b * a).sin(), a.sum() * b


def scalar(a: Any, b: Any) -> Any:
    return ((b * a).sin() * b).sum()


def unrelated(a: Any, b: Any) -> Any:
    return a * 2


X, Y = np.array([0.6, 1.1, 1.4]), np.array([[0.5, 1.5, 0.8], [1.2, 0.9, 0.7]])
V, W = np.array([0.3, -0.2, 0.7]), np.array([[0.1, 0.2, -0.3], [0.6, 0.4, 1.0]])
CALLS: list[tuple[str, tuple[Any, ...]]] = [
    ("vjp", (exponential, X, V)),
    ("vjp", (both, (X, Y), (W, W))),
    ("vjp", (exponential, X, W)),
    ("vjp", (unrelated, (X, Y), V)),
    ("jvp", (exponential, X, V)),
    ("jvp", (both, (X, Y), (V, W))),
    ("jvp", (unrelated, (X, Y), (V, W))),
    ("jacobian", (exponential, X)),
    ("jacobian", (both, (X, Y))),
    ("jacobian", (unrelated, (X, Y))),
    ("hessian", (scalar, (X, Y))),
    ("hessian", (exponential, X)),
    ("hvp", (scalar, (X, Y), (V, W))),
    ("vhp", (scalar, (X, Y), (V, W))),
    ("vhp", (exponential, X, V)),
]
OPTIONS: list[dict[str, Any]] = [{}, {"create_graph": True}, {"strict": True}]


def tensors(T: Any, value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(tensors(T, each) for each in value)
    return T.tensor(value) if isinstance(value, np.ndarray) else value


def flat(value: Any) -> list[np.ndarray]:
    if isinstance(value, list | tuple):
        return [each for item in value for each in flat(item)]
    return [value.detach().numpy()]


def outcome(T: Any, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    try:
        return flat(getattr(T.autograd.functional, name)(*tensors(T, args), **options))
    except RuntimeError as error:
        return type(error)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name, args", CALLS)
def test_functional(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> None:
    check_same(outcome(opwright, name, args, options), outcome(torch, name, args, options))


@pytest.mark.parametrize("name, option", [("jacobian", "strategy"), ("hessian", "outer_jacobian_strategy")])
def test_functional_forward_mode(name: str, option: str) -> None:
    options = {option: "forward-mode", "vectorize": True}
    args = (both if name == "jacobian" else scalar, (X, Y))
    check_same(outcome(opwright, name, args, options), outcome(torch, name, args, options))


def check_same(found: Any, wanted: Any) -> None:
    if isinstance(wanted, list) and isinstance(found, list):
        assert [each.shape for each in found] == [each.shape for each in wanted]
        assert all(np.allclose(*pair) for pair in zip(found, wanted, strict=True))
    else:
        assert found == wanted
