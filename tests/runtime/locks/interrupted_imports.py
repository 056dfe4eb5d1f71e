"""A program of its own: first calls, interrupted at random moments in copies of a process that has made none.

`python interrupted_imports.py INTERRUPTS SEED`. In each copy a timer interrupts first calls, again and again until they
return; then another thread makes the same calls, and has to return, too.
"""

from __future__ import annotations

import faulthandler
import itertools
import os
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType

import numpy as np

import opwright

X = np.linspace(0.1, 1, 12).reshape(3, 4)
PATIENCE = 60  # seconds that no first call takes
FAILED = 100


def forward() -> None:
    x = opwright.from_numpy(X)
    assert opwright.softmax(x * 2, -1).sum().item() > 2.9
    assert opwright.nn.functional.layer_norm(x, (4,)).shape == opwright.cat([x, x], 1)[:, :4].shape


def backward() -> None:
    x = opwright.tensor(X, requires_grad=True)
    (x.exp() @ x.T).sum().backward()
    assert x.grad is not None and x.grad.shape == (3, 4)


def transforms() -> None:
    x = opwright.ones(3, 4)
    assert opwright.vmap(opwright.func.grad(lambda row: row.sin().sum()))(x).shape == (3, 4)
    assert opwright.func.jvp(lambda row: row.cos(), (x,), (x,))[1].shape == (3, 4)


def fakes() -> None:
    with opwright._subclasses.fake_tensor.FakeTensorMode():
        assert opwright.linalg.svd(opwright.empty(3, 4))[1].shape == (3,)
    assert opwright.empty(3, 4, device="meta").mm(opwright.empty(4, 2, device="meta")).shape == (3, 2)


def others() -> None:
    assert str(opwright.fft.fft(opwright.ones(4))).startswith("tensor(")
    assert opwright.linalg.inv(opwright.eye(3)).tolist()[0] == [1, 0, 0]
    assert opwright.array_api.asarray([1, 2]).shape == (2,)
    opwright.manual_seed(3)
    assert opwright.rand(3).shape == (3,)


def operators() -> None:
    made = opwright.library.custom_op("first::triple", lambda x: 3 * x, mutates_args=(), schema="(Tensor x) -> Tensor")
    assert made(X).shape == (3, 4)


ACTIONS: tuple[Callable[[], None], ...] = (forward, backward, transforms, fakes, others, operators)


def interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def interrupted(action: Callable[[], None], delays: Iterator[float]) -> int:
    """Make first calls, interrupted until they return. Return how often. Raise if those of another thread hang."""
    count = 0
    signal.signal(signal.SIGALRM, interrupt)
    for delay in delays:
        try:
            signal.setitimer(signal.ITIMER_REAL, delay)
            action()
            signal.setitimer(signal.ITIMER_REAL, 0)
            break
        except KeyboardInterrupt:
            count += 1
    assert signal.getsignal(signal.SIGALRM) is interrupt
    failed: list[BaseException] = []
    other = threading.Thread(target=_tried, args=(action, failed), daemon=True)
    other.start()
    other.join(PATIENCE)
    if other.is_alive():
        faulthandler.dump_traceback()
    assert not other.is_alive() and not failed, (action.__name__, failed)
    action()
    return count


def _tried(action: Callable[[], None], failed: list[BaseException]) -> None:
    try:
        action()
    except BaseException as error:
        failed.append(error)


def _in_copy(action: Callable[[], None], delays: Iterator[float]) -> int:
    """Return the number of interrupts; FAILED for an error."""
    pid = os.fork()
    if not pid:
        status = FAILED
        try:
            status = min(interrupted(action, delays), FAILED - 1)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stderr.flush()
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main(interrupts: int, seed: int) -> int:
    """Return the number of calls that failed or hung after an interrupt."""
    draw = random.Random(seed)
    count = failures = 0
    for action in itertools.cycle(ACTIONS):
        # most come early, and some after the long imports
        came = _in_copy(action, iter(lambda: 10 ** draw.uniform(-4, -0.5), None))
        failures += came == FAILED
        count += came if came != FAILED else 1
        if count >= interrupts or failures > 3:
            break
    print(f"{count} interrupts, {failures} calls failed")
    return failures


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
