"""Long loops over the threads of the pool: the same bits for any number of threads, and every kind of loop is split."""

from __future__ import annotations

import ast
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kernel_calls
import numpy as np
import pytest
import seeds

import opwright
import opwright_aten
from opwright.nn import functional
from opwright_core.core import fast

pytestmark = pytest.mark.skipif(fast is None, reason="the pool is the compiled core's")
LONG = 70_001  # elements: several ranges, and a rest
Call = Callable[[], Any]


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    """Put the number of threads back."""
    before = opwright.get_num_threads()
    yield
    opwright.set_num_threads(before)


def bits(value: Any) -> list[bytes]:
    """Return what a result is, to the bit."""
    if isinstance(value, (tuple, list)):
        return [each for item in value for each in bits(item)]
    array = value.numpy() if isinstance(value, opwright.Tensor) else np.asarray(value)
    return [np.ascontiguousarray(array).tobytes()]


def split(call: Call, name: str) -> int:
    """Call with one, two and three threads, compare the bits, and return how many loops three threads shared."""
    found = []
    for threads in (1, 2, 3):
        opwright.set_num_threads(threads)
        before = fast.count_splits()
        with np.errstate(all="ignore"):
            found.append((bits(call()), fast.count_splits() - before))
    assert found[0][1] == 0, name
    assert found[0][0] == found[1][0] == found[2][0], name
    return found[2][1]


def drawn(dtype: Any = np.float32, *shape: int) -> np.ndarray[Any, Any]:
    random = seeds.numpy_generator(7)
    values = random.normal(size=shape or (LONG,)) * 3
    return values.astype(dtype) if np.dtype(dtype).kind != "u" else np.abs(values).astype(dtype)


def test_elementwise_kernels() -> None:
    kernels = dict(kernel_calls.compiled_kernels())
    for dtype in (np.float32, np.float64):
        for name, makes in kernel_calls.ELEMENTWISE.items():
            args = makes[0](lambda *shape, dtype=dtype: drawn(dtype, *shape))
            expected = name not in ("polygamma", "zeta", "xlog1py", "sinc")  # whose loops take short arrays alone
            assert split(lambda name=name, args=args: kernels[name](*args), name) == expected, name


