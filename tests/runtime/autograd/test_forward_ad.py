"""Forward mode on operators that are registered by hand: levels, tangents, views, writes, errors, `Function.jvp`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import opwright
from opwright.autograd import Function, forward_ad
from opwright.registering.rules import set_rule
from opwright_core.dispatch.registry.forward_rules import ForwardRule, TangentFormula
from opwright_core.keys import TANGENT
from opwright_core.state import active_modes

unpack = forward_ad.unpack_dual


@pytest.fixture
def library() -> Iterator[Any]:
    found = opwright.library.Library("forward_tests", "DEF")
    found.define("double(Tensor x) -> Tensor")
    found.impl("double", lambda x: opwright.from_numpy(x.numpy() * 2), "CPU")
    found.define("ruled(Tensor x) -> Tensor")
    found.impl("ruled", lambda x: opwright.from_numpy(x.numpy() * 2), "CPU")
    found.define("signs(Tensor x) -> Tensor")
    found.impl("signs", lambda x: opwright.from_numpy((x.numpy() > 0).astype(np.int64)), "CPU")
    found.define("twice(Tensor x) -> Tensor")
    found.impl("twice", lambda x: x + x, "CompositeImplicitAutograd")
    yield found
    found._destroy()


def dual(values: Any, tangent: Any) -> Any:
    return forward_ad.make_dual(opwright.tensor(values), opwright.tensor(tangent))


def test_levels() -> None:
    with forward_ad.dual_level() as level:
        assert level == 0
        with pytest.raises(RuntimeError, match="exit the dual level 3"):
            forward_ad.exit_dual_level(level=3)
    with pytest.raises(RuntimeError, match="There is no dual level to exit"):
        forward_ad.exit_dual_level()
    with pytest.raises(RuntimeError, match="no level exists"):
        dual([1.0], [1.0])
    assert active_modes() is None


def test_a_level_decorates() -> None:
    @forward_ad.dual_level()
    def tangent() -> Any:
        return unpack(dual([1.0], [2.0])).tangent.tolist()

    assert tangent() == [2.0]


def test_tangents_vanish_with_their_level() -> None:
    with forward_ad.dual_level():
        x = dual([1.0, 2.0], [3.0, 4.0])
        assert x.keys & TANGENT
        primal, tangent = unpack(x)
        assert primal.tolist() == [1.0, 2.0]
        assert tangent.tolist() == [3.0, 4.0]
        assert unpack(primal).tangent is None
    assert unpack(x).tangent is None
    with forward_ad.dual_level():
        assert unpack(x).tangent is None
        forward_ad.make_dual(x, opwright.tensor([1.0, 1.0]))


@pytest.mark.parametrize(
    "values, tangent, error, message",
    [
        ([1.0, 2.0], [1.0], RuntimeError, r"that is \[2\] and the tangent's \[1\]"),
        ([1, 2], [1.0, 2.0], ValueError, "Expected primal to be floating point or complex, but got: int64"),
        ([1.0, 2.0], [1, 2], ValueError, "Expected tangent to be floating point or complex, but got: int64"),
        ([1.0, 2.0], [1j, 2j], RuntimeError, "that is float32 and the tangent's complex64"),
    ],
)
def test_a_tangent_fits_its_tensor(values: Any, tangent: Any, error: Any, message: str) -> None:
    with forward_ad.dual_level(), pytest.raises(error, match=message):
        dual(values, tangent)


def test_duals_of_duals() -> None:
    with forward_ad.dual_level():
        x = dual([1.0], [1.0])
        with pytest.raises(RuntimeError, match="already has a tangent"):
            forward_ad.make_dual(x, opwright.tensor([1.0]))
        with pytest.raises(RuntimeError, match="itself has a tangent"):
            forward_ad.make_dual(opwright.tensor([1.0]), x)
        with pytest.raises(TypeError, match="Expected tangent to be a Tensor, but got: float"):
            forward_ad.make_dual(opwright.tensor([1.0]), 1.0)  # type: ignore[arg-type]


def test_an_operator_without_a_formula_is_refused(library: Any) -> None:
    with forward_ad.dual_level():
        x = dual([1.0], [1.0])
        with pytest.raises(
            NotImplementedError, match=r"forward_tests::double\(\) has no forward formula.*argument 'x'"
        ):
            opwright.ops.forward_tests.double(x)
        assert opwright.ops.forward_tests.double(x.detach()).tolist() == [2.0]
        assert opwright.ops.forward_tests.signs(x).tolist() == [1]  # no result that could have a tangent
    assert opwright.ops.forward_tests.double(x).tolist() == [2.0]


def test_a_rule(library: Any) -> None:
    rule = ForwardRule((0,), (TangentFormula(lambda t: t * 2, (), (0,)),))
    set_rule(opwright.ops.forward_tests.ruled.default, rule)
    with forward_ad.dual_level():
        x = dual([1.0], [3.0])
        assert unpack(opwright.ops.forward_tests.ruled(x)).tangent.tolist() == [6.0]
        with opwright.no_grad():
            assert unpack(opwright.ops.forward_tests.ruled(x)).tangent.tolist() == [6.0]
        with opwright.inference_mode():
            assert unpack(opwright.ops.forward_tests.ruled(x)).tangent is None


def test_a_rule_is_gone_with_its_operator() -> None:
    for rule in (ForwardRule((0,), (TangentFormula(lambda t: t * 2, (), (0,)),)), None):
        found = opwright.library.Library("forward_tests_gone", "DEF")
        found.define("ruled(Tensor x) -> Tensor")
        found.impl("ruled", lambda x: opwright.from_numpy(x.numpy() * 2), "CPU")
        ruled = opwright.ops.forward_tests_gone.ruled.default
        with forward_ad.dual_level():
            x = dual([1.0], [3.0])
            with pytest.raises(NotImplementedError, match="has no forward formula"):
                ruled(x)
            if rule is not None:  # also after calls
                set_rule(ruled, rule)
                assert unpack(ruled(x)).tangent.tolist() == [6.0]
        found._destroy()


def test_kernels_that_are_called_by_themselves_drop_nothing(library: Any) -> None:
    rule = ForwardRule((0,), (TangentFormula(lambda t: t * 2, (), (0,)),))
    set_rule(opwright.ops.forward_tests.ruled.default, rule)
    kernels = {
        name: opwright.library.get_kernel(f"forward_tests::{name}", "CPU") for name in ("ruled", "double", "twice")
    }
    keys = opwright.dispatch.KeySet("CPU")
    with forward_ad.dual_level():
        x = dual([1.0], [3.0])
        assert unpack(kernels["ruled"](x)).tangent.tolist() == [6.0]
        assert unpack(kernels["twice"](x)).tangent.tolist() == [6.0]
        assert unpack(kernels["ruled"].call_boxed(keys, x)).tangent.tolist() == [6.0]
        assert unpack(opwright.ops.forward_tests.ruled.default.redispatch(keys, x)).tangent.tolist() == [6.0]
        with pytest.raises(NotImplementedError, match="has no forward formula"):
            kernels["double"](x)
        with pytest.raises(NotImplementedError, match="has no forward formula"):
            opwright.ops.forward_tests.double.default.redispatch(keys, x)
    assert kernels["double"](x).tolist() == [2.0]


@pytest.mark.parametrize("leave", [lambda x: x.numpy(), np.asarray, np.from_dlpack, lambda x: x.__dlpack__()])
def test_no_tangent_is_left_behind(leave: Any) -> None:
    with forward_ad.dual_level():
        x = dual([1.0, 2.0], [3.0, 4.0])
        base = opwright.zeros(2)
        part = base[:1]
        base.copy_(x)
        for each in (x, part):
            with pytest.raises(RuntimeError, match="a Tensor that has a tangent: it would be lost"):
                leave(each)
        leave(x.detach())
    leave(x)


def test_composites_and_kernels_of_users_at_autograd_keys_see_tangents(library: Any) -> None:
    library.impl("double", lambda x: x + x, "Autograd")
    with forward_ad.dual_level():
        x = dual([1.0], [3.0])
        assert unpack(opwright.ops.forward_tests.twice(x)).tangent.tolist() == [6.0]
        assert unpack(opwright.ops.forward_tests.double(x)).tangent.tolist() == [6.0]


def test_a_kernel_that_redispatches_below_autograd_drops_nothing(library: Any) -> None:
    def below(x: Any) -> Any:
        with opwright.dispatch.below_autograd():
            return opwright.ops.forward_tests.double(x)

    library.impl("double", below, "Autograd")
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match="has no forward formula"):
        opwright.ops.forward_tests.double(dual([1.0], [3.0]))


def test_leaving_for_numpy_is_refused() -> None:
    with forward_ad.dual_level():
        x = dual([1.0], [1.0])
        with pytest.raises(RuntimeError, match="Can't call numpy"):
            x.numpy()
        with pytest.raises(RuntimeError, match="Can't call numpy"):
            np.asarray(x)
        assert x.detach().numpy().tolist() == [1.0]
        assert x.numpy(force=True).tolist() == [1.0]
    assert x.numpy().tolist() == [1.0]


def test_out_arguments_are_refused() -> None:
    with forward_ad.dual_level():
        x = dual([1.0], [1.0])
        with pytest.raises(
            NotImplementedError, match=r"out=\.\.\. arguments have no forward mode, and argument 'self'"
        ):
            opwright.add(x, x, out=opwright.empty(1))
        with pytest.raises(NotImplementedError, match="argument 'out'"):
            opwright.add(opwright.ones(1), opwright.ones(1), out=x)


def test_writes_reach_views_and_bases() -> None:
    with forward_ad.dual_level():
        x = dual([1.0, 2.0], [10.0, 20.0])
        base = opwright.zeros(3)
        view, other = base[1:], base[2]
        view.copy_(x)
        assert unpack(base).tangent.tolist() == [0.0, 10.0, 20.0]
        assert unpack(other).tangent.tolist() == 20.0
        base.mul_(2)
        assert unpack(view).tangent.tolist() == [20.0, 40.0]
        other.zero_()
        assert unpack(base).tangent.tolist() == [0.0, 20.0, 0.0]


def test_a_tangent_given_back_is_never_that_of_an_input() -> None:
    with forward_ad.dual_level():
        x = dual([1.0, 2.0], [1.0, 1.0])
        y = x + opwright.ones(2)
        y.mul_(5)
        assert unpack(y).tangent.tolist() == [5.0, 5.0]
        assert unpack(x).tangent.tolist() == [1.0, 1.0]


def test_a_plain_array_cannot_take_a_tangent() -> None:
    with forward_ad.dual_level(), pytest.raises(RuntimeError, match="into a plain array"):
        opwright.ops.aten.mul_.Tensor(np.ones(1, np.float32), dual([1.0], [1.0]))


def test_printing() -> None:
    with forward_ad.dual_level():
        assert repr(dual([1.0], [2.0])) == "tensor([1.], tangent=tensor([2.]))"


def test_threads_have_levels_of_their_own() -> None:
    found: list[Any] = []

    def run(scale: float) -> None:
        for _ in range(50):
            with forward_ad.dual_level():
                found.append(unpack(dual([1.0], [scale]) * 2).tangent.tolist() == [2 * scale])

    threads = [threading.Thread(target=run, args=(float(n),)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 200
    assert all(found)


class Scaled(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, factor: Any) -> Any:
        ctx.save_for_forward(x)
        ctx.factor = factor
        return x * factor

    @staticmethod
    def jvp(ctx: Any, x_t: Any, factor_t: Any) -> Any:
        assert factor_t is None
        assert ctx.saved_tensors[0].tolist() == [1.0]
        return x_t * ctx.factor


def test_function_jvp() -> None:
    with forward_ad.dual_level():
        assert unpack(Scaled.apply(dual([1.0], [2.0]), 3.0)).tangent.tolist() == [6.0]


class Undefined(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2


def test_a_function_without_jvp_is_refused() -> None:
    assert Undefined.apply(opwright.ones(1)).tolist() == [2.0]
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match="Undefined has no jvp, and its input 0"):
        Undefined.apply(dual([1.0], [1.0]))


@pytest.mark.parametrize(
    "answer, message",
    [
        (lambda t: (t, t), "returned 2 tangents, but its forward has 1 outputs"),
        (lambda t: None, "must return a Tensor for output 0, .* returned NoneType"),
        (lambda t: opwright.ones(4), r"that is \[1\] and the tangent's \[4\]"),
    ],
)
def test_wrong_tangents_of_a_function(answer: Any, message: str) -> None:
    wrong = type("Wrong", (Undefined,), {"jvp": staticmethod(lambda ctx, t: answer(t))})
    with forward_ad.dual_level(), pytest.raises(RuntimeError, match=message):
        wrong.apply(dual([1.0], [1.0]))
