"""`opwright gate`: exit statuses, candidates, programs that run, wrong usage."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from opwright_gate import command
from opwright_gate.run import Progress, gate

pytestmark = pytest.mark.once  # processes of their own

WRITES = """
def twice(x):
    if x.size:
        x.reshape(-1)[:1] = 0
    return x + x
"""
SOUND = """
import numpy as np

def twice(x):
    return np.array(x + x, order="C").astype(x.dtype)
"""


def run(tmp_path: Path, source: str, *words: str, name: str = "kernel.py") -> tuple[int, Any]:
    file, out = tmp_path / name, tmp_path / "report.json"
    file.write_text(source, encoding="utf-8")
    against = ["--candidate", str(file), "--against", "twice(Tensor x) -> Tensor", "--meta", "like(x)"]
    status = command.main([*against, "--format", "json", "-o", str(out), "-q", *words])
    return status, json.loads(out.read_text(encoding="utf-8"))


def test_a_candidate_that_writes_and_its_program(tmp_path: Path) -> None:
    status, read = run(tmp_path, WRITES, "--property", "writes-as-declared")
    assert status == 1
    (finding,) = [each for each in read["verdicts"] if each["verdict"] == "broken"]
    assert (finding["operator"], finding["cause"]) == ("candidate::twice", "undeclared-write")
    ran = subprocess.run([sys.executable, "-c", finding["program"]], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "AssertionError" in ran.stderr


def test_a_sound_candidate(tmp_path: Path) -> None:
    status, read = run(tmp_path, SOUND, "--property", "schema", "--property", "bounds")
    assert (status, [each for each in read["verdicts"] if each["verdict"] == "broken"]) == (0, [])


HELPED = """
from dataclasses import dataclass

import factors

@dataclass
class Factor:
    value: "int"

def twice(x):
    return x * Factor(factors.TWO).value
"""


@pytest.mark.parametrize("name", ["kernel.py", "twice.py", "random.py", "two.parts.py"])
def test_a_candidate_is_imported_as_its_folder_does(tmp_path: Path, name: str) -> None:
    """Pickles of it, its dataclasses and modules beside it need a module that is found by its name."""
    (tmp_path / "factors.py").write_text("TWO = 2\n", encoding="utf-8")
    words = ("--property", "pickles", "--property", "traces-and-replays", "--property", "deterministic")
    status, read = run(tmp_path, HELPED, *words, name=name)
    verdicts = {each["property"]: each["verdict"] for each in read["verdicts"]}
    assert (status, verdicts["pickles"]) == (0, "held"), read["verdicts"]


SLEEPS = """
import os, time

def twice(x):
    open({marker!r}, "a").write(f"{{os.getpid()}}\\n")
    time.sleep(3600)
"""


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes are looked up there")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_goes_on_after_the_command_is_killed(tmp_path: Path, number: signal.Signals) -> None:
    """Its process, the warden and the process of an operator end; nobody writes the report."""
    file, marker, report = tmp_path / "kernel.py", tmp_path / "marker", tmp_path / "report.json"
    file.write_text(SLEEPS.format(marker=str(marker)), encoding="utf-8")
    words = [
        "--candidate",
        str(file),
        "--against",
        "twice(Tensor x) -> Tensor",
        "--meta",
        "like(x)",
        "--timeout",
        "9999",
    ]
    start = [sys.executable, "-c", "from opwright_codegen.cli import main; main()", "gate", "--format", "json"]
    with subprocess.Popen([*start, *words, "-o", str(report), "-q"], cwd=tmp_path) as process:
        while not (marker.exists() and marker.read_text().endswith("\n")):
            assert process.poll() is None
            time.sleep(0.05)
        below = [int(marker.read_text().split()[0])]
        while below[-1] != process.pid:
            below.append(int(Path(f"/proc/{below[-1]}/stat").read_text().rpartition(")")[2].split()[1]))
        process.send_signal(number)
    assert len(below) == 4, "the operator's process, the warden, the process of the runtime, the command"
    end = time.monotonic() + 60
    while any(_runs(pid) for pid in below) and time.monotonic() < end:
        time.sleep(0.05)
    assert [pid for pid in below if _runs(pid)] == []
    assert not report.exists()


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_what_cannot_be_judged(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["nobody_has_this", "-q"]) == 2
    assert "there is no operator nobody_has_this" in capsys.readouterr().err
    with pytest.raises(ValueError, match="no property 'colour'"):
        gate(["aten::cosh"], properties=["colour"])
    with pytest.raises(ValueError, match="CPU"):
        gate(["aten::cosh"], backend="CUDA")


def test_progress_and_an_order_that_stays() -> None:
    seen: list[Progress] = []
    report = gate(["aten::cosh", "aten::sinh"], properties=["layouts"], report=seen.append, jobs=2)
    assert [each.operator for each in report.verdicts] == ["aten::cosh", "aten::sinh"]
    assert [(each.done, each.total, each.findings) for each in seen] == [(1, 2, 0), (2, 2, 0)]
    assert report.findings == ()
