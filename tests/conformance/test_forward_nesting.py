"""Forward mode within hooks, backward passes, Functions, fakes, dispatch modes and subclasses, beside PyTorch's."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opwright
from opwright._subclasses.fake_tensor import FakeTensorMode
from opwright.utils._python_dispatch import TorchDispatchMode
from opwright_core.state import active_modes

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from torch._subclasses.fake_tensor import FakeTensorMode as TheirFakeTensorMode  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode as TheirDispatchMode  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

Program = Callable[[Any], Any]
VALUES, TANGENT = np.array([0.6, 1.1, 1.4]), np.array([0.3, -0.2, 0.7])
COMPLEX, COMPLEX_TANGENT = np.array([1 + 2j, 3.0]), np.array([1j, 2.0])
PARTS, PARTS_TANGENT = np.ones((3, 2)), np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


def make_dual(T: Any, values: Any = VALUES, tangent: Any = TANGENT, requires_grad: bool = False) -> Any:
    made = T.tensor(values)
    return T.autograd.forward_ad.make_dual(made.requires_grad_() if requires_grad else made, T.tensor(tangent))


def tangent(T: Any, tensor: Any) -> Any:
    return T.autograd.forward_ad.unpack_dual(tensor).tangent


def shown(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [shown(each) for each in value]
    return np.round(value.detach().numpy(), 9).tolist() if hasattr(value, "detach") else value


def beside_pytorch(program: Program) -> None:
    assert shown(program(opwright)) == shown(program(torch))


# -- programs within a level


def in_a_hook(T: Any) -> Any:
    seen: list[Any] = []
    x = make_dual(T, requires_grad=True)
    y = x * 1.0
    y.register_hook(lambda grad: seen.append(tangent(T, grad * x)))
    y.register_hook(lambda grad: grad * x)
    (y**2).sum().backward(create_graph=True, inputs=[x])
    return seen, tangent(T, x.grad)


def retained(T: Any) -> Any:
    x = make_dual(T, requires_grad=True)
    y = x * x
    y.retain_grad()
    (y * y).sum().backward()
    return tangent(T, y.grad)


def accumulated(T: Any) -> Any:
    leaf = T.tensor(VALUES).requires_grad_()
    x = T.autograd.forward_ad.make_dual(leaf, T.tensor(TANGENT))
    (x**2).sum().backward()
    (x**3).sum().backward()
    return leaf.grad


def function(T: Any, seen: list[Any]) -> Any:
    class Exp(T.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            seen.append((tangent(T, x), tangent(T, x * 2)))
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return x.exp()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * ctx.saved_tensors[0].exp()

        @staticmethod
        def jvp(ctx: Any, change: Any) -> Any:
            return change * ctx.saved_tensors[0].exp()

    return Exp.apply


def in_a_function(T: Any) -> Any:
    seen: list[Any] = []
    return tangent(T, function(T, seen)(make_dual(T))), seen


def forward_over_a_function(T: Any) -> Any:
    x = make_dual(T, requires_grad=True)
    return tangent(T, T.autograd.grad(function(T, [])(x).sum(), x, create_graph=True)[0])


def backward_over_a_jvp(T: Any) -> Any:
    leaf = T.tensor(VALUES).requires_grad_()
    x = T.autograd.forward_ad.make_dual(leaf, T.tensor(TANGENT))
    return T.autograd.grad(tangent(T, function(T, [])(x)).sum(), leaf)


def after_an_error_in_a_jvp(T: Any) -> Any:
    class Failing(T.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def jvp(ctx: Any, change: Any) -> Any:
            raise ValueError("mine")

    x = make_dual(T)
    with pytest.raises(ValueError, match="mine"):
        Failing.apply(x)
    return tangent(T, x * 2)


def after_an_error_in_a_formula(T: Any) -> Any:
    x = make_dual(T, PARTS, PARTS_TANGENT)
    with pytest.raises(RuntimeError):
        T.linalg.qr(x, mode="complete")
    return tangent(T, x * 2)


def beside_another_thread(T: Any) -> Any:
    x, seen = make_dual(T), []
    thread = threading.Thread(target=lambda: seen.append(T.ones(2).sum().item()))
    thread.start()
    thread.join()
    return seen, tangent(T, x * 2)


def written_views(T: Any) -> Any:
    base = T.zeros(4, dtype=T.float64)
    rows = base.view(2, 2)
    row = rows[0]
    base[:3] = make_dual(T)
    return [tangent(T, each) for each in (row, rows, base)]


def parts_of_what_was_written(T: Any) -> Any:
    base = T.zeros(2, dtype=T.complex128)
    views = T.view_as_real(base), base.real, base[1:].imag
    base.copy_(make_dual(T, COMPLEX, COMPLEX_TANGENT))
    return [tangent(T, each) for each in views], [tangent(T, each * 2) for each in views]


def written_parts(T: Any) -> Any:
    base = T.zeros(3, dtype=T.complex128)
    parts = T.view_as_real(base)
    parts.copy_(make_dual(T, PARTS, PARTS_TANGENT))
    return tangent(T, base), tangent(T, parts)


def numbers_of_written_parts(T: Any) -> Any:
    base = T.zeros(6, dtype=T.float64)
    numbers = T.view_as_complex(base.view(3, 2))
    base.view(3, 2).copy_(make_dual(T, PARTS, PARTS_TANGENT))
    return tangent(T, numbers), tangent(T, numbers[1:]), tangent(T, base)


def without_data(T: Any) -> Any:
    x = T.autograd.forward_ad.make_dual(T.empty(3, device="meta"), T.empty(3, device="meta"))
    change = tangent(T, x.exp())
    return tuple(change.shape), str(change.device)


def of_fakes(T: Any) -> Any:
    with (TheirFakeTensorMode if T is torch else FakeTensorMode)():
        x = T.autograd.forward_ad.make_dual(T.empty(3, dtype=T.float64), T.empty(3, dtype=T.float64))
        base = T.zeros(4, dtype=T.float64)
        base[:3] = x
        results = (x * x).sum(), T.linalg.solve(T.eye(3, dtype=T.float64), x), base[1:]
        return [(tuple(change.shape), str(change.device)) for change in (tangent(T, each) for each in results)]


def in_a_dispatch_mode(T: Any) -> Any:
    seen: list[Any] = []

    class Counting(TheirDispatchMode if T is torch else TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(op))
            return op(*args, **(kwargs or {}))

    with Counting():
        change = tangent(T, make_dual(T) ** 2)
    return change, [each for each in seen if "mul" in each or "pow" in each]


def of_a_subclass(T: Any) -> Any:
    class Wrapping(T.Tensor):  # type: ignore[misc, name-defined]
        @classmethod
        def __torch_dispatch__(cls, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return wrapped(op(*(getattr(each, "inner", each) for each in args), **(kwargs or {})))

    def wrapped(inner: Any) -> Any:
        if isinstance(inner, bool):  # PyTorch compares layouts
            return inner
        made = T.Tensor._make_wrapper_subclass(Wrapping, inner.shape, dtype=inner.dtype)
        made.inner = inner
        return made

    x = T.autograd.forward_ad.make_dual(wrapped(T.tensor(VALUES)), wrapped(T.tensor(TANGENT)))
    change = tangent(T, x * x)
    return type(change).__name__, change.inner


WITHIN: list[Program] = [
    in_a_hook, retained, accumulated, in_a_function, forward_over_a_function, backward_over_a_jvp,
    after_an_error_in_a_jvp, after_an_error_in_a_formula, beside_another_thread, written_views,
    parts_of_what_was_written, written_parts, numbers_of_written_parts, without_data, of_fakes, in_a_dispatch_mode,
    of_a_subclass,
]  # fmt: skip


@pytest.mark.parametrize("program", WITHIN, ids=lambda program: program.__name__)
def test_within_a_level(program: Program) -> None:
    def run(T: Any) -> Any:
        with T.autograd.forward_ad.dual_level():
            return shown(program(T))

    beside_pytorch(run)
    assert active_modes() is None


def test_a_level_within_a_hook() -> None:
    def run(T: Any) -> Any:
        seen = []

        def hook(grad: Any) -> None:
            with T.autograd.forward_ad.dual_level():
                seen.append(tangent(T, make_dual(T).sin() * grad))

        y = T.tensor(VALUES).requires_grad_() * 2
        y.register_hook(hook)
        y.sum().backward()
        return shown(seen)

    beside_pytorch(run)


def test_plain_arrays_beside_duals() -> None:
    with opwright.autograd.forward_ad.dual_level():
        x = make_dual(opwright)
        assert np.allclose(tangent(opwright, opwright.mul(x, VALUES)).numpy(), VALUES * TANGENT)
        assert np.allclose(tangent(opwright, opwright.stack([VALUES, x])).numpy(), [0 * TANGENT, TANGENT])
        with pytest.raises(opwright.AutogradError, match="into a plain array, which cannot keep it"):
            opwright.ops.aten.add_.Tensor(VALUES.copy(), x)


# -- autograd.functional


def product_and_sum(x: Any, y: Any) -> Any:
    return x * y, (x + y).sum()


def scalar(x: Any, y: Any) -> Any:
    return (x * y).sum() ** 2 + (x**3).sum()


def forward_mode(T: Any) -> dict[str, Any]:
    return {"vectorize": True} if T is torch else {}


FUNCTIONAL: dict[str, Callable[[Any, Any, Any], Any]] = {
    "jvp": lambda T, x, y: T.autograd.functional.jvp(product_and_sum, (x, y), (y, x)),
    "vjp": lambda T, x, y: T.autograd.functional.vjp(product_and_sum, (x, y), (y, T.tensor(2.0, dtype=T.float64))),
    "jacobian": lambda T, x, y: T.autograd.functional.jacobian(product_and_sum, (x, y)),
    "jacobian, forward": lambda T, x, y: T.autograd.functional.jacobian(
        product_and_sum, (x, y), strategy="forward-mode", **forward_mode(T)
    ),
    "hessian": lambda T, x, y: T.autograd.functional.hessian(scalar, (x, y)),
    "hessian, forward": lambda T, x, y: T.autograd.functional.hessian(
        scalar, (x, y), outer_jacobian_strategy="forward-mode", **forward_mode(T)
    ),
    "hvp": lambda T, x, y: T.autograd.functional.hvp(scalar, (x, y), (y, x)),
    "vhp": lambda T, x, y: T.autograd.functional.vhp(scalar, (x, y), (y, x)),
}


@pytest.mark.parametrize("name", FUNCTIONAL)
def test_functions_of_several_inputs(name: str) -> None:
    beside_pytorch(lambda T: shown(FUNCTIONAL[name](T, T.tensor(VALUES), T.tensor(TANGENT))))
