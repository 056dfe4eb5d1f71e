"""The warden: a process without threads that forks one for each operator, waits for it with a time limit, and tells
the gate's process what came of it.

Note [Processes of the gate]
A forked process has none of the threads of the one it is a copy of, but all locks that they held: only a process
without threads is forked. So the gate starts the warden afresh, which imports what defines the operators. If these
modules start threads, the warden begins again, and each process imports them itself after the fork.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import mmap
import os
import pickle
import pkgutil
import select
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from opwright.library import custom_op
from opwright_gate.clocks import Clock
from opwright_gate.deaths import death
from opwright_gate.judging import chosen, judge
from opwright_gate.loading import load_modules
from opwright_gate.states import remember_judges
from opwright_gate.subjects import Subject, subjects_of
from opwright_gate.verdicts import Verdict
from opwright_gate.watching import Board, use_board

__all__ = ["Task", "main"]

_MOST_DEATHS: Final = 3  # of one operator, then nothing more is asked
_POLL: Final = 0.05
_MANY: Final = 10  # operators of a package: it is worth the time to import all of it
_MEMORY: Final = 1 << 30  # bytes that a process may take
_ERROR: Final = 87  # exit status of a process in which the gate raised


class Task(NamedTuple):
    """The order of the gate: what to judge, and how."""

    targets: tuple[str, ...]
    modules: tuple[str, ...]
    properties: tuple[str, ...] | None
    jobs: int
    timeout: float
    seed: int
    excluded: tuple[str, ...] = ()


class _Child:
    """The process of one operator."""

    def __init__(self, subject: Subject, task: Task, start: int = 0, deaths: int = 0) -> None:
        self.subject, self.task, self.deaths = subject, task, deaths
        self.board = Board()
        self.text = b""
        self.counted = 0
        receiving, sending = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(receiving)
            _be_child(lambda: _judge(subject, task, start, self.board, sending))
        os.close(sending)
        self.receiving = receiving
        self.clock = Clock(self.pid)

    def messages(self) -> list[Any]:
        """Return what arrived, whole messages alone."""
        found = []
        while len(self.text) >= 8 and len(self.text) >= 8 + (length := int.from_bytes(self.text[:8], "little")):
            found.append(pickle.loads(self.text[8 : 8 + length]))
            self.text = self.text[8 + length :]
        return found

    @property
    def hangs(self) -> bool:
        """Whether the call that was noted last lasts longer than the limit."""
        if self.board.count != self.counted:
            self.counted, self.clock = self.board.count, Clock(self.pid)
        return self.clock.seconds() > self.task.timeout


def _be_child(run: Any) -> None:
    """Run a function, and end this process; what it prints goes nowhere."""
    status = 1
    try:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nowhere, number)
        gc.disable()
        _limit_memory()
        run()
        status = 0
    except Exception:
        status = _ERROR
    except BaseException:
        status = 86
    finally:
        os._exit(status)


def _limit_memory() -> None:
    """Let this process take some memory more, and no machine's: what asks for it is refused."""
    import resource  # (Windows has none, and forks nothing)

    try:
        held = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * mmap.PAGESIZE
        resource.setrlimit(resource.RLIMIT_AS, (held + _MEMORY, held + _MEMORY))
    except (OSError, ValueError):
        pass


def _judge(subject: Subject, task: Task, start: int, board: Board, sending: int) -> None:
    def tell(value: Any) -> None:
        text = pickle.dumps(value)
        os.write(sending, len(text).to_bytes(8, "little") + text)

    use_board(board)
    if isinstance(subject, str):
        load_modules(task.modules)
    refused = judge(subject, chosen(task.properties), task.seed, board, tell, start)
    tell(("done", refused))


def main() -> None:
    """Read a Task from stdin; write pickled messages to stdout: ("operators", names), then (name, verdicts, refused,
    seconds) for each, or ("error", text)."""
    task: Task = pickle.load(sys.stdin.buffer)
    gate = os.getppid()
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    remember_judges()
    try:
        load_modules(task.modules)
        named = {each.name: each for target in task.targets for each in subjects_of(target, task.modules)}
        chosen(task.properties)
    except Exception as error:
        _send(out, ("error", f"{type(error).__name__}: {error}"))
        return
    subjects = [each for each in named.values() if each.name not in task.excluded]
    _send(out, ("operators", [each.name for each in subjects]))
    gc.freeze()  # properties collect garbage: there is none in what was imported
    _warm_up(task)
    _import_kernels(subjects)
    gc.collect()
    gc.freeze()
    _run(subjects, task, out, gate)


