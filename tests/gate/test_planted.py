"""Planted faults are found and named by their cause; about sound operators nothing is said.

`PYTHONPATH=tests python tests/gate/test_planted.py` writes the table of the page anew.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from sweeps import share

from opwright_gate import Report
from opwright_gate.page import entries
from opwright_gate.run import gate

pytestmark = pytest.mark.once  # each process chooses its core

PLANTED = Path(__file__).parent / "planted"
PAGE = Path(__file__).parents[2] / "docs" / "gate.md"
MODULES = [
    "faults",
    "faults_of_dimensions",
    "faults_of_values",
    "sound",
    *(["faults_in_c"] if shutil.which("cc") else []),
]
_LIST = f"""
import {", ".join(MODULES)}, planting
for name, (kind, cause) in planting.CAUSES.items():
    print(name, cause or "-", kind)
"""


def planted() -> dict[str, tuple[str, str]]:
    """The cause of each planted operator, "" for a sound one, and the class of its fault."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(PLANTED), *sys.path])}
    command = [sys.executable, "-W", "ignore", "-c", _LIST]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    lines = [line.split(" ", 2) for line in run.stdout.splitlines()]
    return {name: (cause.strip("-"), kind) for name, cause, kind in lines}


def judge(names: Sequence[str], properties: Sequence[str] | None = None) -> Report:
    """The report on these operators."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(PLANTED))
        return gate(names, modules=MODULES, properties=properties, jobs=2)


def rows(report: Report, causes: dict[str, tuple[str, str]]) -> list[str]:
    """The lines of the page's table: each fault, and the first check that names it."""
    checks: dict[tuple[str, str], str] = {}
    for each in report.findings:
        checks.setdefault((each.operator, each.cause), each.property)
    return [
        f"| {kind} | `{name}` | {cause} | {checks.get((name, cause), 'none')} |"
        for name, (cause, kind) in sorted(causes.items(), key=lambda item: (item[1][1], item[0]))
        if cause
    ]


def test_planted_faults_are_named_and_sound_operators_pass() -> None:
    causes = planted()
    sound = sorted(name for name, (cause, _) in causes.items() if not cause)
    faulty = sorted(causes.keys() - {*sound})
    assert len(faulty) >= 60
    assert len(sound) >= 30
    tried = [*share(faulty, 24, "planted"), *share(sound, 10, "planted")]
    report = judge(tried)
    named = {(each.operator, each.cause) for each in report.findings}
    assert [name for name in tried if causes[name][0] and (name, causes[name][0]) not in named] == []
    assert [(each.operator, each.cause, each.why) for each in report.findings if each.operator in sound] == []
    assert all(len(each.program.splitlines()) <= 10 for each in report.findings)
    page = PAGE.read_text(encoding="utf-8").splitlines()
    listed = {line.split(" | ")[1] for line in page if line.startswith("| ") and "::" in line}
    assert {row.split(" | ")[1] for row in rows(report, causes)} <= listed


def test_the_page_has_all_properties() -> None:
    assert entries() in PAGE.read_text(encoding="utf-8")


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    head = ["| class | operator | cause | found by |", "| --- | --- | --- | --- |"]
    table = "\n".join([*head, *rows(judge(list(planted())), planted())])
    start = text.index("## What is asked")
    judged, middle = text.index("## Judged"), text.index("## Planted faults")
    intro = text[middle:].split("\n\n")[:2]
    asked = f"## What is asked\n\n{entries()}\n"
    PAGE.write_text(
        f"{text[:start]}{asked}{text[judged:middle]}" + "\n\n".join([*intro, table]) + "\n", encoding="utf-8"
    )
