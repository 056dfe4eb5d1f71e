"""Calls of operators, drawn and recorded in one process, repeated in another: what a release changed in results.

    python -m opwright.testing.recorded_calls record FILE <wishes
    python -m opwright.testing.recorded_calls repeat FILE <wishes

The wishes are JSON: `packages` to import, `operators`, whether `fakes` and `values` are looked at, and the `seed`.
`repeat` prints a list of what differs. FILE is a pickle: it is read by the program that had it written.
"""

from __future__ import annotations

import importlib
import json
import pickle
import sys
import warnings
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from opwright.errors import LibraryMissingError
from opwright.fake import FakeTensorMode
from opwright.testing.closeness import assert_close
from opwright.testing.sampler import Sample, samples
from opwright_core.arrays.dtypes import float32, float64, int64
from opwright_core.dispatch.call.operator import Operator, find_operator
from opwright_core.errors import DispatchError
from opwright_core.tensors.tensor import Tensor

__all__ = ["Call", "recorded", "repeated"]

_DTYPES: Final = (float32, float64, int64)
_SITUATIONS: Final = ("contiguous", "transposed", "broadcast", "0-dim", "empty")
_MOST: Final = 12  # calls of an operator


class Call(NamedTuple):
    """One call and what came of it: shapes, dtypes and strides of results without data, and results with data, after
    them the arguments as they were left. None is what was not looked at, or is not known."""

    sample: Sample
    fakes: list[Any] | None
    values: list[Any] | None


def recorded(name: str, *, fakes: bool, values: bool, seed: int) -> list[Call]:
    """Return calls of an operator, drawn from its schema. Operators whose library is missing have none."""
    operator = find_operator(name)
    try:
        drawn = list(islice(samples(operator, dtypes=_DTYPES, situations=_SITUATIONS, seed=seed), _MOST))
    except LibraryMissingError:
        return []
    values = values and "nondeterministic_seeded" not in operator.tags
    return [
        Call(each, _faked(operator, each) if fakes else None, _called(operator, each) if values else None)
        for each in drawn
    ]


def repeated(name: str, calls: Iterable[Call]) -> Iterator[tuple[str, str]]:
    """Yield what differs: a code and the first difference of its kind, with the call."""
    operator, seen = find_operator(name), set[str]()
    for call in calls:
        for code, problem in _differences(operator, call):
            if code not in seen:
                seen.add(code)
                yield code, f"{problem}, of the arguments {call.sample}"


def _differences(operator: Operator, call: Call) -> Iterator[tuple[str, str]]:
    try:
        if call.values is not None:
            now = _called(operator, call.sample)
            try:
                assert_close(now, call.values, equal_nan=True, check_dtype=False)
            except AssertionError as error:
                said = [line for line in str(error).splitlines() if line][-3:]
                yield "value-changed", f"values differ: {'; '.join(said)}"
        if call.fakes is not None and (found := _faked(operator, call.sample)) is not None and found != call.fakes:
            yield "fake-changed", f"results are {_shown(found)} instead of {_shown(call.fakes)}"
    except LibraryMissingError:
        return
    except Exception as error:
        yield "call-refused", f"the call raises {type(error).__name__}: {str(error).partition(chr(10))[0]}"


def _called(operator: Operator, sample: Sample) -> list[Any]:
    """Return the results, and the tensors among the arguments as the call left them."""
    real = sample.copied()
    result = operator(*real.args, **real.kwargs)
    return [_dense(each) for each in (*_flat(result), *_flat([*real.args, *real.kwargs.values()]))]


def _dense(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, Tensor) else value


def _faked(operator: Operator, sample: Sample) -> list[Any] | None:
    """Return shape, dtype and strides of each result, found without data; None where no fake kernel says them."""
    mode = FakeTensorMode()
    faked = sample.converted(mode.from_tensor)
    try:
        with mode:
            result = operator(*faked.args, **faked.kwargs)
    except (DispatchError, NotImplementedError):
        return None
    return [(tuple(each.shape), str(each.dtype), tuple(each.stride())) for each in _flat(result)]


def _flat(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _flat(item)


def _shown(facts: list[Any]) -> str:
    return ", ".join(f"{dtype}{list(shape)} with strides {list(strides)}" for shape, dtype, strides in facts)


def main(words: list[str]) -> int:
    """Record calls, or repeat them; the status."""
    wishes = json.load(sys.stdin)
    warnings.simplefilter("ignore")
    for package in wishes["packages"]:
        importlib.import_module(package)
    verb, file = words[0], Path(words[1])
    if verb == "record":
        wanted = {key: wishes[key] for key in ("fakes", "values", "seed")}
        file.write_bytes(pickle.dumps({name: recorded(name, **wanted) for name in wishes["operators"]}))
        return 0
    found = [
        {"operator": name, "code": code, "message": message}
        for name, calls in pickle.loads(file.read_bytes()).items()
        for code, message in repeated(name, calls)
    ]
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
