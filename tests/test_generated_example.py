"""The example of generated code that is committed: the modules of one schema file, as they are generated today."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytestmark = pytest.mark.once  # it compares files

GENERATED = Path(__file__).parents[1] / "generated"
EXAMPLE = GENERATED / "example"
NAME = "activations.py*"


def texts(folder: Path) -> dict[str, str]:
    """Return the modules of the schema file in a folder, by their names."""
    found = [path for path in sorted(folder.rglob(NAME)) if path.suffix != ".pyc"]
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in found}


def test_the_example_is_what_is_generated(update_golden: bool) -> None:
    whole = texts(GENERATED / "opwright_aten")
    if update_golden:
        shutil.rmtree(EXAMPLE)
        for name, text in whole.items():
            path = EXAMPLE / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
    assert len(whole) > 8
    assert texts(EXAMPLE) == whole, "pytest --update-golden tests/test_generated_example.py writes it anew"
