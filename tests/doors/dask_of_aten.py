"""ATen's operators as functions on Dask's arrays, from a door that is generated for them in a folder of its own."""

from __future__ import annotations

import contextlib
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from opwright_codegen.cli import main

ROOT = Path(__file__).parents[2]
NAME = "opwright_aten_dask"


def import_door(folder: Path) -> ModuleType:
    """Generate the door beside an empty package, and import it: the operators are those of opwright_aten."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    table = text.partition("[tool.opwright]\n")[2].partition("\n[")[0].replace('"schemas/', f'"{ROOT}/schemas/')
    (folder / "pyproject.toml").write_text(
        f"[tool.opwright]\n{table}".replace('"generated/opwright_aten"', '"opwright_aten"') + '\nbindings = ["dask"]\n'
    )
    with contextlib.chdir(folder):
        assert main(["generate", "--only", f"{NAME}.py"]) == 0
    spec = importlib.util.spec_from_file_location(NAME, folder / f"{NAME}.py")
    assert spec is not None and spec.loader is not None, pytest.fail("no door was written")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
