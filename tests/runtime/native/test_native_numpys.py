"""One library, built once, under the oldest NumPy 2 that there is for this Python, and the newest."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from native_projects import EXAMPLE, build

OLDEST = {(3, 11): "numpy==2.0.*", (3, 12): "numpy==2.0.*", (3, 13): "numpy==2.1.*"}
NUMPYS = [OLDEST.get(sys.version_info[:2], "numpy==2.3.*"), "numpy"]
pytestmark = [
    pytest.mark.once,  # C of a project
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("numpys") / "project"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("native_demo", "__pycache__", ".*"))
    build(folder)
    return folder


def said(project: Path, *first: Path) -> tuple[str, str]:
    """Return NumPy's version, and what the example prints, with these folders before all others."""
    path = os.pathsep.join([*map(str, first), os.environ.get("PYTHONPATH", "")])
    code = "import numpy, runpy; print(numpy.__version__); runpy.run_path('use.py')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=project, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    version, _, printed = done.stdout.partition("\n")
    return version, printed


@pytest.mark.parametrize("numpy", NUMPYS, ids=["oldest", "newest"])
def test_one_library_serves_every_numpy(project: Path, tmp_path: Path, numpy: str) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:"]
    done = subprocess.run([*command, "--target", tmp_path, numpy], capture_output=True, text=True, check=False)
    if "No matching distribution" in done.stderr:
        pytest.skip("pip reaches no package index: No matching distribution")
    assert done.returncode == 0, done.stderr
    version, printed = said(project, tmp_path)
    assert (tmp_path / "numpy" / "version.py").is_file()
    assert version.startswith(numpy.partition("==")[2].rstrip("*"))
    assert printed == said(project)[1]
    assert "losses:    [0.4076, 3.0949]" in printed
