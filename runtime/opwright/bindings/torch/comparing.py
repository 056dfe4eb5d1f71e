"""Operators of ours and of PyTorch called with the same drawn arguments: are the results and what is written equal?

Tests that `opwright import torch` writes are made of this. PyTorch judges what is a call: of drawn arguments those
count that it takes, and what it refuses ours has to refuse, too.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any, Final

import numpy as np
import torch

from opwright.bindings.torch.calls import in_own_memory, overload_named, theirs_of
from opwright.bindings.torch.values import torch_tensor
from opwright.testing.arguments import draw
from opwright.testing.sampler import DTYPES, Sample
from opwright_core.arrays.dtypes import as_dtype
from opwright_core.dispatch.call.operator import Operator, find_operator
from opwright_core.dispatch.registry.tables import registry
from opwright_core.tensors.tensor import Tensor

__all__ = ["Compared", "compare", "operators_of"]

_SITUATIONS: Final = ("contiguous", "transposed", "sliced", "0-dim", "empty")
_TRIES: Final = 12  # for one call that PyTorch takes
_SEED: Final = 20


@dataclass(frozen=True)
class Compared:
    """The calls of one operator: how many PyTorch took, and what was different, a text for each such call."""

    calls: int
    differences: tuple[str, ...]


def operators_of(namespace: str) -> list[str]:
    """Return the names of all operators of a namespace that are defined, `NAMESPACE::NAME.OVERLOAD`."""
    with registry.lock:
        return sorted(name for name in registry.operators if name.startswith(f"{namespace}::"))


def compare(
    name: str,
    namespace: str,
    *,
    dtypes: Sequence[object] = DTYPES[:4],
    situations: Sequence[str] = _SITUATIONS,
    seed: int = 0,
) -> Compared:
    """Call the operator `name` and that of the same name in PyTorch's `namespace` with drawn arguments, one call that
    PyTorch takes for each dtype and situation of `opwright.testing.samples`.

    Results and arguments are to be equal to the bit afterwards: shapes, strides, dtypes, and values, which operators
    that draw numbers draw from the same seed, and memory that nobody has written is filled. Raises RuntimeError where
    PyTorch has no such operator.
    """
    operator = find_operator(name)
    theirs = overload_named(f"{namespace}::{name.partition('::')[2]}")
    if not operator.signature.tensors:
        dtypes, situations = dtypes[:1], situations[:1]
    calls, differences = 0, []
    for dtype in map(as_dtype, dtypes):
        for situation in situations:
            random = Random(f"{name} {dtype} {situation} {seed}")
            for _ in range(_TRIES):
                args, kwargs = draw(operator, dtype, situation, random)
                is_call, difference = _compare_call(operator, theirs, Sample(tuple(args), kwargs))
                calls += is_call
                if difference is not None:
                    differences.append(f"{name}{Sample(tuple(args), kwargs)}: {difference}")
                if is_call or difference is not None:
                    break
    return Compared(calls, tuple(differences))


def _compare_call(operator: Operator, theirs: Any, sample: Sample) -> tuple[bool, str | None]:
    """Return whether PyTorch takes the arguments, and what is different, None where nothing is."""
    given, expected = _call_theirs(theirs, sample)
    arguments, found = _call_ours(operator, sample)
    match expected, found:
        case Exception(), Exception():
            return False, None
        case Exception(), _:
            return False, f"PyTorch raises {type(expected).__name__}: {expected}"
        case _, Exception():
            return True, f"{type(found).__name__}: {found}"
    return True, _difference(found, expected, "the result") or _difference(arguments, given, "the arguments")


def _call_theirs(theirs: Any, sample: Sample) -> tuple[list[Any], Any]:
    """Return the arguments as PyTorch has left them, and its result or what it raised."""
    copied = sample.copied()
    values = [theirs_of(value) for value in (*copied.args, *copied.kwargs.values())]
    try:
        with _filled(), torch.no_grad():
            return values, _run(theirs, sample, values)
    except Exception as error:
        if "not resizable" not in str(error):
            return values, error
    arguments = {
        each.name: each.alias_info is not None and each.alias_info.is_write for each in theirs._schema.arguments
    }
    written = [*list(arguments.values())[: len(sample.args)], *(arguments[name] for name in sample.kwargs)]
    # NumPy's memory is not resized.
    values = [in_own_memory(value) if w else value for value, w in zip(values, written, strict=True)]
    try:
        with _filled(), torch.no_grad():
            return values, _run(theirs, sample, values)
    except Exception as error:
        return values, error


def _run(theirs: Any, sample: Sample, values: Sequence[Any]) -> Any:
    count = len(sample.args)
    return theirs(*values[:count], **dict(zip(sample.kwargs, values[count:], strict=True)))


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
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.manual_seed(_SEED)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.use_deterministic_algorithms(was_on, warn_only=warns)


def _difference(ours: Any, theirs: Any, what: str) -> str | None:
    """Return what is different, None where nothing is."""
    if isinstance(ours, Tensor):
        if not isinstance(theirs, torch.Tensor):
            return f"{what} is a Tensor, and PyTorch's {type(theirs).__name__}"
        return _difference_of_tensors(torch_tensor(ours), theirs.resolve_conj().resolve_neg(), what)
    if isinstance(ours, list | tuple):
        if not isinstance(theirs, list | tuple) or len(ours) != len(theirs):
            return f"{what} has {len(ours)} parts, and PyTorch's are {theirs!r}"
        pairs = enumerate(zip(ours, theirs, strict=True))
        return next(filter(None, (_difference(a, b, f"{what}[{place}]") for place, (a, b) in pairs)), None)
    expected = theirs_of(ours)
    is_equal = expected == theirs or (expected != expected and theirs != theirs)
    return None if is_equal else f"{what} is {ours!r}, and PyTorch's {theirs!r}"


def _difference_of_tensors(ours: torch.Tensor, theirs: torch.Tensor, what: str) -> str | None:
    for name in ("shape", "dtype", "layout"):
        found, expected = getattr(ours, name), getattr(theirs, name)
        if found != expected:
            return f"{what} has {name} {found}, and PyTorch's {expected}"
    places = [place for place, size in enumerate(theirs.shape) if size > 1 and theirs.numel()]
    if any(ours.stride(place) != theirs.stride(place) for place in places):
        return f"{what} has strides {ours.stride()}, and PyTorch's {theirs.stride()}"
    found, expected = _bytes(ours), _bytes(theirs)
    if found == expected or np.array_equal(_array(ours), _array(theirs), equal_nan=True):
        return None
    return f"{what} has other values than PyTorch's: {ours.flatten()[:5].tolist()} and {theirs.flatten()[:5].tolist()}"


def _bytes(tensor: torch.Tensor) -> bytes:
    return bytes(tensor.contiguous().flatten().view(torch.uint8).numpy())


def _array(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    is_exact = tensor.is_complex() or not tensor.is_floating_point()
    array: np.ndarray[Any, Any] = (tensor if is_exact else tensor.double()).numpy()
    return array
