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


def test_functions_of_a_philox_key_are_not_random() -> None:
    """They compute from a key that they are given: torchgen asks no tag of them since PyTorch 2.15."""
    philox = "_philox_randint_(Tensor(a!) self, Tensor key, int? low=None, int? high=None) -> Tensor(a!)"
    others = (
        "_scaled_addmm(Tensor self, Tensor a, Tensor b, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
        "_scaled_addmm_(Tensor(a!) self, Tensor a, Tensor b, *, Scalar beta=1, Scalar alpha=1) -> Tensor(a!)",
    )
    entries = "".join(f"- func: {each}\n  dispatch: {{CPU: f}}\n" for each in (philox, *others))
    assert len(read_text(entries).operators) == 3
    with pytest.raises(SchemaErrors) as caught:
        read_text(entries.replace("_philox_randint_", "_phlox_randint_"))
    assert [each.code for each in caught.value.errors] == ["missing-seeded-tag"]
