"""The binding of ATen's operators to one framework, generated in a folder of its own."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from opwright_codegen.cli import main

ROOT = Path(__file__).parents[1]


def import_binding(folder: Path, framework: str) -> ModuleType:
    """Generate the binding beside an empty package, and import it: the operators are those of opwright_aten. Once."""
    name = f"opwright_aten_{framework}"
    if name in sys.modules:
        return sys.modules[name]
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    table = text.partition("[tool.opwright]\n")[2].partition("\n[")[0].replace('"schemas/', f'"{ROOT}/schemas/')
    table = table.replace('"generated/opwright_aten"', '"opwright_aten"')
    (folder / "pyproject.toml").write_text(f'[tool.opwright]\n{table}\nbindings = ["{framework}"]\n')
    with contextlib.chdir(folder):
        assert main(["generate", "--only", f"{name}.py"]) == 0
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    assert spec is not None and spec.loader is not None, pytest.fail("no binding was written")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[name] = module
    return module
