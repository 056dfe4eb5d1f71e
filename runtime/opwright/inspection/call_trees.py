"""The tree of calls of a program: dispatch key, kernel and inner calls of each call.

Without a trace there is no cost: kernels are composed without wrappers. The first trace drops all composed kernels,
and new kernels get a wrapper. The last trace drops these kernels.
"""

from __future__ import annotations

import contextvars
import hashlib
import os
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from opwright.inspection import call_texts
from opwright.inspection.short_texts import short_text
from opwright_core.arrays.devices import backend_of
from opwright_core.dispatch.registry.tables import registry
from opwright_core.keysets import KeySet
from opwright_core.source_locations import shown
from opwright_core.state import with_modes
from opwright_core.tensors.tensor import Tensor

__all__ = ["Call", "CallTree", "trace_calls", "watch_process"]

Function = Callable[..., Any]
_STEPS: Final = 9  # items of a list that are shown


@dataclass(slots=True)
class Call:
    """One kernel that ran: operator, dispatch key, registration and inner calls.

    `rule` is the reason of `opwright.dispatch.table` for the kernel, `where` the file and line of the registration.
    `arguments` and `results` are texts, without None at the end. `keys` has the dispatch keys of each tensor argument,
    with active modes. `seconds` includes inner calls. `digest` is a hash of the results' dtypes, shapes and elements.
    `error` is the exception that ended the call.
    """

    operator: str
    key: str
    rule: str
    where: str
    arguments: list[str]
    keys: list[list[str]]
    results: list[str] = field(default_factory=list)
    seconds: float | None = None
    digest: str | None = None
    error: str | None = None
    calls: list[Call] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return the call and its inner calls as JSON values."""
        made = {name: getattr(self, name) for name in self.__slots__}
        return made | {"calls": [each.as_dict() for each in self.calls]}


class CallTree:
    """The calls of a block: `calls` has the outermost calls. `str` shows the tree."""

    def __init__(self, *, times: bool = False, hashes: bool = False) -> None:
        self.calls: list[Call] = []
        self._times = times
        self._hashes = hashes
        self._open = self.calls  # where the next call belongs

    def as_dicts(self) -> list[dict[str, Any]]:
        """Return JSON values: a dict for each outermost call."""
        return [each.as_dict() for each in self.calls]

    def __iter__(self) -> Iterator[Call]:
        """Yield all calls, each before its inner calls."""
        waiting = self.calls[::-1]
        while waiting:
            yield (call := waiting.pop())
            waiting += call.calls[::-1]

    def __str__(self) -> str:
        return call_texts.as_text(self.calls)

    def run(self, call: Call, kernel: Function, args: tuple[Any, ...]) -> Any:
        """Run a kernel as a call of the tree."""
        siblings, self._open = self._open, call.calls
        siblings.append(call)
        start = time.perf_counter()
        try:
            result = kernel(*args)
        except BaseException as error:
            call.error = f"{type(error).__name__}: {error}".partition("\n")[0]
            raise
        finally:
            if self._times:
                call.seconds = time.perf_counter() - start
            self._open = siblings
        results = result if isinstance(result, tuple | list) else (result,)
        call.results = [_text_of(each) for each in results]
        if self._hashes:
            call.digest = _digest(results)
        return result


class _Printed(CallTree):
    """The tree of a whole program. It prints each outermost call to standard error when the call ends."""

    def run(self, call: Call, kernel: Function, args: tuple[Any, ...]) -> Any:
        try:
            return super().run(call, kernel, args)
        finally:
            if self._open is self.calls:
                self.calls.clear()
                print(call_texts.as_text([call]), file=sys.stderr)


_CURRENT: Final[contextvars.ContextVar[CallTree | None]] = contextvars.ContextVar("opwright_call_tree", default=None)
_TREES: Final[weakref.WeakSet[CallTree]] = weakref.WeakSet()  # that are being filled


@contextmanager
def trace_calls(*, times: bool = False, hashes: bool = False) -> Iterator[CallTree]:
    """Record the calls of this thread or task in a block: `with trace_calls() as calls: …`, then `print(calls)`.

    `times` measures each call. `hashes` adds a hash of each result. A nested block has its own tree.
    """
    tree, before = CallTree(times=times, hashes=hashes), _CURRENT.get()
    try:
        _TREES.add(tree)
        _watch_or_not()
        _CURRENT.set(tree)
        yield tree
    finally:
        _CURRENT.set(before)
        _TREES.discard(tree)
        _watch_or_not()


def watch_process(operator: Any, key: Any, entry: Any, kernel: Function) -> Function:
    """Print the calls of the whole process. `OPWRIGHT_TRACE` is `1`, `times`, `hashes` or `times,hashes`."""
    said = os.environ.get("OPWRIGHT_TRACE", "")
    global _process
    if _process is None:
        _process = _Printed(times="times" in said, hashes="hashes" in said)
    return _watched(operator, key, entry, kernel)


_process: _Printed | None = None


def _watch_or_not() -> None:
    """Drop composed kernels if the first trace starts or the last one ends."""
    with registry.lock:
        is_on = bool(_TREES)
        if _process is None and is_on != (registry.watch is not None):
            registry.watch = _watched if is_on else None
            registry.forget_tables(None)


def _watched(operator: Any, key: Any, entry: Any, kernel: Function) -> Function:
    """Return a composed kernel that records its calls in the tree of its thread or task."""
    name, key_name, rule, where = str(operator.name), key.name, str(entry.rule), shown(entry.where)

    def watched(*args: Any) -> Any:
        tree = _CURRENT.get() or _process
        if tree is None:
            return kernel(*args)
        shown_args = [_text_of(arg) for arg in args]
        while shown_args and shown_args[-1] == "None":
            shown_args.pop()
        tensors = [each for arg in args for each in (arg if isinstance(arg, list | tuple) else (arg,))]
        keys = [[each.name for each in KeySet(with_modes(x.keys))] for x in tensors if isinstance(x, Tensor)]
        call = Call(name, key_name, rule, where, shown_args, keys)
        return tree.run(call, kernel, args)

    return watched


def _text_of(value: Any) -> str:
    if isinstance(value, Tensor):
        return short_text(value)
    if isinstance(value, list | tuple):
        texts = [_text_of(each) for each in value[:_STEPS]] + ["…"] * (len(value) > _STEPS)
        return f"[{', '.join(texts)}]"
    return str(value) if value is None or isinstance(value, bool | int | float | complex) else repr(value)


def _digest(results: Any) -> str | None:
    """Return 8 hexadecimal digits, or None if a result has no elements to read."""
    found = hashlib.blake2b(digest_size=4)
    for each in results:
        if not isinstance(each, Tensor):
            found.update(repr(each).encode())
            continue
        try:
            array = backend_of(each.array).to_numpy(each.array)
        except (AttributeError, TypeError, RuntimeError):  # fakes and batches have none
            return None
        found.update(f"{array.dtype}{array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return found.hexdigest()
