"""Random calls of what the compiled core serves, compared with another process that runs the Python in its place.

Run by hand, also with sanitizers: `fast/README.md` says how. `python tests/fuzz_core.py CALLS SEED`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import opwright
from opwright_core.core import fast

NAMES = (
    "add", "sub", "mul", "div", "maximum", "atan2", "pow", "remainder", "eq", "lt", "logical_and", "bitwise_and", "exp",
    "log", "sqrt", "neg", "abs", "sin", "tanh", "reciprocal", "isnan", "sum", "mean", "amax", "cat", "cumsum", "where",
    "clamp", "transpose", "permute", "zeros", "full", "matmul", "copysign", "floor", "rsub", "addcmul", "hypot", "relu",
)  # fmt: skip
DTYPES = (np.float32, np.float64, np.int64, np.int32, np.bool_, np.complex64, np.float16, np.uint8)
SHAPES = ((4,), (4,), (4,), (2, 3), (3,), (1,), (), (0,), (600,), (2, 2))
SYMBOLS = (
    "__add__",
    "__rsub__",
    "__mul__",
    "__truediv__",
    "__eq__",
    "__lt__",
    "__neg__",
    "__pow__",
    "__and__",
)
# Loops of our own report no floating-point errors, where the Python functions do. (Those that compute in other steps
# than these are not here: `runtime/core/fuzzed_kernels.py` compares them, by how far they are apart.)
SILENT = ("sum", "mean", "amax", "addcmul")
# Of 0 and -0, which are equal, these give one: NumPy's loops differ in which.
TIED = ("amax", "clamp", "maximum")
METHODS = ("add_", "mul_", "view", "add", "__iadd__", "sum", "exp_", "copy_", "reshape", "clone")


class Sub(opwright.Tensor):
    """A subclass, which the core leaves to the Python."""


def value(draw: random.Random) -> Any:
    """Return an argument of any kind."""
    kind = draw.randrange(16)
    if kind < 9:
        found = opwright.from_numpy(array(draw))
        if draw.randrange(4) == 0 and found.is_floating_point():
            found.requires_grad_()
        if draw.randrange(6) == 0 and found.ndim:
            found = found[: max(1, len(found) // 2)] if draw.randrange(2) else found.view(found.shape)
        return found.as_subclass(Sub) if draw.randrange(20) == 0 else found
    if kind < 11:
        plain = array(draw)
        return plain.astype(plain.dtype.newbyteorder()) if draw.randrange(30) == 0 else plain
    numbers: list[Any] = [0, 1, 2, -1, 2**40, 2**63, 2**70, 0.5, -0.0, 1e300, 1e-320, float("nan"), float("inf"), True]
    others: list[Any] = [None, 1j, "floor", opwright.float64, [0], [1, 0], [2, 2], (1, 0), np.float64(2), int]
    return draw.choice(numbers if kind < 14 else others)


def array(draw: random.Random) -> np.ndarray[Any, Any]:
    """Return an array of some dtype, shape, layout and odd values."""
    kind, shape = draw.choice(DTYPES), draw.choice(SHAPES)
    values = [draw.choice((0, 1, 2, 3, -1, 100)) for _ in range(int(np.prod(shape)))]
    with np.errstate(all="ignore"):
        found = np.array(values).astype(kind).reshape(shape)
    if found.dtype.kind == "f" and draw.randrange(4) == 0 and found.size:
        found.flat[0] = draw.choice((np.nan, np.inf, -0.0))
    if draw.randrange(8) == 0 and found.ndim:
        return np.repeat(found, 2, axis=-1)[..., ::2]
    return found


def outcome(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], passes: int) -> Any:
    """Return what a call, and so many backward passes from its result, gave or raised, and what it warned of."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        found = _outcome(function, args, kwargs, passes)
    said = [(each.category.__name__, str(each.message)) for each in warned]
    return found, [each for each in said if "encountered in" not in each[1]]  # filtered, or not made at all


def _outcome(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], passes: int) -> Any:
    try:
        found = function(*args, **kwargs)
        if passes and isinstance(found, opwright.Tensor) and found.requires_grad and not _sums_several(found, args):
            ones = opwright.ones_like(found.detach())
            for left in reversed(range(passes)):
                found.backward(ones if found.ndim or left else None, retain_graph=left > 0)
        return described(found, with_sign=function.__name__ not in TIED)
    except Exception as error:
        return type(error).__name__, str(error)


