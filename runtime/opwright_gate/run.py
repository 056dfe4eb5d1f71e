"""`gate`: operators judged in processes of their own, in parallel."""

from __future__ import annotations

import os
import pickle
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from opwright_gate.verdicts import Report, Verdict
from opwright_gate.warden import Task

__all__ = ["Progress", "gate", "judged"]

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


class Progress(NamedTuple):
    """One operator more that has been judged, which of how many, and the findings so far.

    `position` is the operator's among all that are judged, `refused` how many calls with drawn arguments it refused.
    """

    operator: str
    done: int
    total: int
    findings: int
    verdicts: tuple[Verdict, ...]
    position: int = 0
    refused: int = 0


def gate(
    targets: Sequence[str],
    *,
    properties: Sequence[str] | None = None,
    jobs: int | None = None,
    timeout: float = 20.0,
    seed: int = 0,
    report: Callable[[Progress], None] | None = None,
    backend: str = "CPU",
    modules: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> Report:
    """Return the verdicts on all operators of the targets: `NAMESPACE`, `NAMESPACE::NAME`, `torch:NAMESPACE`.

    `properties` are names of properties or groups, all by default. `report` is called when an operator is done.
    `modules`, by name or by file, are imported first, never in this process. `timeout` is how many seconds one call may
    last. Raises ValueError for targets, modules and properties that are not there.
    """
    if backend != "CPU":
        raise ValueError(f"the gate judges kernels of the CPU, got backend={backend!r}")
    begin = time.perf_counter()
    found: list[Progress] = []
    for each in judged(
        targets, properties=properties, jobs=jobs, timeout=timeout, seed=seed, modules=modules, exclude=exclude
    ):
        found.append(each)
        if report is not None:
            report(each)
    found.sort(key=lambda each: each.position)
    verdicts = tuple(verdict for each in found for verdict in each.verdicts)
    seconds = time.perf_counter() - begin
    refused = {each.operator: each.refused for each in found if each.refused}
    return Report(verdicts, " ".join(targets), round(seconds, 3), seed, _versions(), refused)


def judged(
    targets: Sequence[str],
    *,
    properties: Sequence[str] | None = None,
    jobs: int | None = None,
    timeout: float = 20.0,
    seed: int = 0,
    modules: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> Iterator[Progress]:
    """Yield each operator of the targets when it has been judged. Arguments and errors are those of `gate`."""
    if sys.platform == "win32":
        raise ValueError("the gate forks processes, which Windows cannot")
    named = None if properties is None else tuple(properties)
    files = tuple(os.path.abspath(each) if each.endswith(".py") else each for each in modules)
    task = Task(tuple(targets), files, named, jobs or os.cpu_count() or 1, timeout, seed, tuple(exclude))
    positions: dict[str, int] = {}
    total = done = findings = 0
    for message in _messages(task):
        match message:
            case ("error", text):
                raise ValueError(text)
            case ("operators", listed):
                positions = {name: position for position, name in enumerate(listed)}
                total = len(positions)
            case (name, verdicts, refused, _):
                done += 1
                findings += sum(each.verdict == "broken" for each in verdicts)
                yield Progress(name, done, total, findings, tuple(verdicts), positions.pop(name), refused)
    if positions or not done:
        raise ValueError(f"the process of the gate ended early: {', '.join([*positions][:3]) or 'nothing was judged'}")


def _messages(task: Task) -> Iterator[Any]:
    """Yield what the warden says."""
    ours = str(Path(__file__).parents[2])
    paths = [ours, *sys.path] if ours not in sys.path else sys.path
    environment = os.environ | dict.fromkeys(_ONE_THREAD, "1")
    environment["PYTHONPATH"] = os.pathsep.join(each or os.getcwd() for each in paths)
    command = [sys.executable, "-c", "from opwright_gate.warden import main; main()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(pickle.dumps(task))
            process.stdin.close()
            yield from _read(process.stdout)
        except BaseException:
            process.kill()
            raise


def _read(stream: BinaryIO | Any) -> Iterator[Any]:
    while len(head := stream.read(8)) == 8:
        yield pickle.loads(stream.read(int.from_bytes(head, "little")))


def _versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    try:
        ours = version("opwright")
    except PackageNotFoundError:
        ours = "unknown"
    return {"opwright": ours, "numpy": np.__version__, "python": platform.python_version()}
