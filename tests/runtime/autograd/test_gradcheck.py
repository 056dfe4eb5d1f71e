"""gradcheck of right and of wrong Functions: PyTorch's verdict, and messages that say what is wrong and where."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from functions import function, leaf, linear, square  # noqa: E402
from torch.autograd.gradcheck import GradcheckError as TorchGradcheckError  # noqa: E402
from wrappers import recorded  # noqa: E402, F401

import opwright  # noqa: E402
from opwright.autograd import GradcheckError, gradcheck, gradgradcheck  # noqa: E402

pytestmark = pytest.mark.oracle
Programme = Callable[[Any], Any]


def verdict(programme: Programme, library: Any) -> Any:
    """What it returns, or the class of what it raises."""
    try:
        return programme(library)
    except (GradcheckError, TorchGradcheckError):
        return "GradcheckError"
    except Exception as error:
        return type(error).__name__


def check(programme: Programme) -> Any:
    ours = verdict(programme, opwright)
    assert ours == verdict(programme, torch)
    return ours


def failure(call: Callable[[], Any]) -> str:
    with pytest.raises(GradcheckError) as caught:
        call()
    return str(caught.value)


def right(grad: Any, x: Any, weight: Any) -> Any:
    return grad @ weight.conj(), grad.t() @ x.conj()


WRONG_LINEAR = {
    "sign": (lambda g, x, w: (g @ w, -g.t() @ x), 1, "the sign"),
    "twice": (lambda g, x, w: (g @ w * 2.0, g.t() @ x), 0, "a factor: the formula gives 2 times"),
    "half": (lambda g, x, w: (g @ w, g.t() @ x * 0.5), 1, "a factor: the formula gives 1/2 times"),
    "odd": (lambda g, x, w: (g @ w, g.t() @ x * 1.3), 1, "a factor: the formula gives 1.3 times"),
    "matrix not transposed": (lambda g, x, w: (g @ w.t(), g.t() @ x), 0, "transposed"),
    "gradient transposed": (lambda g, x, w: (g @ w, x.t() @ g), 1, "transposed"),
    "forgotten": (lambda g, x, w: (g @ w, None), 1, "the formula gives no gradient for this input"),
    "zeros": (lambda g, x, w: (g @ w * 0.0, g.t() @ x), 0, "the formula gives no gradient for this input"),
    "not a number": (
        lambda g, x, w: (g @ w * float("nan"), g.t() @ x),
        0,
        "the derivative formula gives NaN or infinity",
    ),
}


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("is_complex", [False, True])
def test_a_right_backward_passes(is_complex: bool, fast: bool) -> None:
    def programme(t: Any) -> Any:
        inputs = leaf(t, 2, 3, is_complex=is_complex), leaf(t, 4, 3, seed=1, is_complex=is_complex)
        return t.autograd.gradcheck(linear(t, right).apply, inputs, fast_mode=fast)

    assert check(programme) is True


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("mistake", WRONG_LINEAR)
def test_a_wrong_backward_says_which_input_and_why(mistake: str, fast: bool) -> None:
    gradients, position, cause = WRONG_LINEAR[mistake]

    def programme(t: Any) -> Any:
        inputs = leaf(t, 3, 3), leaf(t, 3, 3, seed=1)
        return t.autograd.gradcheck(linear(t, gradients).apply, inputs, fast_mode=fast)

    assert check(programme) == "GradcheckError"
    message = failure(lambda: programme(opwright))
    name = ("x", "weight")[position]
    assert f"output 0 with respect to input {position} ({name!r}) of Linear.apply" in message
    assert f"likely cause: {cause}" in message
    assert ("As fast_mode=False shows" in message) is fast
    assert "of 81 entries" in message and "1e-05 + 0.001·|numerical|" in message


@pytest.mark.parametrize("fast", [False, True])
def test_a_missing_conjugate(fast: bool) -> None:
    def programme(t: Any) -> Any:
        return t.autograd.gradcheck(
            square(t, lambda g, x: g * x * 2.0).apply, leaf(t, 3, is_complex=True), fast_mode=fast
        )

    assert check(programme) == "GradcheckError"
    assert "a conjugate is missing" in failure(lambda: programme(opwright))


def test_the_entry_that_differs_most_comes_first() -> None:
    def gradients(grad: Any, x: Any) -> Any:
        return grad * x * opwright.tensor([[2.0, 2.0, 2.0], [2.0, 2.0, 5.0]], dtype=opwright.float64)

    x = opwright.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=opwright.float64, requires_grad=True)
    message = failure(lambda: gradcheck(square(opwright, gradients).apply, x))
    assert "1 of 36 entries" in message
    rows = [line.split() for line in message.splitlines()[1:]]
    assert rows[0] == ["input", "element", "output", "element", "numerical", "analytical", "difference"]
    assert rows[1] == ["[1,", "2]", "[1,", "2]", "12", "30", "18"]
    assert "only some elements of the input: [1, 2]; the others are right" in message


def test_only_some_of_many_entries_are_shown() -> None:
    message = failure(lambda: gradcheck(square(opwright, lambda g, x: g * x).apply, leaf(opwright, 20)))
    assert "20 of 400 entries" in message and "1/2 times" in message
    assert len(message.splitlines()) == 1 + 1 + 5 + 1


def test_several_outputs() -> None:
    def programme(t: Any) -> Any:
        def backward(ctx: Any, first: Any, second: Any) -> Any:
            x, y = ctx.saved_tensors
            return first * y + second, first * x + second * 3.0

        made = function(t, "Two", lambda x, y: (x * y, x + y), backward)
        return t.autograd.gradcheck(made.apply, (leaf(t, 3), leaf(t, 3, seed=1)))

    assert check(programme) == "GradcheckError"
    message = failure(lambda: programme(opwright))
    assert "Jacobian mismatch for output 1 with respect to input 1 of Two.apply" in message and "3 times" in message


def test_inputs_in_a_list_are_named_by_their_place() -> None:
    wrong = square(opwright, lambda g, x: -g * x * 2.0)

    def total(scale: Any, tensors: Any) -> Any:
        return tensors[0] * scale + wrong.apply(tensors[1])

    inputs = 2.0, [leaf(opwright, 2), leaf(opwright, 2, seed=1)]
    assert "with respect to input 1 ('tensors')[1] of total" in failure(lambda: gradcheck(total, inputs))


def test_raise_exception_false() -> None:
    def programme(t: Any) -> Any:
        wrong, fine = square(t, lambda g, x: g * x), square(t, lambda g, x: g * x * 2.0)
        return [
            t.autograd.gradcheck(each.apply, leaf(t, 3), raise_exception=False, fast_mode=fast)
            for each, fast in itertools.product((wrong, fine), (False, True))
        ]

    assert check(programme) == [False, False, True, True]


@pytest.mark.parametrize("fast", [False, True])
def test_a_backward_that_is_not_deterministic(fast: bool) -> None:
    def programme(t: Any, tolerance: float = 0.0) -> Any:
        calls = itertools.count()
        made = square(t, lambda g, x: g * x * (2.0 + 1e-7 * next(calls)))
        return t.autograd.gradcheck(made.apply, leaf(t, 3), nondet_tol=tolerance, fast_mode=fast)

    assert check(programme) == "GradcheckError"
    message = failure(lambda: programme(opwright))
    assert "the backward of Square.apply is not deterministic" in message and "input 0" in message
    assert check(lambda t: programme(t, 1e-3)) is True


def test_a_function_that_is_not_deterministic_is_the_cause() -> None:
    calls = itertools.count(1)

    def noisy(x: Any) -> Any:
        return x * float(next(calls))

    assert "noisy is not deterministic: two calls" in failure(lambda: gradcheck(noisy, leaf(opwright, 3)))


def pair(t: Any, backward: Any) -> Any:
    """x·2 and x·3, with a backward that gets None for undefined gradients."""

    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        return x * 2.0, x * 3.0

    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Pair", (t.autograd.Function,), members).apply


def right_pair(ctx: Any, first: Any, second: Any) -> Any:
    if first is None:
        return None if second is None else second * 3.0
    return first * 2.0 if second is None else first * 2.0 + second * 3.0


def test_undefined_gradients() -> None:
    assert check(lambda t: t.autograd.gradcheck(pair(t, right_pair), leaf(t, 3))) is True


def test_a_backward_that_fails_for_undefined_gradients() -> None:
    def programme(t: Any, **options: Any) -> Any:
        def backward(ctx: Any, first: Any, second: Any) -> Any:
            if first is None and second is None:
                raise RuntimeError("nothing is defined")
            return right_pair(ctx, first, second)

        return t.autograd.gradcheck(pair(t, backward), leaf(t, 3), **options)

    assert check(programme) == "GradcheckError"
    message = failure(lambda: programme(opwright))
    assert "the gradient of output 0 and output 1 is undefined" in message and "nothing is defined" in message
    assert check(lambda t: programme(t, check_undefined_grad=False)) is True


def test_a_backward_that_takes_undefined_for_something() -> None:
    def backward(ctx: Any, first: Any, second: Any) -> Any:
        return first * 5.0 if second is None and first is not None else right_pair(ctx, first, second)

    def through_both(x: Any) -> Any:
        first, second = pair(opwright, backward)(x)
        return first + second * 0.0, second + first * 0.0

    assert gradcheck(through_both, leaf(opwright, 3), check_undefined_grad=False)
    message = failure(lambda: gradcheck(pair(opwright, backward), leaf(opwright, 3), check_undefined_grad=True))
    assert "input 0" in message and "5" in message


def test_a_backward_that_does_not_multiply_by_its_gradient() -> None:
    def programme(t: Any) -> Any:
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * x * 2.0 + (x * 3.0 if bool((grad == 0).all()) else 0.0)

        return t.autograd.gradcheck(function(t, "Adds", lambda x: x * x, backward).apply, leaf(t, 3))

    assert check(programme) == "GradcheckError"
    assert "the backward of Adds.apply must multiply by the gradients" in failure(lambda: programme(opwright))


def test_a_gradient_of_the_wrong_shape() -> None:
    def programme(t: Any) -> Any:
        wrong = function(t, "Wide", lambda x: x * 2.0, lambda ctx, grad: t.ones(5, dtype=t.float64))
        return t.autograd.gradcheck(wrong.apply, leaf(t, 3))

    assert check(programme) == "RuntimeError"
    with pytest.raises(RuntimeError, match="WideBackward returned an invalid gradient at index 0") as caught:
        programme(opwright)
    assert "in gradcheck's backward pass of Wide.apply" in caught.value.__notes__[0]


@pytest.mark.parametrize("fast", [False, True])
def test_the_dtype_of_gradients(fast: bool) -> None:
    """The engine casts gradients, in both libraries: of a leaf they are of its dtype."""

    def programme(t: Any) -> Any:
        def backward(ctx: Any, grad: Any) -> Any:
            return (grad * 2.0).to(t.float32)

        made = function(t, "Coarse", lambda x: x * 2.0, backward)
        return t.autograd.gradcheck(made.apply, leaf(t, 3), check_grad_dtypes=True, fast_mode=fast)

    assert check(programme) is True


def test_inputs_that_cannot_be_checked() -> None:
    def no_input(t: Any) -> Any:
        return t.autograd.gradcheck(lambda x: x * 2.0, leaf(t, 3).detach())

    def overlapping(t: Any) -> Any:
        return t.autograd.gradcheck(lambda x, y: x * y, (leaf(t, 3), leaf(t, 1).detach().expand(3).requires_grad_()))

    assert check(no_input) == "ValueError"
    assert check(overlapping) == "RuntimeError"
    with pytest.raises(RuntimeError, match=r"elements of input 1 \('y'\) share one place in memory \(shape \[3\]"):
        overlapping(opwright)


def test_single_precision_is_warned_about() -> None:
    def programme(t: Any) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            t.autograd.gradcheck(lambda x, y: x * y, (leaf(t, 3), leaf(t, 3, dtype="float32")), raise_exception=False)
        return [each.category.__name__ for each in caught]

    assert check(programme) == ["UserWarning"]
    with pytest.warns(UserWarning, match=r"input 1 \('y'\) is float32") as caught:
        gradcheck(lambda x, y: x * y, (leaf(opwright, 3), leaf(opwright, 3, dtype="float32")), raise_exception=False)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="float32") as caught:
        gradgradcheck(lambda x: x * x, leaf(opwright, 3, dtype="float32"), raise_exception=False)
    assert caught[0].filename == __file__


def test_outputs_whose_history_is_lost() -> None:
    def lost(t: Any) -> Any:
        return t.autograd.gradcheck(lambda x: x.detach() * 2.0, leaf(t, 3))

    def constant(t: Any) -> Any:
        return t.autograd.gradcheck(lambda x: x.detach() * 0.0, leaf(t, 3))

    assert check(lost) == "GradcheckError"
    assert check(constant) is True
    message = failure(lambda: lost(opwright))
    assert "output 0 moves with input 0 ('x')" in message and "its history is lost" in message


def test_outputs_that_require_no_grad_are_left_out() -> None:
    def programme(t: Any) -> Any:
        return t.autograd.gradcheck(lambda x: (x.detach() * 3.0, x * 2.0), leaf(t, 3))

    assert check(programme) is True


def test_a_function_that_takes_its_inputs_from_outside() -> None:
    def programme(t: Any) -> Any:
        weight = leaf(t, 3)
        return t.autograd.gradcheck(lambda *parameters: weight * weight, (weight,))

    assert check(programme) is True


def test_inputs_are_put_back() -> None:
    x = leaf(opwright, 3)
    before, version = x.detach().clone(), x._version
    gradcheck(lambda x: x * x, x)
    assert (x == before).all() and x._version == version and x.grad is None


@pytest.mark.parametrize("fast", [False, True])
def test_batched_gradients(fast: bool) -> None:
    def programme(t: Any) -> Any:
        inputs = leaf(t, 3), leaf(t, 3, seed=1)
        return t.autograd.gradcheck(lambda x, y: x * y, inputs, check_batched_grad=True, fast_mode=fast)

    assert check(programme) is True


def test_a_batch_that_differs_from_its_samples() -> None:
    calls = itertools.count()

    def gradient(grad: Any, x: Any) -> Any:
        return grad * x * (2.0 + 1e-4 * next(calls))

    message = failure(
        lambda: gradcheck(square(opwright, gradient).apply, leaf(opwright, 3), check_batched_grad=True, nondet_tol=1.0)
    )
    assert "the batched gradient of output 0 of Square.apply with respect to input 0" in message


def test_nothing_to_check() -> None:
    with pytest.raises(ValueError, match="both check_forward_ad and check_backward_ad are False"):
        gradcheck(lambda x: x * x, leaf(opwright, 3), check_backward_ad=False)


SECOND = {
    "right": (lambda g, x: g * x * 2.0, True),
    "detached": (lambda g, x: g * (x * 2.0).detach(), "GradcheckError"),
}


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("kind", SECOND)
def test_second_derivatives(kind: str, fast: bool) -> None:
    gradient, expected = SECOND[kind]

    def programme(t: Any) -> Any:
        return t.autograd.gradgradcheck(square(t, gradient).apply, leaf(t, 3), fast_mode=fast)

    assert check(programme) == expected
    assert gradcheck(square(opwright, gradient).apply, leaf(opwright, 3))
    if expected is not True:
        message = failure(lambda: programme(opwright))
        named = "the gradient of input 0 with respect to input 0 of the backward of Square.apply"
        assert f"Jacobian mismatch for {named}" in message and "no gradient for this input" in message


def test_a_backward_that_gives_no_gradient_has_second_derivatives() -> None:
    """The number of elements that are not 0 does not depend on them: no gradient is computed."""
    assert check(lambda t: t.autograd.gradgradcheck(lambda x: x.norm(0), leaf(t, 3))) is True


@pytest.mark.parametrize("returned", [None, (), (None,), [None]])
def test_a_function_returns_tensors(returned: Any) -> None:
    for checked in (opwright.autograd.gradcheck, opwright.autograd.gradgradcheck):
        with pytest.raises(TypeError, match="to return Tensors, but it returned"):
            checked(lambda x: returned, leaf(opwright, 3))


@pytest.mark.parametrize("apart", [False, True])
def test_second_derivatives_with_gradients_given_or_drawn(apart: bool) -> None:
    def programme(t: Any) -> Any:
        wrong = square(t, lambda g, x: g.detach() * x * 2.0)
        given = [
            t.autograd.gradgradcheck(lambda x, y: x * y, (leaf(t, 3), leaf(t, 3, seed=1)), leaf(t, 3, seed=2)),
            t.autograd.gradgradcheck(
                lambda x, y: x * y, (leaf(t, 3), leaf(t, 3, seed=1)), gen_non_contig_grad_outputs=apart
            ),
        ]
        return given, t.autograd.gradgradcheck(wrong.apply, leaf(t, 3), gen_non_contig_grad_outputs=apart)

    assert check(programme) == "GradcheckError"
    assert "with respect to the gradient of output 0" in failure(lambda: programme(opwright))
