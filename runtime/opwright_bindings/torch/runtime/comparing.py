"""Operators of ours and of PyTorch called with the same drawn arguments: are the results and what is written equal?

Tests that `opwright import torch` writes are made of this. PyTorch judges what is a call: of drawn arguments those
count that it takes, and whose results are neither sparse nor nested.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any, Final

import torch

from opwright.testing import Sample, arguments, sampler
from opwright_bindings.torch.runtime.calls import has_known_layout, in_own_memory, overload_named, theirs_of
from opwright_bindings.torch.runtime.differing import difference
from opwright_core.arrays.dtypes import as_dtype
from opwright_core.dispatch.call.operator import Operator, find_operator
from opwright_core.dispatch.registry.tables import registry

__all__ = ["Call", "calls", "operators_of"]

_SITUATIONS: Final = ("contiguous", "transposed", "sliced", "0-dim", "empty")
_TRIES: Final = 12  # for one call that PyTorch takes
_SEED: Final = 20


@dataclass(frozen=True)
class Call:
    """One call that PyTorch takes: its arguments, and what is different, None where nothing is."""

    arguments: str
    difference: str | None


def operators_of(namespace: str) -> list[str]:
    """Return the names of all operators of a namespace that are defined, `NAMESPACE::NAME.OVERLOAD`."""
    with registry.lock:
        return sorted(name for name in registry.operators if name.startswith(f"{namespace}::"))


def calls(
    name: str,
    namespace: str,
    samples: Sequence[Sample] = (),
    *,
    dtypes: Sequence[object] = sampler.DTYPES[:4],
    situations: Sequence[str] = _SITUATIONS,
    seed: int = 0,
) -> Iterator[Call]:
    """Call the operator `name` and that of the same name in PyTorch's `namespace`: with the `samples`, and with drawn
    arguments, one call that PyTorch takes for each dtype and situation of `opwright.testing.samples`.

    Results and arguments are to be equal to the bit afterwards: shapes, strides, dtypes, and values, which operators
    that draw numbers draw from the same seed, and new memory is filled. Where PyTorch does not agree with itself,
    because it returns memory that nobody has written, values do not count. Raises RuntimeError where PyTorch has no
    such operator.
    """
    operator = find_operator(name)
    theirs = overload_named(f"{namespace}::{name.partition('::')[2]}")
    for sample in samples:
        yield _compared(operator, theirs, sample) or Call(str(sample), "PyTorch takes no such arguments")
    if not operator.signature.tensors:
        dtypes, situations = dtypes[:1], situations[:1]
    for dtype in map(as_dtype, dtypes):
        for situation in situations:
            random = Random(f"{name} {dtype} {situation} {seed}")
            for _ in range(_TRIES):
                args, kwargs = arguments.draw(operator, dtype, situation, random)
                call = _compared(operator, theirs, Sample(tuple(args), kwargs))
                if call is not None:
                    yield call
                    break


def _compared(operator: Operator, theirs: Any, sample: Sample) -> Call | None:
    """Return the call with what is different; None where PyTorch refuses it, or makes what we do not have of it."""
    given, expected, has_strides = _call_theirs(theirs, sample)
    if isinstance(expected, Exception) or not _is_known(expected):
        return None
    left, found = _call_ours(operator, sample)
    if isinstance(found, Exception):
        return Call(str(sample), f"{type(found).__name__}: {found}")
    ours = {"the result": found, "the arguments": left}
    pytorchs = {"the result": expected, "the arguments": given}
    different = difference(ours, pytorchs, with_strides=has_strides)
    if different is not None and _is_arbitrary(theirs, sample, pytorchs):
        different = difference(ours, pytorchs, with_strides=has_strides, with_values=False)
    return Call(str(sample), different)


def _is_known(result: Any) -> bool:
    """Whether all tensors of a result are such as Opwright has: of others ours raises TypeError."""
    if isinstance(result, torch.Tensor):
        return has_known_layout(result)
    return not isinstance(result, list | tuple) or all(map(_is_known, result))


def _is_arbitrary(theirs: Any, sample: Sample, first: dict[str, Any]) -> bool:
    """Whether PyTorch gives other values at a second call, with other arrays in new memory."""
    kept = [torch.full((size,), 3.25) for size in (1, 4, 16, 64, 256) for _ in range(8)]
    del kept
    given, result, _ = _call_theirs(theirs, sample)
    return difference({"the result": result, "the arguments": given}, first) is not None


def _call_theirs(theirs: Any, sample: Sample) -> tuple[list[Any], Any, bool]:
    """Return the arguments as PyTorch has left them, its result or what it raised, and whether arguments lie as they
    were given."""
    copied = sample.copied()
    values = [theirs_of(value) for value in (*copied.args, *copied.kwargs.values())]
    result = _run(theirs, sample, values)
    if isinstance(result, Exception) and "not resizable" in str(result):  # memory of NumPy
        is_written = {a.name: a.alias_info is not None and a.alias_info.is_write for a in theirs._schema.arguments}
        written = [*list(is_written.values())[: len(sample.args)], *(is_written[name] for name in sample.kwargs)]
        values = [in_own_memory(value) if w else value for value, w in zip(values, written, strict=True)]
        return values, _run(theirs, sample, values), False
    return values, result, True


def _run(theirs: Any, sample: Sample, values: Sequence[Any]) -> Any:
    count = len(sample.args)
    try:
        with _filled(), torch.no_grad():
            return theirs(*values[:count], **dict(zip(sample.kwargs, values[count:], strict=True)))
    except Exception as error:
        return error


def _call_ours(operator: Operator, sample: Sample) -> tuple[list[Any], Any]:
    copied = sample.copied()
    values = [*copied.args, *copied.kwargs.values()]
    try:
        with _filled():
            return values, operator(*copied.args, **copied.kwargs)
    except Exception as error:
        return values, error


@contextmanager
def _filled() -> Iterator[None]:
    """Run with PyTorch's generator at a known state, and memory that is new filled."""
    was_on, warns = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    set_deterministic = torch._C._set_deterministic_algorithms  # torch's own function loads its compiler
    set_deterministic(True, warn_only=True)
    torch.default_generator.manual_seed(_SEED)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        set_deterministic(was_on, warn_only=warns)
