"""Plans that shims and the compiled core keep: what they depend on changes them, and nothing else does."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import seeds

import opwright
from opwright_core.plans.plan import Plan
from opwright_core.plans.plan_cache import PlanCache


def arrays() -> list[np.ndarray[Any, Any]]:
    """Arrays that differ in what plans depend on: one of these alone, or several."""
    base = seeds.numpy_generator(0).random((4, 6)).astype(np.float32)
    return [
        base, base.T, base[::2], base[:, ::2], base[::-1], base.astype(np.float64), (base * 9).astype(np.int64),
        base.astype(np.float16), base[:1], base[:, :1], base.reshape(6, 4), base[:, :0],
        np.broadcast_to(base[0], (4, 6)),
    ]  # fmt: skip


CALLS: dict[str, Callable[[opwright.Tensor], Any]] = {
    "sum": lambda x: x.sum(0),
    "sum, keepdim": lambda x: x.sum(0, keepdim=True),
    "cumsum": lambda x: opwright.cumsum(x, 1),
    "max": lambda x: opwright.max(x, 0),
    "cat": lambda x: opwright.cat([x, x], 1),
    "softmax": lambda x: opwright.softmax(x, 0),
    "zeros_like": opwright.zeros_like,
    "clamp": lambda x: opwright.clamp(x, 0.25, 0.5),
    "matmul": lambda x: opwright.matmul(x, x.t()),
    "transpose": lambda x: x.transpose(0, 1),
    "select": lambda x: x.select(0, 0),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "diagonal": lambda x: x.diagonal(),
    "slice": lambda x: x[1:3, ::2],
    "add, out=": lambda x: opwright.add(x, x, out=opwright.empty([0], dtype=x.dtype)),
}


def seen(result: Any) -> Any:
    """What tells results apart."""
    if isinstance(result, tuple):
        return [seen(each) for each in result]
    return (result.array.shape, result.array.strides, result.array.dtype, result.keys, result.array.tobytes())


def called(call: Callable[[opwright.Tensor], Any], x: opwright.Tensor) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return seen(call(x))
        except Exception as error:
            return type(error), str(error)


@pytest.mark.parametrize("name", CALLS)
def test_calls_in_any_order_give_what_the_first_gave(name: str) -> None:
    tensors = [opwright.from_numpy(array) for array in map(np.array, arrays())]
    tensors += [opwright.from_numpy(each) for each in arrays() if each.flags.writeable]
    first = [called(CALLS[name], tensor) for tensor in tensors]
    rng = seeds.numpy_generator(name)
    for _ in range(40):
        place = int(rng.integers(len(tensors)))
        assert called(CALLS[name], tensors[place]) == first[place]


def test_views_are_views() -> None:
    for _ in range(3):
        x = opwright.zeros([4, 6])
        for view in (x.t(), x.select(1, 2), x.unsqueeze(0), x.diagonal(), x.t().select(0, 1), x[1:, 2:]):
            view.fill_(1.0)
            assert view._base is x and x.array.sum() == view.numel()
            x.zero_()
        assert x.detach().unsqueeze(0)._version == x._version > 0


def test_views_of_what_cannot_be_written_to_cannot() -> None:
    writeable, fixed = np.zeros((2, 3)), np.zeros((2, 3))
    fixed.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tensors = [opwright.from_numpy(each) for each in (writeable, fixed, writeable, fixed)]
    assert [each.select(0, 1).array.flags.writeable for each in tensors] == [
        each.array.flags.writeable for each in tensors
    ]


def test_numbers_of_another_type_are_another_call() -> None:
    for _ in range(3):
        for fill in (1, 1.0, True):
            assert opwright.full([2], fill).dtype == {int: "int64", float: "float32", bool: "bool"}[type(fill)]


def test_numbers_keep_their_sign() -> None:
    x = opwright.tensor([-1.0, -2.0])
    for _ in range(4):
        for bound in (0.0, -0.0, 1.0, -3.0):
            least = opwright.clamp(x, min=bound)
            assert (np.signbit(least.array) == np.signbit(np.maximum(x.array, np.float32(bound)))).all()
            assert opwright.clamp(x, bound, bound).tolist() == [bound, bound]


def test_what_is_laid_out_otherwise_is_planned_anew() -> None:
    row, column = opwright.zeros([3, 4]), opwright.zeros([4, 3]).t()
    for _ in range(4):
        assert opwright.sigmoid(row).stride() == opwright.add(row, row, alpha=2).stride() == (4, 1)
        assert opwright.sigmoid(column).stride() == opwright.add(column, column, alpha=2).stride() == (1, 3)
        assert opwright.pow(row, column).stride() == (4, 1) and opwright.pow(column, row).stride() == (1, 3)
        assert opwright.clone(column).stride() == (1, 3) and opwright.clone(row[:, :2]).stride() == (2, 1)


@pytest.mark.parametrize("rows", [2, 64])  # small answers are laid out by the core, large ones by the shim
def test_what_is_copied_lies_as_asked_for(rows: int) -> None:
    x = opwright.zeros(rows, 8, 4, 8).transpose(1, 2)
    for _ in range(3):
        for format, strides in (
            (opwright.contiguous_format, (256, 64, 8, 1)),
            (opwright.preserve_format, (256, 8, 32, 1)),
        ):
            assert x.clone(memory_format=format).stride() == strides


def test_answers_are_new_each_time() -> None:
    x = opwright.ones([2, 3])
    for call in (opwright.clone, lambda x: opwright.pow(x, 1), lambda x: opwright.flip(x, [0]), opwright.round):
        for _ in range(3):
            call(x).zero_()
            assert x.tolist() == [[1.0] * 3] * 2


def test_the_default_dtype_is_asked_for() -> None:
    try:
        for dtype in (opwright.float32, opwright.float64, opwright.float32, opwright.float64):
            opwright.set_default_dtype(dtype)
            for _ in range(3):
                assert opwright.zeros([3]).dtype == dtype
                assert opwright.mean(opwright.full([2], 2.0)).dtype == dtype
    finally:
        opwright.set_default_dtype(opwright.float32)


def test_errors_are_worded_alike_each_time() -> None:
    x = opwright.zeros([2, 3])
    x.select(0, 1)
    said = set()
    for _ in range(4):
        with pytest.raises(IndexError) as caught:
            x.select(0, 5)
        said.add(str(caught.value))
    assert len(said) == 1
    with np.errstate(over="raise"):
        for _ in range(3):
            with pytest.raises(FloatingPointError):
                opwright.prod(opwright.full([2], 3e38), 0)


def test_tables_are_bounded() -> None:
    specs = PlanCache("T")
    plan = Plan(opwright.rules.like(np.zeros(3)).spec, ())
    for number in range(10_000):
        specs.fill(number, plan)
        assert len(specs) <= PlanCache.most
    with pytest.raises(RuntimeError, match="take the operands as they are"):
        specs.fill(0, plan, np.zeros(3))


def test_threads_share_what_is_kept() -> None:
    wrong: list[Any] = []

    def work(seed: int) -> None:
        rng = seeds.numpy_generator(seed)
        for _ in range(300):
            rows, columns = (int(each) for each in rng.integers(1, 12, 2))
            array = rng.random((rows, columns))
            x = opwright.from_numpy(array).t()
            got = opwright.cumsum(x, 0).array, x.unsqueeze(1).array, opwright.clamp(x, rng.random()).array.shape
            if not (np.array_equal(got[0], np.cumsum(array.T, 0)) and np.array_equal(got[1], array.T[:, None])):
                wrong.append((rows, columns))
            if got[2] != (columns, rows):
                wrong.append(got[2])

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("alpha", [0.5, -2.0, float("nan"), 1e300])
@pytest.mark.parametrize("dtype", [opwright.float32, opwright.float64, opwright.int64])
def test_a_factor_is_served_and_refused_as_in_calls_by_a_plan(alpha: float, dtype: Any) -> None:
    """What is plain is added at once; an expanded operand never is."""
    for name in ("add", "sub", "add_", "sub_"):
        found = []
        for other in (opwright.ones(2, 3, dtype=dtype), opwright.ones(1, 1, dtype=dtype).expand(2, 3)):
            x = opwright.ones(2, 3, dtype=dtype)
            found.append(called(lambda x, other=other, name=name: getattr(x, name)(other, alpha=alpha), x))
        assert found[0] == found[1], name


def test_writes_in_place_by_a_kept_form_see_memory_that_is_shared() -> None:
    for _ in range(3):
        x = opwright.arange(6.0)
        version = x._version
        assert x.zero_() is x and not x.array.any() and x._version == version + 1
        x.copy_(opwright.arange(6))
        view = opwright.as_strided(x, [3], [1], 1)
        with pytest.raises(RuntimeError, match="single memory location"):
            view.copy_(opwright.as_strided(x, [3], [1], 0))
        assert view.copy_(x[3:] + 0) is view and x.tolist() == [0, 3, 4, 5, 4, 5]
        x.addcmul_(x, x)
        assert x.tolist() == [0, 12, 20, 30, 20, 30]
        with pytest.raises(RuntimeError, match="must match"):
            x.copy_(opwright.ones(4))