def _sums_several(found: opwright.Tensor, args: tuple[Any, ...]) -> bool:
    """Whether a gradient is the sum of three numbers or more, which the core adds in another order than NumPy."""
    inputs = [each for each in args if isinstance(each, opwright.Tensor) and each.requires_grad]
    return found.numel() > 2 and any(each.numel() < found.numel() for each in inputs)


def described(found: Any, with_sign: bool = True) -> Any:
    """Return all that can be seen of a result; without the sign of zeros where that is chance."""
    if isinstance(found, opwright.Tensor):
        node = found.grad_fn and (found.grad_fn.name(), [type(each).__name__ for each in found.grad_fn.edges])
        grad = None if found.extra is None else found.extra.grad
        # (strides of dimensions of one element are the leaf's, or the gradient's own if the core could keep it)
        kept = None if grad is None else grad.squeeze()
        return type(found).__name__, found.keys, node, described(found.array, with_sign), described(kept)
    if isinstance(found, np.ndarray):
        # (the sign of a NaN is chance)
        same = np.where(np.isnan(found), np.nan, found) if found.dtype.kind in "fc" else found
        same = same if with_sign or found.dtype.kind != "f" else same + same.dtype.type(0)
        return found.shape, found.strides, str(found.dtype), same.tobytes()
    return [described(each, with_sign) for each in found] if isinstance(found, list | tuple) else repr(type(found))


def outcomes(calls: int, seed: int) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield the call, and what came of it and is left of the arguments."""
    draw = random.Random(seed)
    functions = [getattr(opwright, name) for name in NAMES]
    functions += [getattr(opwright.Tensor, name) for name in (*SYMBOLS, *METHODS)]
    for _ in range(calls):
        function = draw.choice(functions)
        args = tuple(value(draw) for _ in range(draw.choice((1, 1, 2, 2, 2, 3))))
        if function.__name__ in ("zeros", "full") and _is_vast(args[0]):
            continue
        names = ("alpha", "dim", "dtype", "other", "nonsense")
        kwargs = {draw.choice(names): value(draw)} if draw.randrange(9) == 0 else {}
        block: Any = draw.choice((opwright.no_grad, contextlib.nullcontext, contextlib.nullcontext, raising))
        if block is raising and function.__name__ in SILENT:
            block = contextlib.nullcontext
        with block():
            found = outcome(function, args, kwargs, draw.choice((0, 1, 1, 2)))
        yield (function, args, kwargs), (found, [described(each) for each in args])


def _is_vast(size: Any) -> bool:
    """Whether an array of this size may or may not be had, which depends on how memory is checked."""
    sizes = size.tolist() if isinstance(size, opwright.Tensor | np.ndarray) and size.ndim == 1 else []
    return 10**8 < abs(np.prod(np.array(sizes, dtype=complex))) < 10**12


def raising() -> Any:
    """Return a block in which NumPy raises where it warns else."""
    return np.errstate(all="raise")


def digest(found: Any) -> str:
    """Return a line for an outcome."""
    return hashlib.sha256(repr(found).encode()).hexdigest()[:16]


def compare(calls: int, seed: int) -> None:
    """Make calls here, and in a process that runs Python alone. Raises AssertionError at the first that differs."""
    command = [sys.executable, __file__, str(calls), str(seed), "alone"]
    environment = {**os.environ, "OPWRIGHT_PURE": "1", "LD_PRELOAD": ""}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as python:
        assert python.stdout is not None
        for number, (call, found) in enumerate(outcomes(calls, seed)):
            if (line := python.stdout.readline().strip()) != digest(found):
                python.kill()
                raise AssertionError(
                    f"call {number} differs ({line or 'Python ended'}): {call!s:.2000}\n{found!s:.2000}"
                )


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of what draws arguments and describes results
    count, start = int(sys.argv[1]), int(sys.argv[2])
    if sys.argv[3:]:
        for _, found in outcomes(count, start):
            print(digest(found))
    else:
        assert fast is not None, opwright.dispatch.core().reason
        compare(count, start)
        print(f"{count} calls, none differs")
