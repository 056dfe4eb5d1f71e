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

from opwright.gate.verdicts import Report, Verdict
from opwright.gate.warden import Task

__all__ = ["Progress", "gate"]

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


class Progress(NamedTuple):
    """One operator more that has been judged, which of how many, and the findings so far."""

    operator: str
    done: int
    total: int
    findings: int
    verdicts: tuple[Verdict, ...]


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
    if sys.platform == "win32":
        raise ValueError("the gate forks processes, which Windows cannot")
    named = None if properties is None else tuple(properties)
    files = tuple(os.path.abspath(each) if each.endswith(".py") else each for each in modules)
    task = Task(tuple(targets), files, named, jobs or os.cpu_count() or 1, timeout, seed, tuple(exclude))
    begin = time.perf_counter()
    names: list[str] = []
    found: dict[str, tuple[Verdict, ...]] = {}
    refusals: dict[str, int] = {}
    findings = 0
    for message in _messages(task):
        match message:
            case ("error", text):
                raise ValueError(text)
            case ("operators", listed):
                names = listed
            case (name, verdicts, refused, _):
                found[name], refusals[name] = tuple(verdicts), refused
                findings += sum(each.verdict == "broken" for each in verdicts)
                if report is not None:
                    report(Progress(name, len(found), len(names), findings, found[name]))
    if not names or len(found) < len(names):
        missing = [name for name in names if name not in found]
        raise ValueError(f"the process of the gate ended early: {', '.join(missing[:3]) or 'nothing was judged'}")
    verdicts = tuple(each for name in names for each in found[name])
    seconds = time.perf_counter() - begin
    kept = {name: count for name, count in refusals.items() if count}
    return Report(verdicts, " ".join(targets), round(seconds, 3), seed, _versions(), kept)


def _messages(task: Task) -> Iterator[Any]:
    """Yield what the warden says."""
    ours = str(Path(__file__).parents[2])
    paths = [ours, *sys.path] if ours not in sys.path else sys.path
    environment = os.environ | dict.fromkeys(_ONE_THREAD, "1")
    environment["PYTHONPATH"] = os.pathsep.join(each or os.getcwd() for each in paths)
    command = [sys.executable, "-c", "from opwright.gate.warden import main; main()"]
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