def _warm_up(task: Task) -> None:
    """Run properties here: what each process would load by itself is then loaded. The one that repeats a call many
    times leaves its first round out of account, and loads nothing that the others do not."""
    properties = [each for each in chosen(task.properties) if each.name != "keeps-nothing"]
    known = custom_op("opwright_gate::known", lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor")
    known.register_fake(lambda x: x * 2)
    known.register_autograd(lambda _, gradient: gradient * 2)
    for name in ("aten::mul.Tensor", "opwright_gate::known"):
        subject = next(subjects_of(name))
        judge(subject, properties, task.seed, Board(), lambda _: None)
    if any(target.startswith("torch:") for target in task.targets):
        from opwright_bindings.torch.runtime.judging import known_operator

        subject = next(subjects_of(f"torch:{known_operator()}"))
        judge(subject, properties, task.seed, Board(), lambda _: None)


def _import_kernels(subjects: Sequence[Subject]) -> None:
    """Import all modules of packages that many operators are of, once for all processes, and of our own kernels. What
    cannot be imported is told by a call."""
    homes = [each.operator.home.module.partition(".")[0] for each in subjects if each.operator.home is not None]
    large = [name for name, count in Counter(homes).items() if count > _MANY]
    for package in [*large, *(["opwright_kernels"] if large else [])]:
        paths = importlib.import_module(package).__path__
        for each in pkgutil.walk_packages(paths, f"{package}.", onerror=lambda _: None):
            with contextlib.suppress(Exception):
                importlib.import_module(each.name)


def _run(subjects: Sequence[Subject], task: Task, out: BinaryIO, gate: int) -> None:
    waiting, running = list(subjects)[::-1], dict[int, _Child]()
    found: dict[str, list[Any]] = {each.name: [] for each in subjects}
    begun: dict[str, float] = {}
    while waiting or running:
        if os.getppid() != gate:  # it was killed
            for child in running.values():
                _kill(child.pid)
            return
        while waiting and len(running) < task.jobs:
            subject = waiting.pop()
            begun[subject.name] = time.perf_counter()
            child = _Child(subject, task)
            running[child.receiving] = child
        ready, _, _ = select.select(list(running), [], [], _POLL)
        for child in [each for each in running.values() if each.receiving not in ready and each.hangs]:
            _kill(child.pid)
        for receiving in ready:
            child = running[receiving]
            text = os.read(receiving, 1 << 16)
            child.text += text
            if text:
                continue
            del running[receiving]
            os.close(receiving)
            again = _ended(child, found)
            if again is not None:
                running[again.receiving] = again
                continue
            name = child.subject.name
            verdicts = found.pop(name)
            refused = sum(each[1] for each in verdicts if isinstance(each, tuple))
            kept = [each for each in verdicts if not isinstance(each, tuple)]
            _send(out, (name, kept, refused, time.perf_counter() - begun[name]))


def _kill(group: int) -> None:
    """Kill a process and what it started itself, which may hold the pipe that its end is told by."""
    with contextlib.suppress(OSError):
        os.killpg(group, signal.SIGKILL)


def _ended(child: _Child, found: dict[str, list[Any]]) -> _Child | None:
    """Take the verdicts of a process that has ended; return the one that goes on where it died."""
    _, status = os.waitpid(child.pid, 0)
    _kill(child.pid)  # what it started itself
    messages = child.messages()
    verdicts = found[child.subject.name]
    verdicts += messages
    if any(isinstance(each, tuple) for each in messages):
        return None
    properties = chosen(child.task.properties)
    _, number, case = child.board.read()
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == _ERROR:
        why = "the gate itself raised while it judged this operator"
        verdicts += [each.undecided(child.subject, why, "gate-raised") for each in properties[number:]]
        return None
    each = properties[min(number, len(properties) - 1)]
    verdict = death(child.subject, each, case, status, hangs=child.hangs)
    if verdict.property != each.name:
        why = f"a call ended its process: {verdict.property} says by what"
        verdicts.append(each.undecided(child.subject, why, "process-ended"))
    if (verdict.property, verdict.cause) not in {
        (known.property, known.cause) for known in verdicts if isinstance(known, Verdict)
    }:
        verdicts.append(verdict)
    if child.deaths + 1 >= _MOST_DEATHS:
        why = "it ended its process before this was asked"
        verdicts += [
            other.undecided(child.subject, why, "process-ended")
            for other in properties[number + 1 :]
            if other.applies(child.subject) is True
        ]
        return None
    return _Child(child.subject, child.task, number + 1, child.deaths + 1)


def _send(out: BinaryIO, value: Any) -> None:
    text = pickle.dumps(value)
    out.write(len(text).to_bytes(8, "little") + text)
    out.flush()


if __name__ == "__main__":
    main()
