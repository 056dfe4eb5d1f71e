"""`register_autograd`: what formulas see, what they may return, and what happens without one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from known_versions import OLDER

import opwright
from opwright import Tensor
from opwright.autograd import forward_ad
from opwright.library import CustomOpDef, Library, custom_op, register_autograd

pytestmark = pytest.mark.usefixtures("operators_are_dropped")


@pytest.fixture
def x() -> Tensor:
    return opwright.tensor([1.0, 2.0]).requires_grad_()


@pytest.fixture
def mul() -> CustomOpDef:
    @custom_op("made::mul", mutates_args=())
    def mul(x: Tensor, y: Tensor, k: int = 1) -> Tensor:
        return opwright.from_numpy(x.numpy() * y.numpy() * k)

    return mul


def save(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs[:2])
    ctx.k = inputs[2]


def product_rule(ctx: Any, grad: Tensor) -> Any:
    x, y = ctx.saved_tensors
    return grad * y * ctx.k, grad * x * ctx.k, None


def grad_of(result: Tensor, *inputs: Tensor, **options: Any) -> Any:
    return opwright.autograd.grad(result, inputs, opwright.ones_like(result), **options)


def test_without_a_formula_the_forward_works_and_the_backward_says_so(x: Tensor, mul: CustomOpDef) -> None:
    y = mul(x, x, 2)
    assert y.tolist() == [2, 8] and y.requires_grad
    with pytest.raises(RuntimeError, match=r"made::mul: a backward pass .* no autograd formula was registered"):
        y.backward(opwright.ones(2))


def test_results_that_cannot_have_a_gradient_require_none(x: Tensor) -> None:
    @custom_op("made::f", mutates_args=())
    def f(x: Tensor) -> tuple[Tensor, Tensor, int]:
        return x.clone(), x.long(), 3

    for _ in range(2):
        floats, ints, number = f(x)
        assert (floats.requires_grad, ints.requires_grad, number) == (True, False, 3)
        f.register_autograd(lambda ctx, a, b, c: a)
    (grad,) = grad_of(floats, x)
    assert grad.tolist() == [1, 1]


def test_the_context_is_made_where_calls_are_recorded_alone(x: Tensor, mul: CustomOpDef) -> None:
    calls: list[Any] = []
    mul.register_autograd(product_rule, setup_context=lambda ctx, inputs, output: calls.append(ctx))
    mul(x.detach(), x.detach())
    with opwright.no_grad():
        assert not mul(x, x).requires_grad
    assert calls == []
    mul(x, x.detach())
    assert calls[0].needs_input_grad == (True, False, False)


def test_gradients(x: Tensor, mul: CustomOpDef) -> None:
    mul.register_autograd(product_rule, setup_context=save)
    y = opwright.tensor([5.0, 7.0]).requires_grad_()
    first, second = grad_of(mul(x, y, 2), x, y)
    assert (first.tolist(), second.tolist()) == ([10, 14], [2, 4])
    assert opwright.autograd.gradcheck(lambda a, b: mul(a, b, 3), (x.double(), y.double()))


def test_gradients_of_gradients(x: Tensor, mul: CustomOpDef) -> None:
    mul.register_autograd(product_rule, setup_context=save)
    (first,) = grad_of(mul(x, x), x, create_graph=True)
    (second,) = grad_of(first, x)
    assert (first.tolist(), second.tolist()) == ([2, 4], [2, 2])


def test_a_second_backward_needs_a_graph_that_was_kept(x: Tensor, mul: CustomOpDef) -> None:
    mul.register_autograd(product_rule, setup_context=save)
    y = mul(x, x)
    y.backward(opwright.ones(2), retain_graph=True)
    y.backward(opwright.ones(2))
    assert x.grad is not None and x.grad.tolist() == [4, 8]
    with pytest.raises(RuntimeError, match=r"backward through the graph a second time.*mulBackward"):
        y.backward(opwright.ones(2))


def test_one_input_takes_one_value_and_several_a_tuple(x: Tensor, mul: CustomOpDef) -> None:
    @custom_op("made::double", mutates_args=())
    def double(x: Tensor) -> Tensor:
        return x + x.clone()

    for found in (lambda ctx, grad: grad * 2, lambda ctx, grad: (grad * 2,)):
        double.register_autograd(found)
        assert grad_of(double(x), x)[0].tolist() == [2, 2]
    mul.register_autograd(lambda ctx, grad: (grad, grad))  # the one left out has a default, and is no Tensor
    assert grad_of(mul(x, x), x)[0].tolist() == [2, 2]


@pytest.mark.parametrize(
    "grads, message",
    [
        (
            lambda grad: grad,
            r"gradients \(expected 2 or 3, got 1\).* 'x', 'y', 'k', or .* 2 that .*\nIn backward of made::mul",
        ),
        (lambda grad: (grad,) * 4, r"incorrect number of gradients \(expected 2 or 3, got 4\)"),
        (
            lambda grad: (grad, grad, grad),
            "different from None at position 3, but argument 'k' is not a Tensor but SymInt: return",
        ),
        (lambda grad: (1, None, None), "expected a Tensor or None, but got int, for argument 'x'"),
        (
            lambda grad: (None, opwright.ones(3), None),
            r"index 1 - got \[3\] but expected shape compatible with \[2\], for argument 'y'",
        ),
    ],
)
def test_wrong_gradients(x: Tensor, mul: CustomOpDef, grads: Callable[[Tensor], Any], message: str) -> None:
    mul.register_autograd(lambda ctx, grad: grads(grad))
    with pytest.raises(RuntimeError, match=message):
        grad_of(mul(x, x), x)


COUNTED = "(Tensor x, int a=1, Tensor? y=None, *, int k=3) -> Tensor"
CALLS: list[tuple[dict[str, Any], set[int]]] = [  # and the counts of gradients that there may be
    ({}, {1, 3}), ({"a": 1}, {1, 3}), ({"a": 2}, {2, 3}), ({"y": None}, {1, 3}), ({"y": "ones"}, {3}),
    ({"a": 1, "y": "ones"}, {3}), ({"a": 2, "y": None, "k": 4}, {2, 3}),
]  # fmt: skip


def counts_taken(library: Any, keywords: dict[str, Any]) -> set[int]:
    """Return how many gradients a backward function may return of a call."""
    found = set()
    for count in range(1, 5):
        with library.library._scoped_library("counted", "DEF") as lib:
            lib.define(f"f{COUNTED}")
            lib.impl("f", lambda x, *args, **kwargs: x.clone(), "CPU")
            library.library.register_autograd(
                "counted::f", lambda ctx, grad, n=count: (grad, *(None,) * (n - 1)), lib=lib
            )
            given = {name: library.ones(2) if value == "ones" else value for name, value in keywords.items()}
            result = library.ops.counted.f(library.ones(2, requires_grad=True), **given)
            try:
                result.sum().backward()
            except RuntimeError as error:
                assert "returned an incorrect number of gradients" in str(error)
            else:
                found.add(count)
    return found


@pytest.mark.parametrize(("keywords", "counts"), CALLS)
def test_counts_of_gradients(keywords: dict[str, Any], counts: set[int]) -> None:
    """One for each argument that was given, or for each positional one."""
    assert counts_taken(opwright, keywords) == counts


@pytest.mark.oracle
@pytest.mark.parametrize(("keywords", "counts"), CALLS)
def test_counts_of_gradients_are_pytorchs(keywords: dict[str, Any], counts: set[int]) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
    theirs = counts_taken(torch, keywords)
    assert theirs == counts or OLDER.covers("register_autograd", f"counts {theirs}")


def test_a_list_is_no_tuple_of_gradients(x: Tensor, mul: CustomOpDef) -> None:
    mul.register_autograd(lambda ctx, grad: [grad, grad, None])
    with pytest.raises(RuntimeError, match=r"returned a list, .* return one gradient, or a tuple"):
        grad_of(mul(x, x), x)


def test_functions_that_could_not_be_called(mul: CustomOpDef) -> None:
    def backward(ctx: Any, grad: Tensor) -> None: ...

    called = r"is called as setup_context\(ctx, inputs, output\), but takes \(ctx, x\): .*\nIt is .*autograd.py:\d+"
    with pytest.raises(TypeError, match=f"setup_context of made::mul {called}"):
        mul.register_autograd(backward, setup_context=lambda ctx, x: None)
    with pytest.raises(TypeError, match=r"backward of made::mul is called as backward\(ctx, grad\), but takes \(ctx\)"):
        mul.register_autograd(lambda ctx: None)
    with pytest.raises(TypeError, match=r"jvp of made::mul is called as jvp\(ctx, x_tangent, y_tangent, k_tangent\)"):
        mul.register_autograd(backward, jvp=backward)
    with pytest.raises(TypeError, match="backward of made::mul must be a function, got int 3"):
        mul.register_autograd(3)  # type: ignore[arg-type]


def test_what_setup_context_did_not_set(x: Tensor, mul: CustomOpDef) -> None:
    mul.register_autograd(lambda ctx, grad: (grad * ctx.k, None, None))
    with pytest.raises(AttributeError, match=r"ctx of made::mul has no attribute 'k': .* \(ctx.k = ...\)"):
        grad_of(mul(x, x), x)


def test_a_gradient_that_broadcasts_is_summed(x: Tensor, mul: CustomOpDef) -> None:
    mul.register_autograd(lambda ctx, grad: (opwright.ones(3, 2), None, None))
    assert grad_of(mul(x, x.detach()), x)[0].tolist() == [3, 3]


def test_gradients_that_are_not_defined(x: Tensor) -> None:
    @custom_op("made::f", mutates_args=())
    def f(x: Tensor, y: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        return x + 1, x + 2, x + 3

    seen: list[Any] = []

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_non_differentiable(output[2])
        ctx.set_materialize_grads(len(seen) == 0)

    def backward(ctx: Any, *grads: Any) -> Any:
        seen.append(grads)
        return grads[0], None

    f.register_autograd(backward, setup_context=setup)
    for expected in ([0, 0], None):
        first, _, third = f(x)
        assert not third.requires_grad
        grad_of(first, x)
        assert (None if seen[-1][1] is None else seen[-1][1].tolist()) == expected


def test_results_may_be_saved_without_a_cycle(x: Tensor) -> None:
    import gc
    import weakref

    @custom_op("made::exp", mutates_args=())
    def exp(x: Tensor) -> Tensor:
        return opwright.from_numpy(np.exp(x.numpy()))

    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (result,) = ctx.saved_tensors
        return grad * result

    exp.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output))
    y = exp(x)
    (first,) = grad_of(y, x, create_graph=True)
    (second,) = grad_of(first, x)
    assert opwright.allclose(second, x.exp())
    del first, second
    node = weakref.ref(y)
    gc.disable()
    try:
        del y
        assert node() is None
    finally:
        gc.enable()


def test_keyword_only_arguments(x: Tensor) -> None:
    @custom_op("made::f", mutates_args=())
    def f(x: Tensor, *, scale: float = 2.0, mask: Tensor) -> Tensor:
        return x * scale * mask

    seen: list[Any] = []

    def setup(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
        ctx.scale = keyword_only_inputs["scale"]
        seen[:] = [inputs, keyword_only_inputs, ctx.needs_input_grad]

    f.register_autograd(lambda ctx, grad: grad * ctx.scale, setup_context=setup)
    mask = opwright.ones(2)
    assert grad_of(f(x, mask=mask), x)[0].tolist() == [2, 2]
    assert seen == [(x,), {"scale": 2.0, "mask": mask}, (True,)]
    with pytest.raises(RuntimeError, match="argument 'mask' requires grad, but is keyword-only"):
        f(x, mask=mask.requires_grad_())


@pytest.mark.parametrize(
    "schema, mutates, tags, message",
    [
        ("(Tensor(a!) x) -> ()", ["x"], (), "non-functional operator made::f.*writes to arguments"),
        ("(Tensor x) -> ()", [], (), "non-functional operator made::f.*returns nothing"),
        ("(Tensor(a) x, Tensor y) -> Tensor(a)", [], (), "non-functional operator made::f.*returns views"),
        ("(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", ["out"], "out", "Out variants do not support autograd"),
    ],
)
def test_operators_that_cannot_have_a_formula(schema: str, mutates: list[str], tags: Any, message: str) -> None:
    op = custom_op("made::f", lambda *args, **kwargs: None, mutates_args=mutates, schema=schema, tags=tags)
    with pytest.raises(RuntimeError, match=message):
        op.register_autograd(lambda ctx, grad: grad)


def test_a_view_operator_may_have_one(x: Tensor) -> None:
    library = Library("made", "FRAGMENT")
    library.define("first(Tensor(a) x) -> Tensor(a)")
    library.impl("first", lambda x: x[:1], "CPU")
    register_autograd("made::first", lambda ctx, grad: opwright.cat([grad, opwright.zeros(1)]), lib=library)
    result = opwright.ops.made.first(x)
    assert result._base is x and grad_of(result, x)[0].tolist() == [1, 0]
    library.destroy()


def test_an_operator_of_a_library_may_have_one(x: Tensor) -> None:
    library = Library("made", "FRAGMENT")
    library.define("square(Tensor x, *, bool negative=False) -> Tensor")
    library.impl("square", lambda x, *, negative=False: -x * x if negative else x * x, "CPU")
    formula = Library("made", "IMPL")

    def setup(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.sign = -1 if keyword_only_inputs["negative"] else 1

    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 2 * x * grad * ctx.sign

    register_autograd(opwright.ops.made.square.default, backward, setup_context=setup, lib=formula)
    assert grad_of(opwright.ops.made.square(x), x)[0].tolist() == [2, 4]
    assert grad_of(opwright.ops.made.square(x, negative=True), x)[0].tolist() == [-2, -4]
    formula.destroy()
    library.destroy()


def test_the_newest_formula_serves(x: Tensor, mul: CustomOpDef) -> None:
    mul.register_autograd(product_rule, setup_context=save)
    before = mul(x, x)
    mul.register_autograd(lambda ctx, grad: (grad * 0, None, None))
    assert grad_of(mul(x, x), x)[0].tolist() == [0, 0]
    assert grad_of(before, x)[0].tolist() == [2, 4]


def test_views_and_writes_around_a_call(x: Tensor, mul: CustomOpDef) -> None:
    mul.register_autograd(product_rule, setup_context=save)
    y = x * 1
    assert grad_of(mul(y[:1], y[1:]), x)[0].tolist() == [2, 1]
    z = mul(y, y)
    z.mul_(2)
    assert grad_of(z, x)[0].tolist() == [4, 8]
    z = mul(y, y)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        grad_of(z, x)


def test_a_tangent_is_not_dropped_where_there_is_no_jvp(x: Tensor, mul: CustomOpDef) -> None:
    mul.register_autograd(product_rule, setup_context=save)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x.detach(), opwright.ones(2))
        with pytest.raises(NotImplementedError, match=r"made::mul.* has no forward formula.*has a tangent"):
            mul(dual, dual)


def test_forward_mode(x: Tensor, mul: CustomOpDef) -> None:
    def jvp(ctx: Any, x_t: Tensor | None, y_t: Tensor | None, k_t: None) -> Tensor:
        x, y = ctx.saved_tensors
        assert k_t is None
        terms = [other * tangent for other, tangent in ((y, x_t), (x, y_t)) if tangent is not None]
        return sum(terms) * ctx.k  # type: ignore[return-value]

    mul.register_autograd(product_rule, setup_context=save, jvp=jvp)
    y = opwright.tensor([5.0, 7.0])
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x.detach(), opwright.tensor([1.0, 10.0]))
        assert forward_ad.unpack_dual(mul(dual, y, 2)).tangent.tolist() == [10, 140]
        assert forward_ad.unpack_dual(mul(dual, dual, 2)).tangent.tolist() == [4, 80]
    assert opwright.autograd.gradcheck(mul, (x.double(), y.double().requires_grad_()), check_forward_ad=True)
    mul.register_autograd(product_rule, setup_context=save)
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match="no forward formula"):
        mul(forward_ad.make_dual(x.detach(), y), y)
