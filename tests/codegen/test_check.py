"""Malformed schema files and what is said of them: `errors/NAME.yaml` with the expected text in `errors/NAME.txt`.

`pytest --update-golden` rewrites the expectations; the diff is then for a person to read.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opwright_codegen.errors import SchemaErrors
from opwright_codegen.read.check import RULES
from opwright_codegen.read.files import read_text

FOLDER = Path(__file__).parent / "errors"
CASES = sorted(path.stem for path in FOLDER.glob("*.yaml"))


@pytest.mark.parametrize("case", CASES)
def test_errors_of(case: str, update_golden: bool) -> None:
    text = (FOLDER / f"{case}.yaml").read_bytes().decode()
    golden = FOLDER / f"{case}.txt"
    with pytest.raises(SchemaErrors) as caught:
        read_text(text, f"{case}.yaml")
    found = f"{caught.value}\n"
    if update_golden:
        golden.write_text(found, encoding="utf-8", newline="\n")
    assert found == golden.read_text(encoding="utf-8")


def test_every_rule_has_a_case() -> None:
    shown = {
        code for case in CASES for code in re.findall(r"\[([a-z-]+)\]$", (FOLDER / f"{case}.txt").read_text(), re.M)
    }
    assert set(RULES) <= shown


def test_expectations_have_inputs() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.txt")) == CASES
