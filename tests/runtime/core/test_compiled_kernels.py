"""The kernels of the compiled core against the functions of `opwright_kernels` that define them."""

from __future__ import annotations

import itertools
from typing import Any

import fuzzed_kernels
import ml_dtypes
import numpy as np
import pytest
import seeds
from kernel_accuracy import assert_alike, close
from kernel_calls import ELEMENTWISE, SHAPED, compiled_kernels, operands

from opwright_core.core import fast
from opwright_core.plans.plan import cast_array

pytestmark = [
    pytest.mark.skipif(fast is None, reason="the compiled core is not built, or not wanted"),
    pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning"),
]

Array = np.ndarray[Any, Any]
KERNELS = dict(compiled_kernels())
OUTSIDE = (np, np.ones((2, 3), np.float32), np.array([1, 3]), None, 1, -100)
SHAPES = [(), (0,), (1,), (7,), (2, 0, 3), (3, 5, 11), (67, 129)]


def same(found: Array, wanted: Array) -> bool:
    """Whether two arrays are the same to the bit, but for the sign of NaN."""
    return bool(
        np.where(np.isnan(found), np.nan, found).tobytes() == np.where(np.isnan(wanted), np.nan, wanted).tobytes()
    )


def test_every_kernel_is_tried() -> None:
    """A kernel that is written in C has calls here."""
    assert set(KERNELS) == {*ELEMENTWISE, *SHAPED} and type(cast_array) is fast.Compiled


@pytest.mark.parametrize("name", sorted(ELEMENTWISE))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_elementwise_values(name: str, dtype: str) -> None:
    """An elementwise kernel gives what its function gives: any shape, any number."""
    rng = seeds.numpy_generator(len(name))
    for make in ELEMENTWISE[name]:
        for shape in SHAPES:
            args = make(operands(rng, shape, dtype, is_wild=shape != (67, 129)))
            kernel = KERNELS[name]
            assert close(kernel(*args), np.asarray(kernel.python(*args)), name, *args)


SLOPES = {"silu_gradient": (), "elu_gradient": (1.7, 1.1, 0.8), "gelu_gradient": ("none",), "gelu by tanh": ("tanh",)}


