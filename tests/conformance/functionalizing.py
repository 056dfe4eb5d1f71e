"""Calls as they are, and as `functionalize` makes them: what they give, what they write, and what is called for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import opwright
from opwright.func import functionalize
from opwright.pytree import tree_leaves
from opwright.utils._python_dispatch import TorchDispatchMode
from opwright_core.arrays.layouts import is_dense

AT_THE_END = ("aten::copy_", "aten::as_strided_", "aten::resize_")


class Recorder(TorchDispatchMode):
    """The operators that are called in a block, in order, each with its first argument."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, Any]] = []

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Note the call, and make it."""
        self.calls.append((func, args[0] if args else None))
        return func(*args, **(kwargs or {}))

    @property
    def names(self) -> list[str]:
        """The names of the operators."""
        return [func.name for func, _ in self.calls]


def functionalized(function: Callable[..., Any], args: Any, remove: str = "mutations") -> tuple[Any, Recorder]:
    """What a functionalised function gives, or the error, and what was called for it."""
    with Recorder() as recorder:
        try:
            return functionalize(function, remove=remove)(*args), recorder
        except Exception as error:
            return error, recorder


def wrong_calls(recorder: Recorder, args: Any, remove: str = "mutations") -> Iterator[str]:
    """What was called that must not be: an operator that writes, but for what writes to arguments at the end; a view,
    where these are removed."""
    given = [id(each) for each in tree_leaves(args)]
    calls = [*recorder.calls]
    while calls and calls[-1][0].name in AT_THE_END and id(calls[-1][1]) in given:
        calls.pop()
    for func, _ in calls:
        if func.signature.written:
            yield f"{func.name} writes"
        elif remove == "mutations_and_views" and any(alias is not None for alias in func.signature.aliases):
            yield f"{func.name} is a view"


def differences(ours: Any, eager: Any, *, with_strides: bool = True, is_exact: bool = True) -> Iterator[str]:
    """In what a functionalised call's results, or its arguments after it, are not those of the eager call."""
    if isinstance(ours, Exception) or isinstance(eager, Exception):
        if type(ours) is not type(eager) or str(ours) != str(eager):
            yield f"{ours!r} instead of {eager!r}"
        return
    first, second = tree_leaves(ours), tree_leaves(eager)
    if len(first) != len(second):
        yield f"{len(first)} results instead of {len(second)}"
        return
    for mine, other in zip(first, second, strict=True):
        if isinstance(mine, opwright.Tensor) is not isinstance(other, opwright.Tensor):
            yield f"{mine!r} instead of {other!r}"
        elif not isinstance(other, opwright.Tensor):
            if mine is not other and mine != other and not (mine != mine and other != other):
                yield f"{mine} instead of {other}"
        elif mine.shape != other.shape or mine.dtype is not other.dtype:
            yield f"dtype, shape {mine.dtype} {list(mine.shape)} instead of {other.dtype} {list(other.shape)}"
        elif with_strides and other.numel() > 1 and not _same_strides(mine, other):
            yield f"strides {mine.stride()} instead of {other.stride()} of {list(other.shape)}"
        elif not _equal(mine, other, with_strides and is_exact):
            yield f"values {mine.tolist()} instead of {other.tolist()}"


def _same_strides(mine: Any, other: Any) -> bool:
    if not is_dense(tuple(other.shape), other.stride()):  # new values have no gaps
        return True
    pairs = zip(mine.shape, mine.stride(), other.stride(), strict=True)
    return all(first == second for size, first, second in pairs if size > 1)


def _equal(mine: Any, other: Any, is_exact: bool) -> bool:
    """Whether values are the same. Where strides are not, sums come in another order."""
    first, second = (each.detach().numpy() for each in (mine, other))
    if first.dtype.kind in "fc":
        tolerance = 0.0 if is_exact else 1e-5
        return bool(np.allclose(first, second, rtol=tolerance, atol=tolerance, equal_nan=True))
    return first.tobytes() == second.tobytes()
