"""Long calls of NumPy, which run in a helper thread: a signal ends the wait for them.

Note [Long calls]: Python calls the handler of a signal in the main thread, between two bytecodes. One call of NumPy,
such as a sort of 10⁸ elements, may take seconds, and is one bytecode. So the main thread starts such a call in a helper
thread, and waits for it. If a handler raises, the call of the operator ends at once. The helper thread cannot be
stopped: it computes to the end of the kernel, and its result is dropped.

Therefore only kernels of ours run there that compute new arrays and change nothing else: no `out=`, no operand that is
written, no random numbers, no function of the user. A ufunc that writes to `out` is called in the main thread, for one
part of the elements after another (`call_in_parts`). The program may change the operands after the interrupt, while the
helper thread still reads them. Other numbers do no harm, but other positions would: NumPy checks an index or a mask
first, and then reads or writes memory by it. So the kernel gets copies of these. A kernel does not sort its operand
itself with `argsort`, `argpartition` or `lexsort`, which trust that elements do not change, but a copy. No operand is
freed meanwhile: the helper thread has references to them.

The helper thread has a copy of the context: `np.errstate`, and what Opwright has switched on. What the kernel raises is
raised in the main thread, with the traceback of both. The interpreter waits for helper threads before it exits, as for
each thread that is not a daemon: the memory that NumPy and BLAS read must not be gone before they end. Where no thread
can be started (at exit, or on a platform that has none), the main thread makes the call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextvars import copy_context
from functools import wraps
from typing import Any, Final, TypeVar

from numpy import broadcast_to, may_share_memory, ndarray, ufunc

from opwright_core.locks.interrupts import LONG, PATIENCE, HeldSignals, has_long, is_main_thread

__all__ = ["call_in_parts", "call_in_thread", "cubic", "interruptible", "long_from"]

F = TypeVar("F", bound=Callable[..., Any])


def long_from(count: int) -> Callable[[F], F]:
    """Return a decorator of kernels, such as decompositions, that take long from `count` elements on already."""

    def mark(kernel: F) -> F:
        kernel.long_from = count  # type: ignore[attr-defined]
        return kernel

    return mark


cubic: Final = long_from(1 << 18)  # factors of a matrix of 512 rows: 10 ms or more


def interruptible(kernel: F) -> F:
    """Return a kernel that runs in a helper thread if an array is long: one that no row has, which would do so."""
    count = getattr(kernel, "long_from", LONG)

    @wraps(kernel)
    def call(*args: Any) -> Any:
        return call_in_thread(kernel, *args) if has_long(args, count) else kernel(*args)

    return call  # type: ignore[return-value]


def _with_own_positions(function: Callable[..., Any], args: tuple[Any, ...]) -> Iterable[Any]:
    """Return the arguments, with copies of the arrays that may be positions in another one."""
    has_positions = not isinstance(function, ufunc) and sum(type(each) in (ndarray, list) for each in args) > 1
    return map(_own_positions, args) if has_positions else args


def _own_positions(value: Any) -> Any:
    """Return a copy of an array of integers or truth values, or a list with copies of those in it; else the value."""
    if type(value) is list:
        return [_own_positions(each) for each in value]
    return value.copy("K") if type(value) is ndarray and value.dtype.kind in "biu" else value


class _Call:
    """A call in a helper thread: `is_done` is released at its end."""

    __slots__ = ("args", "error", "function", "is_done", "result")

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.function = function
        self.args = args
        self.error: BaseException | None = None
        self.result: Any = None
        self.is_done = threading.Lock()
        self.is_done.acquire()

    def run(self) -> None:
        """Make the call."""
        try:
            self.result = self.function(*_with_own_positions(self.function, self.args))
        except BaseException as error:
            self.error = error
        finally:
            self.is_done.release()


def call_in_thread(function: Callable[..., Any], *args: Any) -> Any:
    """Return `function(*args)`, and raise what it raises. In the main thread it runs in a helper thread, unless none
    can be started: a handler of a signal that raises ends the wait."""
    if not is_main_thread():
        return function(*args)
    call = _Call(function, args)
    if not _start(call):
        return function(*args)
    while not call.is_done.acquire(timeout=PATIENCE):
        pass  # (where nothing wakes a waiting thread, signals are handled now)
    if call.error is None:
        return call.result
    try:
        raise call.error
    finally:
        call.error = None  # its traceback has this frame


def call_in_parts(function: Callable[..., Any], *args: Any) -> Any:
    """Have an elementwise function write to the last argument, `out`, one part after another, and return that: a signal
    waits for a part. All at once where an operand shares memory with `out` without being the same array."""
    *operands, out = args
    arrays = [each for each in operands if type(each) is ndarray]
    if any(each is not out and may_share_memory(each, out) for each in arrays):
        return function(*operands, out=out)
    given = [broadcast_to(each, out.shape) if type(each) is ndarray else each for each in operands]
    axis = max(range(out.ndim), key=out.shape.__getitem__)
    step = max(1, LONG * out.shape[axis] // out.size)
    for start in range(0, out.shape[axis], step):
        part = (slice(None),) * axis + (slice(start, start + step),)
        function(*[each[part] if type(each) is ndarray else each for each in given], out=out[part])
    return out


def _start(call: _Call) -> bool:
    """Start the helper thread, with signals held: an interrupt in `Thread.start` may leave a lock of Python's held.
    Returns whether it was started."""
    thread = threading.Thread(target=copy_context().run, args=(call.run,), name="opwright long call")
    signals = HeldSignals()
    try:
        thread.start()
    except RuntimeError:
        return False
    finally:
        signals.deliver()
    return True
