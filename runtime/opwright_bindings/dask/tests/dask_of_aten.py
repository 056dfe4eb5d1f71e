"""ATen's operators as functions on Dask's arrays, from a binding that is generated for them in a folder of its own."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from opwright_codegen.cli import main

ROOT = Path(__file__).parents[4]
NAME = "opwright_aten_dask"
sys.path.append(str(ROOT / "tests" / "conformance"))  # which has the table of samples


def import_binding(folder: Path) -> ModuleType:
    """Generate the binding beside an empty package, and import it: the operators are those of opwright_aten. Once."""
    if NAME in sys.modules:
        return sys.modules[NAME]
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    table = text.partition("[tool.opwright]\n")[2].partition("\n[")[0].replace('"schemas/', f'"{ROOT}/schemas/')
    (folder / "pyproject.toml").write_text(
        f"[tool.opwright]\n{table}".replace('"generated/opwright_aten"', '"opwright_aten"') + '\nbindings = ["dask"]\n'
    )
    with contextlib.chdir(folder):
        assert main(["generate", "--only", f"{NAME}.py"]) == 0
    spec = importlib.util.spec_from_file_location(NAME, folder / f"{NAME}.py")
    assert spec is not None and spec.loader is not None, pytest.fail("no binding was written")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[NAME] = module
    return module


def chunked(array: Any, random: Random) -> Any:
    """The array in random pieces, each dimension for itself."""
    chunks = []
    for size in array.shape:
        cuts = sorted(random.sample(range(1, size), min(size - 1, random.randrange(3)))) if size > 1 else []
        chunks.append(tuple(np.diff([0, *cuts, size]).tolist()))
    import dask.array as da

    return da.from_array(array, chunks=tuple(chunks))
