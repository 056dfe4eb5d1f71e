"""Precision: the digits that a dtype has, in results and in sums."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from opwright.testing import closeness
from opwright_core.arrays.dtypes import bfloat16, float16, float32, float64
from opwright_gate.cases import Array, Case, drawn
from opwright_gate.comparing import first_difference
from opwright_gate.properties.property import SECONDS, Problem, Property
from opwright_gate.samples import Samples
from opwright_gate.subjects import Subject
from opwright_gate.verdicts import Verdict

__all__ = ["Precision"]


class Precision(Property):
    """Precision without a reference: float64 is float64, and lower dtypes are near it."""

    name, title, group = "precision-of-dtypes", "Computes in the precision of its dtypes", "values"
    finds = "A float64 result with float32's digits, and sums that are kept in half precision."
    example = "def kernel(x):\n    return np.sin(x.astype(np.float32)).astype(x.dtype)"
    mend = "Compute in the dtype of the arguments; sum halves in float32."

    def check(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield a verdict for float64, and for each lower dtype."""
        wide = samples.floats.get(float64)
        if wide is None or samples.why_unstable or any(isinstance(each, np.dtype) for each in wide.values):
            return  # (a dtype that is asked for is the one to compute in)
        yield from self._in_float32(subject, wide)
        until = math.inf  # the first one is asked at each size, however slow
        for dtype in [each for each in (float16, bfloat16, float32) if each in samples.floats]:
            yield from self._in_low(subject, wide, dtype, until)
            until = time.process_time() + SECONDS / 4

    def _in_float32(self, subject: Subject, case: Case) -> Iterator[Verdict]:
        sizes = dict(zip(case.sizes, (5, 7, 3, 4), strict=False))
        case = case.resized(sizes) if subject.refusal(case.resized(sizes)) is None else case
        for name, array in _several(subject, case):
            if array.dtype != np.float64 or not array.size or name.startswith("argument"):
                continue
            finite = array[np.isfinite(array)]
            with np.errstate(all="ignore"):
                as_floats = finite.astype(np.float32).astype(np.float64) == finite
                has_digits = finite.astype(np.float16).astype(np.float64) != finite
            copied = {float(each) for a in case.arrays for each in a.values.ravel()} & {float(each) for each in finite}
            if as_floats.all() and has_digits.sum() >= 4 and has_digits.mean() > 0.5 and not copied:
                why = f"all of {name}, in float64, is what float32 can hold: it is computed in float32"
                check = ("assert (result.numpy().astype(np.float32) != result.numpy()).any()",)
                yield self.broken(subject, case, Problem("computed-in-float32", why, check))
                return

    def _in_low(self, subject: Subject, wide: Case, dtype: Any, until: float) -> Iterator[Verdict]:
        for size in wide.sizes:
            for grown in subject.grown(wide, {size: 4097}) if time.process_time() < until else ():
                low = grown.converted(lambda a, p: _cast(drawn(a.values.shape, np.float64, p + 1), a, dtype))
                high = low.converted(lambda a, _: _cast(a, a, float64))
                found, wanted = subject.run(low), subject.run(high)
                if found.error is not None or wanted.error is not None:
                    continue
                for (name, one), (_, other) in zip(found.outputs, wanted.outputs, strict=False):
                    if _is_far(one, other, dtype):
                        cause = "low-precision" if dtype is float32 else "half-accumulation"
                        where = first_difference(one, other)
                        at = tuple(where)
                        why = f"{name} in {dtype} at a size of 4097 is {one[at]}, and {other[at]} in float64"
                        yield self.broken(subject, low, Problem(cause, why))
                        return


def _several(subject: Subject, case: Case) -> list[tuple[str, np.ndarray[Any, Any]]]:
    """Return the outputs of a call: where these are few numbers, those of calls with other values behind them."""
    found: list[tuple[str, np.ndarray[Any, Any]]] = subject.run(case).outputs
    for seed in range(1, 8) if all(array.size < 4 for _, array in found) else ():
        other = subject.run(case.converted(partial(_drawn_again, seed=100 * seed)))
        found = [(name, np.append(one, two)) for (name, one), (_, two) in zip(found, other.outputs, strict=False)]
    return found


def _drawn_again(value: Array, place: int, *, seed: int) -> Array:
    array = value.values
    return drawn(array.shape, array.dtype, seed + place) if array.dtype.kind == "f" else value


def _cast(value: Array, like: Array, dtype: Any) -> Array:
    if like.values.dtype.kind in "biuc":
        return like
    text = f"abs({value.text}).astype({str(np.dtype(dtype))!r})" if value.text else ""
    return Array(np.abs(value.values).astype(dtype), text=text)


def _is_far(found: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any], dtype: Any) -> bool:
    """Whether most elements are off by far more than rounding the result does, in float: no jump of a step function."""
    if found.dtype != dtype or wanted.dtype != np.float64 or found.shape != wanted.shape or not found.size:
        return False
    rtol = closeness.TOLERANCES[np.dtype(dtype)][0] if np.dtype(dtype) in closeness.TOLERANCES else 1e-3
    with np.errstate(all="ignore"):
        one = found.astype(np.float64)
        usable = np.isfinite(wanted) & np.isfinite(one) & (np.abs(wanted) > 1e-3)
        off = np.abs(one - wanted) > 40 * rtol * np.abs(wanted)
    return bool(usable.any() and (off & usable).sum() > 0.5 * usable.sum() and usable.sum() > 0.5 * found.size)
