"""Generated packages where only the core, NumPy and ml_dtypes are installed: each call does what it does with the whole
library, and each error says the same."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from core_alone import CALLS, write_project

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a package of kernels in C, in Python, and of expressions."""
    folder = tmp_path_factory.mktemp("alone")
    write_project(folder)
    for command in ("generate", "build"):
        subprocess.run([sys.executable, "-m", "opwright_codegen.cli", command], cwd=folder, check=True)
    return folder


def home(package: str) -> Path:
    """Return the folder of a package."""
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.submodule_search_locations is not None
    return Path(next(iter(spec.submodule_search_locations)))


def in_process(package: Path, folder: Path, names: tuple[str, ...], pure: str, program: str) -> str:
    """Run a program where these packages alone can be imported, beside Python's own. Return what it prints."""
    folder.mkdir()
    for name in names:
        (folder / name).symlink_to(home(name))
    for libraries in home("numpy").parent.glob("numpy.libs"):
        (folder / libraries.name).symlink_to(libraries)
    paths = os.pathsep.join([str(folder), str(package)])
    done = subprocess.run(
        [sys.executable, "-S", "-c", program],
        env={"PYTHONPATH": paths, "OPWRIGHT_PURE": pure, "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("pure", ["0", "1"])
def test_every_kind_of_call_is_as_with_the_library(package: Path, tmp_path: Path, pure: str) -> None:
    core = ("numpy", "ml_dtypes", "opwright_core")
    installed, alone = json.loads(in_process(package, tmp_path / "alone", core, pure, CALLS.read_text("utf-8")))
    assert installed == []
    everything = (*core, "opwright", "opwright_kernels", "opwright_aten")
    loaded, whole = json.loads(in_process(package, tmp_path / "whole", everything, pure, CALLS.read_text("utf-8")))
    assert "opwright" in loaded
    assert [name for name, text in whole.items() if "pip install opwright" in text] == []
    assert alone == whole


SAYS = """
import numpy as np
from earlier_ops import ops
from opwright_core.abi import Tensor, wrap

for call in (lambda: wrap(np.ones(3)).sum(), lambda: wrap(np.ones(3)) + 1, lambda: Tensor([1.0])):
    try:
        call()
    except NotImplementedError as error:
        print(error)
"""


def test_what_needs_the_library_says_what_to_install(package: Path, tmp_path: Path) -> None:
    said = in_process(package, tmp_path / "alone", ("numpy", "ml_dtypes", "opwright_core"), "0", SAYS).splitlines()
    assert len(said) == 3
    for line in said:
        assert "need the library opwright, and only its core is installed: pip install opwright" in line