@pytest.mark.parametrize("name", SLOPES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("grad", [1, np.inf, -np.inf])
def test_gradients_far_out(name: str, dtype: str, grad: float) -> None:
    """A slope that is nearly 0 is 0 in both ways or in none: an infinite gradient tells them apart."""
    kernel = KERNELS[name.replace(" by tanh", "_gradient")]
    x = np.geomspace(0.1, 1000, 900).astype(dtype)
    for points in (x, -x):
        args = np.full_like(points, grad), points, *SLOPES[name]
        assert close(kernel(*args), kernel.python(*args), kernel.__name__, *args)


@pytest.mark.parametrize("name", ["gelu", "gelu_gradient"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gates_keep_their_digits(name: str, dtype: str) -> None:
    """Where tanh is nearly -1, one and it have none."""
    x = np.linspace(-9, -2, 300).astype(dtype)
    first = (np, x) if name == "gelu" else (np.ones_like(x), x)
    found, wanted = (function(*first, "tanh") for function in (KERNELS[name], KERNELS[name].python))
    np.testing.assert_allclose(found, wanted, rtol=1000 * np.finfo(dtype).eps)


@pytest.mark.parametrize("name", sorted(SHAPED))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_and_windows(name: str, dtype: str, order: Any) -> None:
    """A kernel of rows or windows gives what its function gives, of numbers, of NaN and of infinities."""
    rng, kernel = seeds.numpy_generator(7), KERNELS[name]
    for make in SHAPED[name]:
        for special in ((), (np.nan,), (np.inf, -np.inf), (-np.inf, -np.inf)):

            def operand(*shape: int, special: tuple[float, ...] = special) -> Array:
                found = rng.normal(1, 3, shape).astype(dtype, order=order)
                np.put(found, rng.integers(0, found.size, len(special)), special)
                return found

            assert_alike(kernel, make(operand))


@pytest.mark.parametrize("name", sorted(ELEMENTWISE))
def test_elements_do_not_depend_on_their_place(name: str) -> None:
    """An element's value is the same alone, at any place of a row, and in a second call."""
    rng = seeds.numpy_generator(3)
    for make in ELEMENTWISE[name]:
        args = make(operands(rng, (137,), "float32", is_wild=True))
        whole = KERNELS[name](*args)
        for part in (slice(0, 1), slice(5, 6), slice(3, 40), slice(130, 137), slice(None)):
            again = KERNELS[name](*(each[part].copy() if isinstance(each, np.ndarray) else each for each in args))
            assert same(again, whole[part])


@pytest.mark.parametrize("name", sorted(ELEMENTWISE))
def test_arrays_that_lie_otherwise(name: str) -> None:
    """Values do not depend on how arrays lie, and results lie as those of the function."""
    rng = seeds.numpy_generator(4)
    kernel = KERNELS[name]
    for make in ELEMENTWISE[name]:
        plain = make(operands(rng, (6, 8, 5), "float32", is_wild=False))
        for changed in (
            lambda each: each[::2, ::-1],
            lambda each: each.T,
            lambda each: each.transpose(1, 0, 2)[:, :3],
            lambda each: np.broadcast_to(each[:, :1], each.shape),
            lambda each: np.frombuffer(b"0" + each.tobytes(), np.uint8)[1:].view(np.float32).reshape(each.shape),
        ):
            args = tuple(changed(each) if isinstance(each, np.ndarray) else each for each in plain)
            dense = tuple(each.copy("C") if isinstance(each, np.ndarray) else each for each in args)
            found, wanted = kernel(*args), kernel(*dense)
            assert same(found, wanted) and found.dtype is wanted.dtype is np.dtype("float32")


@pytest.mark.parametrize("name", sorted(ELEMENTWISE))
def test_other_types_are_left_to_the_function(name: str) -> None:
    """Arrays of subclasses give what the function gives, to the bit."""
    rng = seeds.numpy_generator(4)
    kernel = KERNELS[name]
    other = type("Other", (np.ndarray,), {})
    for make in ELEMENTWISE[name]:
        plain = make(operands(rng, (6, 8), "float32", is_wild=False))
        args = tuple(each.view(other) if isinstance(each, np.ndarray) else each for each in plain)
        found, wanted = kernel(*args), kernel.python(*args)
        assert type(found) is type(wanted) and found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("name", ["erf", "silu", "gelu", "sign", "logit", "lerp", "addcmul", "sigmoid"])
def test_results_are_written_where_one_says(name: str) -> None:
    """`out=` is written and returned: other memory, an operand's own, a part of it, rows with gaps."""
    rng = seeds.numpy_generator(5)
    kernel = KERNELS[name]
    args = ELEMENTWISE[name][0](operands(rng, (40,), "float32", is_wild=False))
    wanted = kernel(*args)
    out = np.empty_like(wanted)
    assert kernel(*args, out=out) is out and out.tobytes() == wanted.tobytes()
    own = [each.copy() if isinstance(each, np.ndarray) else each for each in args]
    assert kernel(*own, out=own[1]) is own[1] and own[1].tobytes() == wanted.tobytes()
    wide = np.zeros(80, np.float32)
    assert same(kernel(*args, out=wide[::2]), wanted) and not wide[1::2].any()
    moved = np.concatenate([args[1], args[1][:1]])
    assert same(kernel(np, moved[:-1], *args[2:], out=moved[1:]), wanted)
    assert kernel(*args, out=None).tobytes() == wanted.tobytes()


def warned(kernel: Any, args: tuple[Any, ...]) -> set[str]:
    """What a call has NumPy tell of."""
    found = set()
    with np.errstate(all="call", under="ignore", call=lambda kind, flags: found.add(kind)):
        kernel(*args)
    return found


def is_told_alike(name: str, args: tuple[Any, ...]) -> bool:
    """Whether a kernel warns of what its function warns of; or of less, where no operation came to NaN or infinity in
    the end: whether a loop computes what it does not choose is the compiler's to decide."""
    wanted, found = warned(KERNELS[name].python, args), warned(KERNELS[name], args)
    operands = [each for each in args if isinstance(each, np.ndarray)]
    with np.errstate(all="ignore"):
        result = KERNELS[name](*args)
    is_new = np.isinf(result) & np.all([np.isfinite(each) for each in operands], axis=0)
    is_new |= np.isnan(result) & ~np.any([np.isnan(each) for each in operands], axis=0)
    return found == wanted if is_new.any() else found <= wanted


@pytest.mark.parametrize("name", sorted(ELEMENTWISE))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_warnings_are_those_of_the_function(name: str, dtype: str) -> None:
    """A division by zero, an overflow and an invalid operation are told as the function tells them, and `np.errstate`
    has them raised; numbers of every day are served without it."""
    rng = seeds.numpy_generator(9)
    for make in ELEMENTWISE[name]:
        args = make(operands(rng, (300,), dtype, is_wild=True))
        assert is_told_alike(name, args)
        if warned(KERNELS[name], args):
            with np.errstate(all="raise", under="ignore"), pytest.raises(FloatingPointError):
                KERNELS[name](*args)
        calm = make(lambda: rng.uniform(0.1, 0.9, 300).astype(dtype))
        namespace: dict[str, Any] = {}
        exec(f"def {name}(*args): raise AssertionError('Python serves it')", namespace)
        fast.Compiled(namespace[name])(*calm)


@pytest.mark.parametrize("name", sorted(ELEMENTWISE))
def test_each_corner_is_told_alone(name: str) -> None:
    """What one element comes to is told without the help of others: 64 of them are alike."""
    corners = [0.0, 1, -1, 0.5, -2.5, 3e38, np.inf, -np.inf, np.nan]
    for make in ELEMENTWISE[name]:
        taken = [each for each in make(lambda: np.ones(1)) if isinstance(each, np.ndarray)]
        for values in itertools.product(corners[:: 1 + len(taken) // 3], repeat=len(taken)):
            for dtype in ("float32", "float64"):
                left = iter(values)
                args = make(lambda left=left, dtype=dtype: np.full(64, next(left, 1), dtype))
                assert is_told_alike(name, args), (values, dtype)


def test_sums_and_scans_warn_of_overflow() -> None:
    """Where rows come to more than the dtype holds, NumPy's warning is heard."""
    rows = np.full((4, 400), 1e38, np.float32)
    for name, args in {
        "total": (-1, False),
        "product": (-1, False),
        "running_total": (-1,),
        "mse_loss": (-rows, 0),
        "softmax": (-1,),
    }.items():
        wanted = warned(KERNELS[name].python, (np, rows, *args))
        assert warned(KERNELS[name], (np, rows, *args)) == wanted and bool(wanted) == (name != "softmax")


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16])
def test_casts_of_reduced_dtypes(dtype: Any) -> None:
    """Every number of a reduced dtype is cast, and every float32 is rounded, as NumPy does it."""
    every = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    wide = cast_array(every, np.dtype("float32"))
    assert same(wide, every.astype(np.float32)) and wide.dtype is np.dtype("float32")
    bits = seeds.numpy_generator(0).integers(0, 1 << 32, 100000, np.uint32)
    between = (wide.view(np.uint32)[:, None] + np.array([0, 1, 0xFFF, 0x1000, 0x1001, 0x7FFF, 0x8000, 0x8001])).ravel()
    for numbers in (bits, between.astype(np.uint32)):
        found = cast_array(numbers.view(np.float32), np.dtype(dtype))
        wanted = numbers.view(np.float32).astype(dtype)
        is_number = ~np.isnan(wanted.astype(np.float32))
        assert found.dtype == wanted.dtype and (found.view(np.uint16) == wanted.view(np.uint16))[is_number].all()
        assert np.isnan(found.astype(np.float32)[~is_number]).all()


def test_wrong_calls_raise_what_the_function_raises() -> None:
    """What the function refuses is refused in its words."""
    for name, args in (
        ("erf", (np,)),
        ("erf", (np, "x")),
        ("gelu", (np, np.ones(3), "other", 1, 2)),
        ("nll_loss", OUTSIDE),
    ):
        with pytest.raises((TypeError, AttributeError, IndexError)) as wanted:
            KERNELS[name].python(*args)
        with pytest.raises(wanted.type) as found:
            KERNELS[name](*args)
        assert str(found.value) == str(wanted.value)


def test_a_kernel_is_a_function_to_those_who_look() -> None:
    """Its name, signature and documentation are the function's; a function without a kernel in C is refused."""
    kernel = KERNELS["gelu"]
    assert kernel.__name__ == "gelu" and kernel.__doc__ == kernel.python.__doc__
    with pytest.raises(ValueError, match="no kernel in C is called close"):
        fast.Compiled(close)


def test_random_calls() -> None:
    """Random arrays and options give results of the shapes and dtypes that the function gives, or its errors."""
    fuzzed_kernels.main(600, seeds.seed(11))
