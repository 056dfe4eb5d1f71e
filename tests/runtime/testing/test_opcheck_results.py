"""`opcheck`: wrong gradients, fake kernels, layouts and vmap rules, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import seeds
from checked_operators import define, failure, nothing, x

import opwright
from opwright import Tensor
from opwright.library import CustomOpDef, Library, custom_op, get_ctx, opcheck

pytestmark = [
    pytest.mark.usefixtures("operators_are_dropped"),
    pytest.mark.filterwarnings("ignore:the kernel of .* is overridden"),
    pytest.mark.filterwarnings("ignore:.* is defined anew by"),
]
REGISTRATION, FAKE, DYNAMIC = "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"


@pytest.fixture
def lib() -> Iterator[Library]:
    library = Library("results", "DEF")
    yield library
    library._destroy()


def twice(backward: Any, setup_context: Any = None) -> CustomOpDef:
    """x * 2 + y, with this backward."""

    @custom_op("results::twice", mutates_args=())
    def twice(x: Tensor, y: Tensor) -> Tensor:
        return opwright.from_numpy(x.numpy(force=True) * 2 + y.numpy(force=True))

    twice.register_fake(lambda x, y: opwright.empty_like(x))
    twice.register_autograd(backward, setup_context=setup_context)
    return twice


# test_autograd_registration


def test_formula_at_a_backend_key(lib: Library) -> None:
    class Double(opwright.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            return grad * 2

    op = define(lib, "f(Tensor x) -> Tensor", Double.apply, fake=opwright.empty_like)
    said = failure(op, (x(grad=True),), test=REGISTRATION)
    assert "the result requires grad (its grad_fn is DoubleBackward)" in said
    assert "does not have an autograd kernel defined at an autograd key" in said
    assert 'opwright.library.register_autograd("results::f", backward)' in said and "Registered: CPU, Meta" in said
    assert opcheck(op, (x(),))[REGISTRATION] == "SUCCESS"
    lib.impl("f", Double.apply, "Autograd")
    lib.impl("f", lambda x: x * 2, "CPU")
    assert set(opcheck(op, (x(grad=True),)).values()) == {"SUCCESS"}


@pytest.mark.parametrize("key, passes", [("CompositeExplicitAutograd", False), ("CompositeImplicitAutograd", True)])
def test_kernel_made_of_operators(lib: Library, key: str, passes: bool) -> None:
    op = define(lib, "f(Tensor x) -> Tensor", lambda x: x.sin(), key=key)
    assert (opcheck(op, (x(grad=True),), raise_exception=False)[REGISTRATION] == "SUCCESS") is passes


def test_operator_without_formula(lib: Library) -> None:
    op = define(lib, "f(Tensor x) -> Tensor", lambda x: x.detach() * 2, fake=opwright.empty_like)
    assert set(opcheck(op, (x(grad=True),)).values()) == {"SUCCESS"}

    @custom_op("results::g", mutates_args=())
    def g(x: Tensor) -> Tensor:
        return x.clone()

    g.register_fake(opwright.empty_like)
    assert "no autograd formula was registered" in failure(g, (x(grad=True),), only=DYNAMIC)


def test_wrong_number_of_gradients() -> None:
    op = twice(lambda ctx, grad: grad)
    said = failure(op, (x(grad=True), x()), test=REGISTRATION)
    assert "expected 2, got 1" in said
    assert "one for each positional argument, which are 'x', 'y'" in said
    op.register_autograd(lambda ctx, grad: (grad, grad, grad))
    assert "expected 2, got 3" in failure(op, (x(grad=True), x()), test=REGISTRATION)


def test_gradient_of_a_wrong_shape() -> None:
    op = twice(lambda ctx, grad: (grad, grad.reshape(-1)))
    said = failure(op, (x(grad=True), x(grad=True)), test=REGISTRATION)
    assert "at index 1 - got [12] but expected shape compatible with [3, 4], for argument 'y'" in said


def test_gradient_that_is_no_tensor() -> None:
    op = twice(lambda ctx, grad: (2.0, None))
    assert "expected a Tensor or None, but got float, for argument 'x'" in failure(
        op, (x(grad=True), x()), test=REGISTRATION
    )


def test_backward_that_writes() -> None:
    def saves(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])

    op = twice(lambda ctx, grad: (grad.mul_(2), None))
    said = failure(op, (x(grad=True), x()), test=REGISTRATION)
    assert "the backward pass of results::twice writes to the gradient of the result" in said

    def backward(ctx: Any, grad: Tensor) -> Any:
        ctx.saved_tensors[0].numpy(force=True)[...] = 0
        return grad * 2, None

    op.register_autograd(backward, setup_context=saves)
    assert "writes to argument 'x'" in failure(op, (x(grad=True), x()), test=REGISTRATION)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        (lambda grad: grad.view(-1).view(grad.shape) * 2, "transposed gradients, raises RuntimeError: view"),
        (
            lambda grad: opwright.from_numpy(grad.numpy().ravel(order="K").reshape(tuple(grad.shape)) * 2),
            "transposed gradients, gives another gradient of argument 'x' than for contiguous ones: take gradients",
        ),
    ],
)
def test_backward_that_expects_contiguous_gradients(formula: Any, message: str) -> None:
    said = failure(twice(lambda ctx, grad: (formula(grad), None)), (x(2, 3, grad=True), x(2, 3)), test=REGISTRATION)
    assert f"the backward pass of results::twice, given {message}" in said


def test_backward_that_depends_on_what_it_changes() -> None:
    count = [0]

    def backward(ctx: Any, grad: Tensor) -> Any:
        count[0] += 1
        return grad * count[0], None

    said = failure(twice(backward), (x(grad=True), x()), test=REGISTRATION)
    assert "the backward pass of results::twice gives another gradient of argument 'x' when it runs again" in said
    said = failure(twice(backward), (x(grad=True), x()), test=DYNAMIC)
    assert "the gradient of argument 'x' is another one where the call and its backward pass were traced" in said

    def on_ctx(ctx: Any, grad: Tensor) -> Any:
        ctx.runs = getattr(ctx, "runs", 0) + 1
        return grad * ctx.runs, None

    assert "again of the same call" in failure(twice(on_ctx), (x(grad=True), x()), only=REGISTRATION)


def test_backward_that_takes_the_samples_size_for_granted() -> None:
    op = twice(lambda ctx, grad: (opwright.full((3, 4), 2.0), grad))
    said = failure(op, (x(grad=True), x()), only=REGISTRATION)
    assert "runs with the sizes of the sample, and not with argument 'x' of shape (6, 8)" in said


def test_gradient_of_an_argument_that_was_none() -> None:
    @custom_op("results::maybe", mutates_args=())
    def maybe(x: Tensor, bias: Tensor | None, more: list[Tensor | None]) -> Tensor:
        return x.clone()

    maybe.register_fake(lambda x, bias, more: opwright.empty_like(x))
    maybe.register_autograd(lambda ctx, grad: (grad, grad, [None, None]))
    assert set(opcheck(maybe, (x(grad=True), x(), [x(), None])).values()) == {"SUCCESS"}
    said = failure(maybe, (x(grad=True), None, [x(), None]), test=REGISTRATION)
    assert "returned a gradient different from None at position 2, but argument 'bias' was None" in said
    maybe.register_autograd(lambda ctx, grad: (grad, None, [grad, grad]))
    said = failure(maybe, (x(grad=True), None, [x(), None]), test=REGISTRATION)
    assert "but argument 'more[1]' was None: return None there" in said


def test_write_to_a_leaf_that_requires_grad() -> None:
    @custom_op("results::fill_", mutates_args={"x"})
    def fill_(x: Tensor) -> None:
        x.numpy(force=True).fill(7)

    said = failure(fill_, (x(grad=True),), test=REGISTRATION)
    assert "results::fill_ writes to argument 'x', whose gradient would be lost: a leaf Variable that requires" in said


# test_faketensor


def named(fake: Any) -> CustomOpDef:
    @custom_op("results::named", mutates_args=())
    def named(x: Tensor) -> tuple[Tensor, Tensor]:
        return x.clone(), x[0].clone()

    if fake is not None:
        named.register_fake(fake)
    return named


@pytest.mark.parametrize(
    "fake, said",
    [
        (
            lambda x: (x.new_empty(3, 5), x[0].clone()),
            "Shape mismatch in result 0, dimension 1: the fake kernel says (3, 5), the operator returned (3, 4)",
        ),
        (
            lambda x: (x.clone(), x.new_empty(3)),
            "Shape mismatch in result 1, dimension 0: the fake kernel says (3,), the operator returned (4,)",
        ),
        (
            lambda x: (x.clone(), x.clone()),
            "Rank mismatch in result 1: the fake kernel says 2, of (3, 4), the operator returned 1, of (4,)",
        ),
        (
            lambda x: (x.t().contiguous().t(), x[0].clone()),
            "Stride mismatch in result 0, dimension 0: the fake kernel says (1, 3), the operator returned (4, 1)",
        ),
        (
            lambda x: (x.clone(), x[0].clone().double()),
            "Dtype mismatch in result 1: the fake kernel says float64, the operator returned float32",
        ),
        (
            lambda x: (x.clone(), x.new_empty(4, device="cuda")),
            "Device mismatch in result 1: the fake kernel says cuda",
        ),
        (lambda x: (x.clone(), None), "must return Tensor as result 1, but returned None"),
        (
            lambda x: (x, x[0].clone()),
            "result 0 of the fake kernel shares memory with argument 'x', that of the operator with nothing",
        ),
        (lambda x: (x.clone(),), "must return 2 values"),
    ],
)
def test_wrong_fake_kernels(fake: Any, said: str) -> None:
    found = failure(named(fake), (x(),), test=FAKE)
    assert said in found


@pytest.mark.parametrize(
    "fake, said",
    [
        (
            lambda x: (x.new_empty(3, 4), x[0].clone()),
            "Shape mismatch in result 0, dimension 0: the fake kernel says (3, 4",
        ),
        (lambda x: (x.clone(), x.new_empty(4)), "Shape mismatch in result 1, dimension 0: the fake kernel says (4,)"),
    ],
)
def test_fake_that_takes_the_samples_size_for_granted(fake: Any, said: str) -> None:
    found = failure(named(fake), (x(),), test=FAKE)
    assert "is wrong with other sizes than the sample's, argument 'x' of shape (6, 8): " + said in found


def test_sizes_among_numbers_change_too(lib: Library) -> None:
    op = define(
        lib,
        "f(Tensor x, SymInt[] size) -> Tensor",
        lambda x, size: x.clone().reshape(size),
        fake=lambda x, size: x.new_empty(4, 3),
    )
    assert "of shape (6, 8): Shape mismatch in the result" in failure(op, (x(), [4, 3]), test=FAKE)


def test_wrong_with_symbolic_sizes_alone() -> None:
    op = named(lambda x: (x.clone(), x.new_empty(4 if isinstance(x.shape[1], int) else 4 * x.shape[0])))
    said = failure(op, (x(),), test=FAKE)
    assert (
        "is wrong, with symbolic sizes: Shape mismatch in result 1, dimension 0: the fake kernel says (4*s0,)" in said
    )


def test_missing_fake_kernel(lib: Library) -> None:
    wanted = '    @opwright.library.register_fake("{}")\n    def _({}): return opwright.empty_like(x)'
    assert wanted.format("results::named", "x") in failure(named(None), (x(),), test=FAKE)
    op = define(lib, "f(Tensor x, int a, *, int b=2) -> Tensor", lambda x, a, *, b=2: x * a * b)
    assert wanted.format("results::f", "x, a, *, b") in failure(op, (x(), 3), test=FAKE)
    assert "results::f has no fake kernel" in failure(op, (x(), 3), test=DYNAMIC)


def test_fake_kernel_that_raises_or_reads_data() -> None:
    assert "has no attribute 'nothing'" in failure(named(lambda x: x.nothing()), (x(),), test=FAKE)
    op = named(lambda x: (x.clone(), x.new_empty(int(x.sum().item()))))
    assert isinstance(opcheck(op, (x(),), raise_exception=False)[FAKE], opwright.DataDependentOutputError)


def test_size_below_its_minimum() -> None:
    @custom_op("results::chosen", mutates_args=())
    def chosen(x: Tensor) -> Tensor:
        return opwright.from_numpy(x.numpy()[x.numpy() > 0])

    @chosen.register_fake
    def _(x: Tensor) -> Tensor:
        return x.new_empty(get_ctx().new_dynamic_size(min=2))

    assert opcheck(chosen, (opwright.tensor([1.0, 2.0, -3.0]),))
    said = failure(chosen, (opwright.tensor([1.0, -2.0, -3.0]),), test=FAKE)
    assert (
        "a size of results::chosen, new_dynamic_size(min=2) in the fake kernel, is 1 in the operator's result" in said
    )


def test_wrong_size_of_a_resized_argument(lib: Library) -> None:
    op = define(lib, "f(Tensor(a!) x) -> ()", lambda x: nothing(x.resize_(7)), fake=lambda x: nothing(x.resize_(6)))
    assert "in argument 'x', dimension 0: the fake kernel says (6,)" in failure(op, (x(3),), test=FAKE)


# test_aot_dispatch_dynamic


def test_layout_taken_for_granted(lib: Library) -> None:
    def kernel(x: Tensor) -> Tensor:
        return opwright.from_numpy(np.array(x.untyped_storage().flat()[: x.numel()]).reshape(x.shape))

    op = define(lib, "f(Tensor x) -> Tensor", kernel, fake=lambda x: x.new_empty(x.shape))
    assert set(opcheck(op, (x(),)).values()) == {"SUCCESS"}
    said = failure(op, (x().t(),), only=DYNAMIC)
    assert "the result depends on more than the values of its arguments" in said and "Mismatched elements" in said


def test_tolerances(lib: Library) -> None:
    calls = iter(range(1000))
    op = define(lib, "f(Tensor x) -> Tensor", lambda x: x + 1e-3 * next(calls), fake=opwright.empty_like)
    assert "Greatest absolute difference" in failure(op, (x(),), only=DYNAMIC)
    assert opcheck(op, (x(),), atol=0.1, rtol=0.1)


def test_drawn_numbers(lib: Library) -> None:
    op = define(lib, "f(Tensor x) -> Tensor", opwright.rand_like, fake=opwright.empty_like)
    assert opcheck(op, (x(),))

    numbers = seeds.numpy_generator(0)  # not the generator that is put back
    lib.define("g(Tensor x) -> Tensor", tags=opwright.Tag.nondeterministic_seeded)
    lib.impl("g", lambda x: opwright.from_numpy(numbers.random(x.shape)), "CPU")
    lib.register_fake("g", lambda x: x.new_empty(x.shape, dtype=opwright.float64))
    assert opcheck("results::g", (x(),))


def test_backward_that_reads_data() -> None:
    def backward(ctx: Any, grad: Tensor) -> Any:
        return opwright.from_numpy(grad.numpy(force=True) * 2), None

    said = failure(twice(backward), (x(grad=True), x()), only=DYNAMIC)
    assert "the backward pass of results::twice reads data, and cannot run without" in said


def test_backward_that_takes_data_with_it_past_the_graph() -> None:
    kept: list[Tensor] = []

    def backward(ctx: Any, grad: Tensor) -> Any:
        if not opwright.fake.is_fake(grad):
            kept.append(grad * 3)
        return (kept[-1] if not opwright.fake.is_fake(grad) else grad), grad

    said = failure(twice(backward), (x(grad=True), x(grad=True)), only=DYNAMIC)
    assert "the gradient of argument 'x' is another one where the call and its backward pass were traced" in said


@pytest.mark.parametrize("test", [DYNAMIC, "test_aot_dispatch_static"])
def test_formulas_of_views_writes_and_sizes_pass(test: str) -> None:
    @custom_op("results::mixed", mutates_args=())
    def mixed(x: Tensor) -> Tensor:
        return x.detach() * x.shape[0]

    mixed.register_fake(opwright.empty_like)

    def backward(ctx: Any, grad: Tensor) -> Any:
        made = opwright.zeros(grad.shape[1], grad.shape[0])
        made.t()[1:] = grad[1:] * grad.shape[0]
        made.t()[0].copy_(grad[0] * grad.shape[0])
        return made.t() + opwright.tensor(0.0)

    mixed.register_autograd(backward)
    for given in (x(grad=True), x(4, 3, grad=True).t()):
        assert set(opcheck(mixed, (given,), test_utils=test).values()) == {"SUCCESS"}


def test_gradient_that_is_there_with_data_alone() -> None:
    def backward(ctx: Any, grad: Tensor) -> Any:
        return (None if opwright.fake.is_fake(grad) else grad), grad

    said = failure(twice(backward), (x(grad=True), x(grad=True)), only=DYNAMIC)
    assert "the gradient of argument 'x' is there only in a backward pass with data" in said


# test_vmap


def with_rule(rule: Any) -> CustomOpDef:
    @custom_op("results::scaled", mutates_args=())
    def scaled(x: Tensor, ys: list[Tensor], factor: float) -> tuple[Tensor, Tensor]:
        return x * factor, x + ys[0] + ys[1]

    scaled.register_fake(lambda x, ys, factor: (x.clone(), x.clone()))
    scaled.register_vmap(rule)
    return scaled


def right(info: Any, in_dims: Any, x: Tensor, ys: list[Tensor], factor: float) -> Any:
    moved = [
        each.unsqueeze(0) if dim is None else each.movedim(dim, 0)
        for each, dim in zip([x, *ys], [in_dims[0], *(in_dims[1] or [None, None])], strict=True)
    ]
    first = moved[0] * factor
    return (first, sum(moved)), (None if in_dims[0] is None else 0, 0)


def test_vmap_rule() -> None:
    def unbatched(*args: Any) -> Any:
        (first, second), (dim, _) = right(*args)
        return (first[0] if dim is None else first, second), (dim, 0)

    args = x(), [x(), x()], 2.0
    assert opcheck(with_rule(unbatched), args)["test_vmap"] == "SUCCESS"


@pytest.mark.parametrize(
    "rule, said",
    [
        (
            lambda info, dims, x, ys, factor: ((x * factor, x), (0, 0)),
            "a batch of argument 'x' in dimension [0]: sample 0 is not",
        ),
        (lambda info, dims, x, ys, factor: (x, x, 0), "it returns (output, out_dims)"),
        (lambda info, dims, x, ys, factor: ((x, x), (5, 0)), "out_dims is 5 for an output of shape"),
        (lambda info, dims, x, ys, factor: ((x[:1], x), (0, 0)), "its dimension 0 is no batch of 2"),
    ],
)
def test_wrong_vmap_rules(rule: Any, said: str) -> None:
    assert said in failure(with_rule(rule), (x(), [x(), x()], 2.0), only="test_vmap")