def ufunc_rows() -> Iterator[tuple[str, int]]:
    """Yield the operators of ATen that are one ufunc, with how many operands they have."""
    text = (Path(opwright_aten.__file__).parent / "register.py").read_text("utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Tuple) and node.elts and isinstance(node.elts[0], ast.Constant):
            parts = [ast.unparse(each) for each in node.elts]
            if parts[0] == "'ufunc'":
                yield ast.literal_eval(parts[1]), len(ast.literal_eval(parts[2]))


def test_loops_of_ufuncs() -> None:
    """Of every dtype that a ufunc has a loop for; half and bfloat16 are computed in float32, block by block."""
    seen = 0
    for name, operands in sorted(set(ufunc_rows())):
        for dtype in ("float32", "float64", "int64", "uint8", "float16", "bfloat16"):
            values = drawn(np.float32)[:, None] if dtype == "bfloat16" else drawn(np.dtype(dtype))
            x = opwright.from_numpy(values.reshape(-1).astype("f4" if dtype == "bfloat16" else values.dtype))
            x = x.to(getattr(opwright, dtype))
            function = getattr(opwright, name, None)
            try:
                assert function is not None
                function(*[x] * operands)
            except Exception:
                continue  # the operator takes other dtypes
            seen += split(lambda f=function, x=x, n=operands: f(*[x] * n), f"{name} {dtype}") > 0
    assert seen > 150
    rows = opwright.from_numpy(drawn(np.float64, 300, 700))
    assert split(lambda: rows + rows[0], "rows") == 1


def _tensor(*shape: int) -> opwright.Tensor:
    return opwright.from_numpy(drawn(np.float32, *shape))


def other_calls() -> dict[str, Call]:
    """Return calls of all other loops by their names: rows, planes, channels, copies, and reductions of long rows."""
    x, m, p = _tensor(), _tensor(300, 700), _tensor(4, 16, 60, 50)
    vector, other = _tensor(700), _tensor(300, 700) * 2
    index, mask = opwright.arange(299, -1, -1), m > 0
    calls: dict[str, Call] = {}
    for name in ("sum", "mean", "amax", "prod", "count_nonzero", "var", "std", "logsumexp"):
        function = getattr(opwright, name)
        calls |= {f"{name} rows": lambda f=function: f(m, 1), f"{name} long": lambda f=function: f(x, 0)}
    calls |= {
        "sum over rows": lambda: opwright.linalg.vector_norm(m, 2, -1),
        "norm": lambda: opwright.linalg.vector_norm(x),
        "softmax": lambda: opwright.softmax(m, 1),
        "softmax beside": lambda: opwright.softmax(m, 0),
        "softmax long": lambda: opwright.softmax(x, 0),
        "log_softmax": lambda: opwright.log_softmax(m, -1),
        "log_softmax long": lambda: opwright.log_softmax(x, 0),
        "layer_norm": lambda: functional.layer_norm(m, (700,), vector, vector),
        "group_norm": lambda: functional.group_norm(p, 4),
        "batch_norm": lambda: functional.batch_norm(p, None, None, training=True),
        "batch_norm of columns": lambda: functional.batch_norm(m, None, None, training=True),
        "max and position": lambda: m.max(1),
        "cumsum": lambda: opwright.cumsum(m, 1),
        "topk": lambda: opwright.topk(m, 5),
        "where": lambda: opwright.where(mask, m, other),
        "masked_fill": lambda: m.masked_fill(mask, 2.0),
        "equal": lambda: opwright.equal(m, m.clone()),
        "full": lambda: opwright.full((LONG,), 2.0),
        "cat": lambda: opwright.cat([m, other], 1),
        "roll": lambda: opwright.roll(m, 3, 1),
        "index_select": lambda: opwright.index_select(m, 0, index),
        "index": lambda: m[index],
        "gather": lambda: opwright.gather(m, 0, index[:, None].expand(300, 700).contiguous()),
        "gather in rows": lambda: opwright.gather(m, 1, (m > 0).to(opwright.int64)),
        "scatter_add": lambda: opwright.scatter_add(m, 1, (m > 0).to(opwright.int64), other),
        "interpolate": lambda: functional.interpolate(p, (80, 70), mode="bilinear"),
        "max_pool2d": lambda: functional.max_pool2d(p, 3, 2),
        "avg_pool2d": lambda: functional.avg_pool2d(p, 2),
        "unfold": lambda: functional.unfold(p, 3, padding=1),
        "conv in strips": lambda: functional.conv2d(p, _tensor(5, 16, 3, 3), padding=1),
        "conv in strips, transposed": lambda: functional.conv_transpose2d(p, _tensor(16, 5, 3, 3)),
        "conv depthwise": lambda: functional.conv2d(p, _tensor(16, 1, 3, 3), stride=2, groups=16),
        "mse_loss": lambda: functional.mse_loss(m, other),
        "huber_loss": lambda: functional.huber_loss(m, other, reduction="none"),
        "clone": lambda: m.clone(),
        "copy_": lambda: other.clone().copy_(m),
        "cat of rows": lambda: opwright.cat([m, other]),
        "stack": lambda: opwright.stack([m, other], 1),
        "tril": lambda: opwright.tril(m),
        "round": lambda: opwright.round(m),
        "x ** 0.5": lambda: m.abs() ** 0.5,
        "sum of columns": lambda: opwright.sum(m, 0),
        "add, out=": lambda: opwright.add(m, other, out=opwright.empty(300, 700)),
        "add of rows, out=": lambda: opwright.add(m, vector, out=opwright.empty(300, 700)),
        "add of other dtypes": lambda: m + mask,
        "to float64": lambda: x.to(opwright.float64),
        "to half": lambda: x.to(opwright.float16),
        "from bfloat16": lambda: x.to(opwright.bfloat16).to(opwright.float32),
    }
    return calls


def test_other_loops() -> None:
    for name, call in other_calls().items():
        assert split(call, name) >= 1, name


def test_backward_passes() -> None:
    def gradient(function: Callable[[opwright.Tensor], opwright.Tensor], *shape: int) -> Call:
        def run() -> Any:
            x = _tensor(*shape).requires_grad_(True)
            function(x).sum().backward()
            return x.grad

        return run

    def norm(function: Callable[..., opwright.Tensor], *shape: int) -> Call:
        def run() -> Any:
            x, weight, bias = (_tensor(*each).requires_grad_(True) for each in (shape, shape[1:2], shape[1:2]))
            function(x, weight, bias).sum().backward()
            return x.grad, weight.grad, bias.grad

        return run

    calls = {
        "layer_norm": norm(lambda x, weight, bias: functional.layer_norm(x, (700,), weight, bias) ** 2, 300, 700),
        "group_norm": norm(lambda x, weight, bias: functional.group_norm(x, 4, weight, bias) ** 2, 4, 16, 60, 50),
        "interpolate": gradient(lambda x: functional.interpolate(x, (80, 70), mode="bilinear") ** 2, 4, 16, 60, 50),
        "softmax": gradient(lambda x: opwright.softmax(x, 1) ** 2, 300, 700),
        "log_softmax": gradient(lambda x: opwright.log_softmax(x, 1) ** 2, 300, 700),
        "max_pool": gradient(lambda x: functional.max_pool2d(x, 2) ** 2, 4, 16, 60, 50),
        "batch_norm": gradient(lambda x: functional.batch_norm(x, None, None, training=True) ** 3, 4, 16, 60, 50),
    }
    for name, groups in (("conv weight", 1), ("conv weight, groups", 4)):
        image, weight = _tensor(4, 16, 60, 50), _tensor(20, 16 // groups, 3, 3).requires_grad_(True)
        made = functional.conv2d(image, weight, padding=1, groups=groups)
        calls[name] = lambda made=made, weight=weight: opwright.autograd.grad(made, weight, made, retain_graph=True)
    least = {name: 1 if name.startswith("conv") else 2 for name in calls}
    for name, call in calls.items():
        assert split(call, name) >= least[name], name


def test_sums_of_long_rows_are_those_of_numpy() -> None:
    """A row of several pieces, with a rest: against float64, and with NaN and infinities."""
    x = drawn(np.float32, 2, 200_003)
    given = opwright.from_numpy(x)
    wide = x.astype(np.float64)
    assert np.allclose(given.sum(1).numpy(), wide.sum(1), rtol=1e-5)
    assert np.allclose(given.var(1).numpy(), wide.var(1, ddof=1), rtol=1e-6)
    assert np.allclose(opwright.logsumexp(given, 1).numpy(), np.log(np.exp(wide).sum(1)), rtol=1e-6)
    assert np.array_equal(given.amax(1).numpy(), x.max(1))
    assert opwright.count_nonzero(given).item() == np.count_nonzero(x)
    x[0, 150_000], x[1, 3] = np.nan, np.inf
    assert np.array_equal(given.amax(1).numpy(), [np.nan, np.inf], equal_nan=True)
    assert np.array_equal(given.sum(1).numpy(), [np.nan, np.inf], equal_nan=True)


def test_warnings_of_workers_are_the_callers() -> None:
    """The last element divides by zero, which is not in the range of the caller's own thread alone."""
    opwright.set_num_threads(3)
    x = np.ones(LONG, np.float32)
    reciprocal = dict(kernel_calls.compiled_kernels())["reciprocal_root"]
    for at in (0, LONG // 2, LONG - 1):
        x[:], x[at] = 1, 0
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            reciprocal(np, x)


def test_threads_of_python_do_not_multiply_those_of_the_pool() -> None:
    """Sixteen threads at once: one at a time has the pool, the others run alone, and all get their own results."""
    opwright.set_num_threads(3)
    wanted, wrong = {n: bits(opwright.exp(_tensor() * n)) for n in range(16)}, []

    def work(n: int) -> None:
        x = _tensor()
        for _ in range(5):
            if bits(opwright.exp(x * n)) != wanted[n]:
                wrong.append(n)

    running = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    for each in running:
        each.start()
    for each in running:
        each.join()
    assert not wrong


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_long_writes_in_place_are_split(dtype: Any) -> None:
    first, second = drawn(dtype), np.abs(drawn(dtype)) + 1
    names: list[tuple[str, tuple[Any, ...]]] = [("add", (second,)), ("mul", (2,)), ("sub", (second,)), ("neg", ())]
    names += [("exp", ()), ("sin", ())] if dtype is not np.int64 else []
    for name, others in names:
        given = [opwright.from_numpy(each) if isinstance(each, np.ndarray) else each for each in others]

        def write(name: str = name, given: list[Any] = given) -> opwright.Tensor:
            written = opwright.from_numpy(first.copy())
            before = written._version
            assert getattr(written, f"{name}_")(*given) is written and written._version == before + 1
            expected = getattr(opwright.from_numpy(first), name)(*given)
            assert bits(written) == bits(expected), name
            return written

        is_split = split(write, name) == 2  # the write, and what it is compared with
        assert is_split or dtype is np.int64, name  # (of integers, NumPy computes some)


@pytest.mark.parametrize("count", [100, 5000, LONG])
def test_writes_in_place_tell_of_errors(count: int) -> None:
    x = opwright.from_numpy(np.full(count, 1000.0))
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow encountered in exp"):
        x.exp_()
    assert x[-1] == np.inf  # NumPy, too, has written by then
    with warnings.catch_warnings():  # of which nobody hears, as of any other write
        warnings.simplefilter("error")
        opwright.from_numpy(np.full(count, -1.0)).log_()
