"""What functions of custom operators are given, and what they may return."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import opwright
from opwright import Tensor
from opwright.library import custom_op
from opwright.metadata.tags import Tag, layout_tag
from opwright_core.keys import AUTOCAST
from opwright_core.state import active_modes

pytestmark = pytest.mark.usefixtures("operators_are_dropped")


@pytest.fixture
def x() -> Tensor:
    return opwright.tensor([1.0, 2.0])


def test_arguments_arrive_in_their_declared_types() -> None:
    seen: list[Any] = []

    @custom_op("made::f", mutates_args=())
    def f(
        x: Tensor, a: float, b: Sequence[int], c: opwright.dtype, d: list[Tensor] | None = None, *, e: bool = False
    ) -> Tensor:
        seen[:] = [a, b, c, d, e]
        return x.clone()

    x = opwright.ones(2)
    f(x, 3, (1, 2), "float32", (x,), e=True)
    assert seen == [3.0, [1, 2], opwright.float32, [x], True] and type(seen[0]) is float
    f(x, b=[1], a=2, c=opwright.int64)
    assert seen == [2.0, [1], opwright.int64, None, False]


def test_plain_arrays_in_plain_arrays_out(x: Tensor) -> None:
    @custom_op("made::f", mutates_args=())
    def f(x: Tensor, ys: list[Tensor]) -> tuple[Tensor, Tensor]:
        assert isinstance(x, Tensor)
        return x + 1, ys[0] * 2

    first, second = f(np.ones(2), [np.ones(2)])
    assert type(first) is type(second) is np.ndarray and first.tolist() == second.tolist() == [2, 2]
    first, second = f(x, [np.ones(2, np.float32)])
    assert type(first) is type(second) is Tensor


def test_functions_of_arrays(x: Tensor) -> None:
    @custom_op("made::f", mutates_args=())
    def f(x: np.ndarray, y: np.ndarray | None = None, zs: list[np.ndarray] | None = None) -> np.ndarray:
        assert (type(x) is np.ndarray and y is None) or type(y) is np.ndarray
        return np.sin(x) if zs is None else x + sum(zs)

    assert type(f(x)) is Tensor and opwright.allclose(f(x), x.sin())
    assert type(f(x.array)) is np.ndarray
    assert f(x, x, [x, x]).tolist() == [3, 6]

    @custom_op("made::sums", mutates_args=())
    def sums(x: np.ndarray, scale: float) -> tuple[np.ndarray, list[np.ndarray]]:
        return x.sum(), [x * scale, x]  # type: ignore[return-value]

    with pytest.raises(RuntimeError, match="result 1 shares memory with argument 'x'"):
        sums(x, 2)

    @custom_op("made::mean", mutates_args=())
    def mean(x: np.ndarray) -> np.ndarray:
        return x.mean()  # type: ignore[no-any-return]

    assert mean(x).shape == () and mean(x).item() == 1.5


def test_a_kernel_that_returns_nothing_is_named(x: Tensor) -> None:
    @custom_op("made::f", mutates_args=())
    def f(x: Tensor) -> Tensor:
        x + 1  # the return is missing

    expected = (
        r"made::f: the kernel .*<locals>.f at .*test_calls.py:\d+ must return Tensor, but returned None: is a return"
    )
    with pytest.raises(RuntimeError, match=expected):
        f(x)


def _returning(value: Callable[[Tensor], Any], returns: str) -> Any:
    return custom_op("made::f", value, mutates_args=(), schema=f"(Tensor x) -> {returns}")


@pytest.mark.parametrize(
    "value, returns, message",
    [
        (lambda x: 1, "Tensor", "must return Tensor, but returned int 1"),
        (
            lambda x: (x + 1, x),
            "Tensor",
            r"returned tuple \(Tensor float32\[2\], .*declare \(Tensor, Tensor\) to return them all",
        ),
        (lambda x: x + 1, "()", "must return nothing"),
        (lambda x: x + 1, "(Tensor, Tensor)", r"must return 2 values \(Tensor, Tensor\)"),
        (lambda x: (x + 1, None), "(Tensor, Tensor)", "must return Tensor as result 1, but returned None: is a"),
        (
            lambda x: None,
            "(Tensor, Tensor)",
            r"must return 2 values \(Tensor, Tensor\), but returned None: is a return",
        ),
        (lambda x: (x + 1,), "Tensor", "return the Tensor itself"),
        (lambda x: [x + 1, None], "Tensor[]", "item 1 is None where a Tensor is declared"),
        (lambda x: x + 1, "Tensor[]", "return a list of it"),
        (lambda x: [1.0], "Tensor", "make a Tensor of it first"),
        (lambda x: "a", "int", "must return int, but returned str 'a'"),
    ],
)
def test_results_of_other_types_than_declared(
    x: Tensor, value: Callable[[Tensor], Any], returns: str, message: str
) -> None:
    with pytest.raises(RuntimeError, match=message) as raised:
        _returning(value, returns)(x)
    assert "test_calls.py" in str(raised.value)


def test_results_that_are_taken(x: Tensor) -> None:
    assert [type(each) for each in _returning(lambda x: [x + 1, x + 2], "(Tensor, Tensor)")(x)] == [Tensor, Tensor]
    assert type(_returning(lambda x: [x + 1, x + 2], "(Tensor, Tensor)")(x)) is tuple
    assert _returning(lambda x: (x + 1,), "((Tensor))")(x)[0].tolist() == [2, 3]
    assert _returning(lambda x: None, "Tensor?")(x) is None


@pytest.mark.parametrize(
    "value",
    [
        lambda x: x,
        lambda x: x[:1],
        lambda x: x.detach(),
        lambda x: opwright.from_numpy(x.numpy()),
        lambda x: opwright.from_numpy(x.numpy()[1:]),
        lambda x: x.numpy(),
        lambda x: [x + 1, x],
    ],
)
def test_results_that_share_memory_with_an_argument(x: Tensor, value: Callable[[Tensor], Any]) -> None:
    returns = "Tensor[]" if isinstance(value(x), list) else "Tensor"
    with pytest.raises(RuntimeError, match=r"result 0 shares memory with argument 'x'.*return a copy"):
        _returning(value, returns)(x)


def test_results_that_share_memory_with_each_other(x: Tensor) -> None:
    def halves(x: Tensor) -> tuple[Tensor, Tensor]:
        both = x + 1
        return both[:1], both[:]

    with pytest.raises(RuntimeError, match="result 1 shares memory with result 0"):
        _returning(halves, "(Tensor, Tensor)")(x)


def test_a_view_of_what_the_function_made_is_a_tensor_of_its_own(x: Tensor) -> None:
    result = _returning(lambda x: (x + 1)[1:], "Tensor")(x.requires_grad_())
    assert result._base is None and result.requires_grad
    result.add_(1)
    assert result.tolist() == [4]


def test_what_the_function_calls_is_not_recorded(x: Tensor) -> None:
    seen: list[bool] = []

    @custom_op("made::f", mutates_args=())
    def f(x: Tensor) -> Tensor:
        with opwright.enable_grad():
            made = x * 2
        seen[:] = [x.requires_grad, made.requires_grad, x.numpy() is not None]
        return made

    assert f(x.requires_grad_()).requires_grad
    assert seen == [True, False, True]
    assert not f(x.detach()).requires_grad
    with opwright.no_grad():
        assert not f(x).requires_grad and seen == [True, False, True]


def test_modes_hold_again_after_an_error(x: Tensor) -> None:
    @custom_op("made::f", mutates_args=())
    def f(x: Tensor) -> Tensor:
        raise KeyError("mine")

    with opwright.no_grad():
        with pytest.raises(KeyError, match="mine"):
            f(x)
        assert not opwright.is_grad_enabled()
    assert opwright.is_grad_enabled()


def test_tracebacks_show_the_rendered_code(x: Tensor) -> None:
    @custom_op("made::f", mutates_args=())
    def f(x: Tensor, k: int = 1) -> Tensor:
        return (x / k).reshape(x.shape[0] // k)

    f(x)
    with opwright.inference_mode(), pytest.raises(ZeroDivisionError) as raised:
        f(x, 0)  # neither of a form that the compiled core knows, nor of modes that it calls kernels in
    shown = "".join(traceback.format_exception(raised.value))
    assert "<custom operator (Tensor x, SymInt k=1) -> Tensor>" in shown
    assert "result = function(x, k)" in shown and "return find1(operator, x)(x, k)" in shown


def test_operators_of_one_declaration_share_their_code(x: Tensor) -> None:
    file = "<custom operator (Tensor x, SymInt shared) -> Tensor>"
    one = custom_op("made::one", lambda x, shared: x + 1, mutates_args=(), schema="(Tensor x, SymInt shared) -> Tensor")
    assert file not in linecache.cache  # defining renders nothing
    two = custom_op("made::two", lambda x, shared: x + 2, mutates_args=(), schema="(Tensor x, SymInt shared) -> Tensor")
    assert (one(x, 0).tolist(), two(x, 0).tolist()) == ([2, 3], [3, 4])
    assert one._opoverload.stub.__code__ is two._opoverload.stub.__code__
    del one
    assert file in linecache.cache
    del two
    assert file not in linecache.cache


def test_autocast_casts_and_runs_the_function_without(x: Tensor) -> None:
    seen: list[Any] = []

    @custom_op("made::f", mutates_args=())
    def f(x: Tensor, ys: list[Tensor], *, n: Tensor) -> Tensor:
        modes = active_modes()
        seen[:] = [x.dtype, ys[0].dtype, n.dtype, modes is not None and modes.mask & AUTOCAST]
        return x.clone()

    for _ in range(2):
        f.register_autocast("cpu", opwright.bfloat16)
    ints, double = opwright.tensor([1, 2]), x.double()
    f(x, [x.half()], n=ints)
    assert seen[:3] == [opwright.float32, opwright.float16, opwright.int64]
    with opwright.dispatch.include_keys("Autocast"):
        f(x, [x.half()], n=ints)
        assert seen == [opwright.bfloat16, opwright.bfloat16, opwright.int64, 0]
        f(double, [x], n=x)
        assert seen == [opwright.float64, opwright.bfloat16, opwright.bfloat16, 0]
    with pytest.raises(RuntimeError, match="device type"):
        f.register_autocast("nothing", opwright.bfloat16)
    with pytest.raises(ValueError, match="name of a device type"):
        f.register_autocast(1, opwright.bfloat16)


def test_further_kernels_have_defaults_of_their_own(x: Tensor) -> None:
    @custom_op("made::f", mutates_args=())
    def f(x: Tensor, a: int = 1, b: int = 2, *, c: int = 3) -> Tensor:
        return x * 0

    for kernel, results in [
        (lambda x: x + 10, [[11, 12], None, None]),
        (lambda x, a=5, b=6, *, c=7: x + a + b + c, [[19, 20], [23, 24], [12, 13]]),  # those of the schema are left out
        (lambda x, a, b, *, c: x + a + b + c, [[7, 8], [15, 16], [8, 9]]),
        (lambda x, a, b=6, *, c: x + a + b + c, [[11, 12], [19, 20], [8, 9]]),
    ]:
        f.register_kernel("cpu", kernel)
        for call, expected in zip((lambda: f(x), lambda: f(x, 9), lambda: f(x, b=3)), results, strict=True):
            if expected is None:
                with pytest.raises(TypeError, match=r"positional arguments? but"):
                    call()
            else:
                assert call().tolist() == expected


def test_a_result_that_does_not_fit_names_the_kernel_with_defaults(x: Tensor) -> None:
    f = custom_op("made::f", lambda x, a: x.clone(), mutates_args=(), schema="(Tensor x, int a=1) -> Tensor")

    @f.register_kernel("cpu")
    def kernel(x: Tensor) -> Any:
        return 3

    with pytest.raises(RuntimeError, match=r"kernel at .*test_calls.py:\d+"):
        f(x)


def test_functions_of_arrays_are_given_the_callers(x: Tensor) -> None:
    seen: list[Any] = []
    weight = opwright.ones(2, requires_grad=True)

    @custom_op("made::f", mutates_args=())
    def f(x: np.ndarray, how: str = "new") -> np.ndarray:
        seen.append(x)
        match how:
            case "same":
                return x
            case "view":
                return x[1:]
            case "part":
                return (x * 2)[:1]
            case "long":
                return x.astype(np.longdouble)
            case "tensor":
                return opwright.from_numpy(x * 2)  # type: ignore[return-value]
        return (opwright.from_numpy(x) * weight).numpy()  # not recorded

    array = np.ones(2, np.float32)
    assert f(array).tolist() == f(array).tolist() == [1, 1] and seen[1] is array
    assert f(array, "part").tolist() == [2] and type(f(array, "tensor")) is np.ndarray
    for how in ("same", "view"):
        with pytest.raises(RuntimeError, match="result 0 shares memory with argument 'x'"):
            f(array, how)
    for given, how in [(array, "long"), (np.array(["a"]), "new"), (array.astype(np.longdouble), "new")]:
        with pytest.raises(TypeError, match="only supported types"):
            f(given, how)
    assert f(np.ones(2, np.float16), "part").dtype == np.float16


def test_layout_tags_resolve_to_the_strictest() -> None:
    exact, contiguous, order, flexible = (
        Tag.needs_exact_strides, Tag.needs_contiguous_strides, Tag.needs_fixed_stride_order, Tag.flexible_layout
    )  # fmt: skip
    for given, found in [
        ((), exact), (flexible, flexible), ((flexible, order), order), ([flexible, contiguous, order], contiguous),
        ((flexible, exact), exact),
    ]:  # fmt: skip
        op = custom_op("made::tagged", lambda x: x.clone(), mutates_args=(), schema="(Tensor x) -> Tensor", tags=given)
        assert layout_tag(op._opoverload.tags) == found
        del op
