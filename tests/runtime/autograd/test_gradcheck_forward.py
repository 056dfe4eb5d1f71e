"""gradcheck in forward mode, of right and of wrong jvps: PyTorch's verdict, and messages that say what is wrong."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from functions import function, leaf  # noqa: E402
from test_gradcheck import check, failure  # noqa: E402
from wrappers import recorded  # noqa: E402, F401

import opwright  # noqa: E402

pytestmark = pytest.mark.oracle


def product(t: Any, jvp: Any) -> Any:
    """x · y with a right backward and a jvp of one's own: of both tangents, x and y."""

    def backward(ctx: Any, grad: Any) -> Any:
        x, y = ctx.saved_tensors
        return grad * y.conj(), grad * x.conj()

    def forward_derivative(ctx: Any, dx: Any, dy: Any) -> Any:
        return jvp(dx, dy, *ctx.saved_tensors)

    return function(t, "Product", lambda x, y: x * y, backward, forward_derivative).apply


def right(dx: Any, dy: Any, x: Any, y: Any) -> Any:
    parts = [each for each in (None if dx is None else dx * y, None if dy is None else dy * x) if each is not None]
    return sum(parts[1:], parts[0])


WRONG = {
    "sign": (lambda dx, dy, x, y: right(dx, None if dy is None else -dy, x, y), 1, "the sign"),
    "twice": (lambda dx, dy, x, y: right(None if dx is None else dx * 2.0, dy, x, y), 0, "2 times the gradient"),
    "forgotten": (lambda dx, dy, x, y: x * 0.0 if dx is None else dx * y, 1, "gives no gradient for this input"),
}


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("is_complex", [False, True])
def test_a_right_jvp_passes(is_complex: bool, fast: bool) -> None:
    def programme(t: Any) -> Any:
        inputs = leaf(t, 3, is_complex=is_complex), leaf(t, 3, seed=1, is_complex=is_complex)
        return t.autograd.gradcheck(product(t, right), inputs, check_forward_ad=True, fast_mode=fast)

    assert check(programme) is True


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("mistake", WRONG)
def test_a_wrong_jvp_says_which_input_and_why(mistake: str, fast: bool) -> None:
    jvp, position, cause = WRONG[mistake]

    def programme(t: Any, **options: Any) -> Any:
        inputs = leaf(t, 3), leaf(t, 3, seed=1)
        return t.autograd.gradcheck(product(t, jvp), inputs, check_forward_ad=True, fast_mode=fast, **options)

    assert check(programme) == "GradcheckError"
    assert check(lambda t: programme(t, check_backward_ad=False)) == "GradcheckError"
    message = failure(lambda: programme(opwright))
    assert f"output 0 with respect to input {position} of Product.apply" in message
    assert "of the forward-mode Jacobian" in message and cause in message


def test_a_function_without_a_jvp() -> None:
    def programme(t: Any) -> Any:
        made = function(t, "Square", lambda x: x * x, lambda ctx, grad: grad * ctx.saved_tensors[0] * 2.0)
        return t.autograd.gradcheck(made.apply, leaf(t, 3), check_forward_ad=True)

    assert check(programme) == "NotImplementedError"


def test_a_missing_tangent_is_zeros() -> None:
    def jvp(dx: Any, dy: Any, x: Any, y: Any) -> Any:
        return right(dx, dy, x, y) if dx is None or dy is None else dx * y + dy * x + 1.0

    def programme(t: Any) -> Any:
        inputs = leaf(t, 3), leaf(t, 3, seed=1)
        return t.autograd.gradcheck(product(t, jvp), inputs, check_forward_ad=True)

    assert check(programme) == "GradcheckError"
    assert "Product.apply" in failure(lambda: programme(opwright))


@pytest.mark.parametrize("fast", [False, True])
def test_forward_over_reverse(fast: bool) -> None:
    def programme(t: Any) -> Any:
        inputs = leaf(t, 3), leaf(t, 3, seed=1)
        return t.autograd.gradgradcheck(lambda x, y: x * x * y, inputs, check_fwd_over_rev=True, fast_mode=fast)

    assert check(programme) is True
