"""Curves of operators for the page: values and gradients of pointwise functions, and how errors grow with sizes."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Final

import opwright
from opwright.gate.loading import load_modules
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.package.declarations import REQUIRED
from opwright_core.dispatch.registry.tables import registry
from opwright_core.tensors.tensor import Tensor

__all__ = ["Curve", "curves_elsewhere", "curves_of", "limit_memory"]

_SIZES: Final = tuple(4**power for power in range(9))  # to 65,536
_POINTS: Final = 121
_REACH: Final = 4.0
_MOST_MEMORY: Final = 4 << 30  # bytes of addresses, of the process that calls operators
_MOST_SECONDS: Final = 60.0


@dataclass(frozen=True)
class Curve:
    """Lines over one axis: `lines` has the values of each by its name, None where there is no finite one."""

    operator: str
    kind: str  # "values" or "errors"
    x: tuple[float, ...]
    lines: dict[str, tuple[float | None, ...]]


def curves_of(names: Iterable[str], *, with_errors: bool = True) -> Iterator[Curve]:
    """Yield the curves of the operators of one Tensor that give one, and need nothing else; others have none.

    Operators are called: whoever asks runs this where a crash does no harm.
    """
    x = opwright.linspace(-_REACH, _REACH, _POINTS, dtype=opwright.float64)  # (which has ATen loaded)
    for name in names:
        operator = registry.operators.get(name)
        if operator is not None and _is_plain(operator):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield from filter(None, [_try(_values, operator, x)])
                yield from filter(None, [_try(_errors, operator)] if with_errors else [])


def curves_elsewhere(
    names: Iterable[str], modules: Iterable[str] = (), seconds: float = _MOST_SECONDS
) -> tuple[Curve, ...]:
    """Return the curves of operators, which a process of its own calls: those that it made before it ended, by a crash
    or since its time was over. `modules` are imported there first."""
    given = json.dumps({"names": list(names), "modules": list(modules), "seconds": seconds})
    command = [sys.executable, "-m", __name__]
    try:
        shown: str | bytes = subprocess.run(
            command, input=given, capture_output=True, text=True, timeout=2 * seconds, check=False
        ).stdout
    except subprocess.TimeoutExpired as error:
        shown = error.stdout or ""
    text = shown if isinstance(shown, str) else shown.decode("utf-8", "replace")
    return tuple(curve for line in text.splitlines() if (curve := _read_curve(line)) is not None)


def _read_curve(line: str) -> Curve | None:
    """Return the curve of a line; None for what an operator printed, or the half of a line."""
    try:
        read = json.loads(line)
        lines = {str(name): tuple(values) for name, values in read["lines"].items()}
        return Curve(str(read["operator"]), str(read["kind"]), tuple(map(float, read["x"])), lines)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def limit_memory() -> None:
    """Let this process have so many addresses at most: it calls operators with whatever is drawn."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    except (ImportError, OSError, ValueError):
        pass  # a system without limits


def main() -> None:
    """Print the curves of the operators that standard input names, a line for each."""
    limit_memory()
    given = json.load(sys.stdin)
    load_modules(given["modules"])
    end = time.monotonic() + given["seconds"]
    for curve in curves_of(given["names"]):
        print(json.dumps(asdict(curve)), flush=True)
        if time.monotonic() > end:
            break


def _is_plain(operator: Operator) -> bool:
    arguments, results = operator.parts.arguments, operator.parts.results
    needed = [each for each in arguments if each.default is REQUIRED]
    is_of_one = len(needed) == 1 and needed[0] is arguments[0] and needed[0].annotated == "Tensor"
    return is_of_one and results == ("Tensor",)


def _try(make: Callable[..., Curve | None], operator: Operator, *given: Tensor) -> Curve | None:
    try:
        found = make(operator, *given)
    except Exception:  # it takes no such argument
        return None
    return found


def _values(operator: Operator, points: Tensor) -> Curve | None:
    """Return the values between -4 and 4, and the gradients there, of a function that works on each element."""
    x = points.clone().requires_grad_()
    if operator(x[:50]).shape != (50,):
        return None
    result = operator(x)
    halves = opwright.cat([operator(x[:50]), operator(x[50:])]) if result.shape == x.shape else None
    if halves is None or result.dtype != opwright.float64 or not opwright.equal(*map(_known, (result, halves))):
        return None
    lines = {"value": _numbers(result)}
    with contextlib.suppress(Exception):  # it has no gradient
        (gradient,) = opwright.autograd.grad(result.sum(), x)
        if gradient is not None:
            lines["gradient"] = _numbers(gradient)
    if not any(value is not None for value in lines["value"]):
        return None
    return Curve(operator.name, "values", _numbers(x), lines)  # type: ignore[arg-type]


def _errors(operator: Operator) -> Curve | None:
    """Return the largest error in float32, beside float64, relative to the largest value: by the number of elements."""
    generator = opwright.Generator()
    generator.manual_seed(0)
    found: list[float | None] = []
    for size in _SIZES:
        x = opwright.rand(size, dtype=opwright.float64, generator=generator)
        close = operator(x.float())
        if close.numel() > 4 * size:  # such as a matrix of size × size: the next one would fill the memory
            return None
        exact = operator(x.float().double())
        if close.dtype != opwright.float32 or exact.dtype != opwright.float64:
            return None
        scale = exact.abs().max().item()
        error = (close.double() - exact).abs().max().item()
        found.append(error / scale if scale and isfinite(error / scale) else None)
    if not any(found):
        return None
    return Curve(operator.name, "errors", tuple(map(float, _SIZES)), {"float32": tuple(found)})


def _known(tensor: Tensor) -> Tensor:
    return opwright.nan_to_num(tensor.detach())


def _numbers(tensor: Tensor) -> tuple[float | None, ...]:
    return tuple(value if isfinite(value) else None for value in tensor.tolist())


if __name__ == "__main__":
    main()
