"""`opcheck`: operators that keep to their contracts pass, each broken one fails with what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from checked_operators import define, failure, nothing, x

import opwright
from opwright import Tensor
from opwright.errors import OpCheckError
from opwright.library import Library, custom_op, get_ctx, opcheck

pytestmark = pytest.mark.filterwarnings("ignore:the kernel of .* is overridden")

ALL = {"test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"}


@pytest.fixture
def lib() -> Iterator[Library]:
    library = Library("checked", "DEF")
    yield library
    library._destroy()


def passes(op: Any, args: Any, kwargs: Any = None) -> bool:
    results = opcheck(op, args, kwargs)
    return set(results) == ALL and set(results.values()) == {"SUCCESS"}


# What passes


def test_custom_operator_with_everything() -> None:
    @custom_op("checked::mul", mutates_args=())
    def mul(x: Tensor, y: float) -> Tensor:
        return opwright.from_numpy(x.numpy(force=True) * y)

    mul.register_fake(lambda x, y: opwright.empty_like(x))
    mul.register_autograd(
        lambda ctx, grad: (grad * ctx.y, None),
        setup_context=lambda ctx, inputs, output: setattr(ctx, "y", inputs[1]),
    )
    for args in [(x(), 3.14), (x(2, 3, 4).transpose(0, 2), 1.0), (x(1, 10, grad=True), 1.2), (x(0, 3, grad=True), 2.0)]:
        assert passes(mul, args)
    assert passes(mul, (np.ones(3), 2.0))  # arrays are taken as Tensors
    assert passes(opwright.ops.checked.mul, (x(), 2.0))
    assert passes(opwright.ops.checked.mul.default, (x(),), {"y": 2.0})
    assert passes("checked::mul", (x(), 2.0))


def test_arguments_are_copied_and_never_written() -> None:
    @custom_op("checked::fill_", mutates_args={"x"})
    def fill_(x: Tensor) -> None:
        x.numpy()[...] = 7

    given = x()
    before = given.tolist()
    assert passes(fill_, (given,))
    assert passes(fill_, (given[:, ::2],))
    assert given.tolist() == before and given._version == 0


def test_in_place_and_out_operators() -> None:
    @custom_op("checked::sin_", mutates_args={"x"}, tags=opwright.Tag.inplace)
    def sin_(x: Tensor) -> Tensor:
        np.sin(x.numpy(), out=x.numpy())
        return x

    @custom_op("checked::sin_out", mutates_args={"out"}, tags=opwright.Tag.out)
    def sin_out(x: Tensor, *, out: Tensor) -> Tensor:
        np.sin(x.numpy(), out=out.numpy())
        return out

    assert passes(sin_, (x(),))
    assert passes(sin_out, (x(),), {"out": x()})


def test_nan_equals_nan() -> None:
    @custom_op("checked::log", mutates_args=())
    def log(x: Tensor) -> Tensor:
        with np.errstate(all="ignore"):
            return opwright.from_numpy(np.log(x.numpy()))

    log.register_fake(lambda x: opwright.empty_like(x))
    assert passes(log, (opwright.tensor([-1.0, 0.0, float("nan")]),))


def test_results_whose_size_depends_on_data() -> None:
    @custom_op("checked::nonzero", mutates_args=())
    def nonzero(x: Tensor) -> Tensor:
        return opwright.from_numpy(np.stack(np.nonzero(x.numpy()), axis=1))

    @nonzero.register_fake
    def _(x: Tensor) -> Tensor:
        return x.new_empty((get_ctx().new_dynamic_size(), x.dim()), dtype=opwright.int64)

    assert passes(nonzero, (opwright.tensor([[1.0, 0.0], [2.0, 3.0]]),))
    assert passes(nonzero, (opwright.zeros(2, 2),))

    @custom_op("checked::padded", mutates_args=())
    def padded(x: Tensor) -> Tensor:
        return x.new_zeros((x.size(0), 18))

    @padded.register_fake
    def _(x: Tensor) -> Tensor:
        return opwright.empty(x.shape[0], get_ctx().new_dynamic_size())

    assert passes(padded, (opwright.zeros(10, 20),))


def test_the_same_tensor_twice(lib: Library) -> None:
    def kernel(x: Tensor, y: Tensor) -> None:
        x.numpy()[...] += y.numpy()

    define(lib, "f(Tensor(a!) x, Tensor y) -> ()", kernel, fake=lambda x, y: None)
    same = x()
    assert passes(opwright.ops.checked.f.default, (same, same))


@pytest.mark.parametrize(
    "name, args, kwargs",
    [
        ("add.Tensor", lambda: (x(grad=True), x(4)), {}),
        ("relu_", lambda: (x(),), {}),
        ("zero_", lambda: (opwright.zeros(3),), {}),
        ("mul_.Tensor", lambda: (x(grad=True).clone(), x(4, grad=True)), {}),
        ("t", lambda: (x(grad=True),), {}),
        ("reshape", lambda: (x().t(), [12]), {}),
        ("nonzero", lambda: (x(),), {}),
        ("split.Tensor", lambda: (x(grad=True), 2), {}),
        ("bernoulli_.float", lambda: (x(), 0.5), {}),
        ("max.dim", lambda: (x(grad=True), 0), {}),
        ("mul.out", lambda: (x(), x()), {"out": opwright.empty(3, 4)}),
        ("cat", lambda: ([x(grad=True), x()],), {}),
    ],
)
def test_operators_of_generated_packages(name: str, args: Any, kwargs: dict[str, Any]) -> None:
    assert passes(f"aten::{name}" if "." in name else getattr(opwright.ops.aten, name).default, args(), kwargs)


# What is called wrongly


def test_wrong_calls(lib: Library) -> None:
    op = define(lib, "f(Tensor x) -> Tensor", lambda x: x.clone(), fake=opwright.empty_like)
    for wrong in (np.sin, "no name", 3, op.__call__):
        with pytest.raises(ValueError, match="opcheck expects an operator"):
            opcheck(wrong, (x(),))
    with pytest.raises(ValueError, match=r"'test_everything' is no test; there are test_schema, test_autograd_regi"):
        opcheck(op, (x(),), test_utils="test_everything")
    with pytest.raises(ValueError, match="both be given"):
        opcheck(op, (x(),), rtol=1e-3)
    with pytest.raises(RuntimeError, match=r"aten::add has the overloads Tensor, .*: give it one of them"):
        opcheck(opwright.ops.aten.add, (x(), x()))
    with pytest.raises(opwright.DispatchError, match="checked::g"):
        opcheck("checked::g", (x(),))
    assert opcheck(op, (x(),), test_utils="test_schema") == {"test_schema": "SUCCESS"}
    assert set(opcheck(op, (x(),), test_utils="ALL")) == ALL | {"test_aot_dispatch_static", "test_vmap"}
    assert list(opcheck(op, (x(),), test_utils=["test_faketensor", "test_schema"])) == [
        "test_faketensor",
        "test_schema",
    ]


def test_the_error_says_which_test_failed_and_is_caused_by_the_tests_own(lib: Library) -> None:
    op = define(lib, "f(Tensor x) -> Tensor", lambda x: x.clone(), fake=lambda x: x.new_empty(2))
    with pytest.raises(
        OpCheckError, match=r"^opcheck\(checked::f\): test_faketensor failed: the fake kernel"
    ) as caught:
        opcheck(op, (x(),))
    assert isinstance(caught.value.__cause__, opwright.errors.ContractError)
    with pytest.raises(OpCheckError, match="is missing a value for argument 'x'"):
        opcheck(op, ())


def test_tensors_without_data_have_nothing_to_compare(lib: Library) -> None:
    op = define(lib, "f(Tensor x) -> Tensor", lambda x: x.clone(), fake=lambda x: x.new_empty(2))
    assert passes(op, (opwright.empty(3, device="meta"),))


# test_schema


def test_undeclared_write(lib: Library) -> None:
    def kernel(x: Tensor, y: Tensor) -> Tensor:
        x.numpy()[...] = 1
        y.numpy()[...] = 2
        return x + y

    op = define(lib, "f(Tensor x, Tensor(a!) y) -> Tensor", kernel, fake=lambda x, y: opwright.empty_like(x))
    said = failure(op, (x(), x()), only="test_schema")
    assert "checked::f writes to argument 'x', and its declaration does not say so: write `Tensor(b!) x`" in said
    assert "(custom_op: mutates_args={'x'})" in said and "Declaration: checked::f(Tensor x, Tensor(a!) y)" in said
    assert "argument 'y'" not in said


def test_undeclared_write_to_an_item_of_a_list(lib: Library) -> None:
    op = define(lib, "f(Tensor[] xs) -> ()", lambda xs: nothing(xs[1].zero_()), fake=lambda xs: None)
    assert "writes to argument 'xs[1]'" in failure(op, ([x(), x()],))
    assert "write `Tensor(a!)[] xs`" in failure(op, ([x(), x()],))


def test_a_write_is_one_bit_for_bit_and_of_layout(lib: Library) -> None:
    op = define(lib, "f(Tensor x) -> ()", lambda x: x.numpy().fill(-0.0), fake=lambda x: None)
    assert "writes to argument 'x'" in failure(op, (opwright.zeros(2),))
    lib.impl("f", lambda x: nothing(x.t_()), "CPU")
    assert "writes to argument 'x'" in failure(op, (opwright.zeros(2, 3),))


def test_declared_and_not_written(lib: Library) -> None:
    op = define(lib, "f(Tensor(a!) x, Tensor(b!)? y=None) -> ()", lambda x, y=None: nothing(x.zero_()))
    said = failure(op, (x(), x()), only="test_schema")
    assert "is declared to write to argument 'y', and does not" in said and "write `Tensor? y` in its schema" in said
    assert "argument 'x'" not in said
    assert opcheck(op, (opwright.zeros(3),))  # what is zero already is written all the same


def test_a_write_that_depends_on_another_argument(lib: Library) -> None:
    def kernel(x: Tensor, training: bool = False) -> None:
        if training:
            x.add_(1)

    op = define(lib, "f(Tensor(a!) x, bool training=False) -> ()", kernel)
    assert passes(op, (x(),)) and passes(op, (x(), True))


def test_undeclared_view(lib: Library) -> None:
    op = define(lib, "f(Tensor x, Tensor y) -> (Tensor, Tensor)", lambda x, y: (x + y, y.t()))
    lib.register_fake("f", lambda x, y: (x + y, y.t()))
    said = failure(op, (x(), x()), only="test_schema")
    assert "result 1 shares memory with argument 'y'" in said
    assert "write `Tensor(a) y` and `-> Tensor(a)` in its schema, or return a copy" in said
    lib.impl("f", lambda x, y: (x, y + 1), "CPU")
    assert "result 0 is argument 'x', and the declaration does not" in failure(op, (x(), x()))
    lib.impl("f", lambda x, y: (x + y, opwright.from_numpy(y.numpy()[::2])), "CPU")  # the same memory unseen
    assert "result 1 shares memory with argument 'y'" in failure(op, (x(), x()))


def test_results_that_share_memory(lib: Library) -> None:
    def kernel(x: Tensor) -> tuple[Tensor, Tensor]:
        y = x.clone()
        return y, y[0]

    op = define(lib, "f(Tensor x) -> (Tensor, Tensor)", kernel)
    assert "result 0 and result 1 share memory" in failure(op, (x(),))


def test_declared_view_that_is_none(lib: Library) -> None:
    op = define(lib, "f(Tensor(a) x) -> Tensor(a)", lambda x: x.clone(), fake=lambda x: x.clone())
    said = failure(op, (x(),), only="test_schema")
    assert "the result is declared to be a view of argument 'x', and shares no memory with it" in said
    lib.impl("f", lambda x: x, "CPU")
    assert "returns argument 'x' itself as the result" in failure(op, (x(),))


def test_declared_argument_that_is_another_tensor(lib: Library) -> None:
    def kernel(x: Tensor) -> Tensor:
        x.zero_()
        return x.clone()

    op = define(lib, "f(Tensor(a!) x) -> Tensor(a!)", kernel, fake=lambda x: x)
    assert "the result is declared to be argument 'x' itself, and is not" in failure(op, (x(),))


def test_custom_operators_say_so_at_every_call() -> None:
    @custom_op("checked::same", mutates_args=())
    def same(x: Tensor) -> Tensor:
        return x

    same.register_fake(lambda x: opwright.empty_like(x))
    assert "result 0 shares memory with argument 'x'" in failure(same, (x(),))


@pytest.mark.parametrize(
    "returns, result, said",
    [
        ("Tensor", 3, "must return Tensor, but returned int 3"),
        ("int", "three", "must return int, but returned str 'three'"),
        ("(Tensor, Tensor)", None, "must return 2 values"),
        ("Tensor[]", 3, r"must return Tensor[], but returned int 3"),
        ("()", 3, "must return nothing, but returned int 3"),
    ],
)
def test_wrong_kinds_of_results(lib: Library, returns: str, result: Any, said: str) -> None:
    op = define(lib, f"f(Tensor x) -> {returns}", lambda x: result)
    assert said in failure(op, (x(),))
