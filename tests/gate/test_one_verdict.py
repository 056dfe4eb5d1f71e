"""One verdict on one operator by `opcheck`, `opcheck_all`, `opwright gate`, `pytest --opcheck` and `opwright test`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.once  # each process chooses its core

PLANTED = Path(__file__).parent / "planted"
# By operator: arguments that show the fault, and the property of the gate that it breaks.
FAULTS = {
    "fake_0d": ("opwright.ones(())", "fake-is-true"),
    "fake_dtype_empty": ("opwright.ones(0)", "fake-is-true"),
    "declared_not_done": ("opwright.ones(3)", "declared-writes-happen"),
}
_CHECKED = f"""
import faults, opwright
from opwright.testing import opcheck_all
for name, arguments in {[(name, text) for name, (text, _) in FAULTS.items()]}:
    found = opwright.library.opcheck(f"faults::{{name}}", (eval(arguments),), raise_exception=False)
    drawn = opcheck_all(f"faults::{{name}}", raise_exception=False)
    print(name, any(each != "SUCCESS" for each in found.values()), bool(drawn))
"""


def run(*words: str) -> str:
    """Return the output of a command of Python that finds the planted operators."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(PLANTED), *sys.path]), "COLUMNS": "200"}
    command = [sys.executable, "-W", "ignore", *words]
    found = subprocess.run(command, env=environment, cwd=PLANTED, capture_output=True, text=True)
    return found.stdout + found.stderr


def test_opcheck_names_what_the_gate_names() -> None:
    assert run("-c", _CHECKED).splitlines() == [f"{name} True True" for name in FAULTS]


def test_the_command_names_them() -> None:
    words = ("-m", "opwright_gate.command", "--load", "faults", "--format", "json", "-q")
    found = json.loads(run(*words, *(f"faults::{name}" for name in FAULTS)))["verdicts"]
    broken = {(each["operator"], each["property"]) for each in found if each["verdict"] == "broken"}
    assert broken >= {(f"faults::{name}", asked) for name, (_, asked) in FAULTS.items()}


@pytest.mark.parametrize("command", ["pytest", "opwright test"])
def test_tests_of_pytest_name_them(command: str) -> None:
    chosen = ("-k", " or ".join(f"({name} and {asked})" for name, (_, asked) in FAULTS.items()))
    if command == "pytest":
        start = ("-m", "pytest", "-p", "opwright_pytest", "-p", "no:cacheprovider", "--noconftest", "--opcheck-only")
        out = run(*start, "--opcheck", "faults", "--opcheck-import", "faults", *chosen)
    else:
        out = run("-m", "opwright_codegen.cli", "test", "faults", "--import", "faults", *chosen)
    assert f"{len(FAULTS)} failed" in out, out
    for name, (_, asked) in FAULTS.items():
        assert re.search(rf"^FAILED \S*faults::{name}-{asked}\b", out, re.MULTILINE), out
