"""Projects whose wheels need `opwright-core` alone: the quickstart, and kernels in C, in Python and of expressions.

`core_alone_calls.py` calls the second in every way. `install_everywhere.py` and `newest_python.py` install the wheels.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

__all__ = ["CALLS", "PROGRAMS", "wheels", "write_project"]

ROOT: Final = Path(__file__).parents[1]
CALLS: Final = Path(__file__).with_name("core_alone_calls.py")
_QUICKSTART: Final = """
import numpy as np
from quickstart_ops import ops
assert ops.hypotenuse(np.array([3, 5]), np.array([4, 12])).tolist() == [5, 13]
assert ops.clip_norm(np.array([[3.0, 4.0]])).tolist() == [[0.6000000000000001, 0.8]]
"""
_CALLS: Final = """
import json, runpy, sys
from contextlib import redirect_stdout
from io import StringIO

with redirect_stdout(StringIO()) as printed:
    runpy.run_path(sys.argv[1])
loaded, said = json.loads(printed.getvalue())
wrong = {name: text for name, text in said.items() if "No module named" in text or "pip install" in text}
assert not loaded and not wrong and len(said) > 50, (loaded, wrong)
print(f"{len(said)} kinds of calls with the core alone")
"""
# For a Python with NumPy, ml_dtypes, `opwright-core` and the wheels alone: programs, with the file that each runs.
PROGRAMS: Final = ((_QUICKSTART, ()), (_CALLS, (CALLS,)))
BUILD: Final = """
[build-system]
requires = ["setuptools>=77", "opwright-codegen"]
build-backend = "setuptools.build_meta"

[project]
name = "{name}"
version = "1.0"
dependencies = ["opwright-core"]

[tool.setuptools]
py-modules = ["{modules}"]

[tool.setuptools.packages.find]
include = ["{name}*"]
"""
KERNELS: Final = """
- func: earlier::draw(Tensor self, *, Generator? generator=None) -> Tensor
  meta: like(self)
  dispatch:
    CPU: alone_kernels:draw

- func: earlier::mode(Tensor self, str mode="up", int[2] size=1, ScalarType? dtype=None) -> Tensor
  doc: Scale by a mode.
  meta: like(self)
  dispatch:
    CPU: alone_kernels:mode

- func: earlier::both(Tensor[] tensors, Tensor? weight=None) -> (Tensor total, Tensor largest)
  meta: like(tensors[0]), like(tensors[0])
  dispatch:
    CPU: alone_kernels:both

- func: earlier::wrong(Tensor self) -> Tensor
  meta: like(self)
  dispatch:
    CPU: alone_kernels:wrong

- func: earlier::absent(Tensor self) -> Tensor
  meta: like(self)
  dispatch:
    CUDA: alone_kernels:wrong
"""
MODULE: Final = """
import numpy as np

def draw(self, generator):
    return self + (0 if generator is None else 1)

def mode(self, mode, size, dtype):
    if mode != "up":
        raise ValueError(f"no mode {mode!r}")
    return self * len(size)

def both(tensors, weight):
    return sum(tensors), np.maximum.reduce(tensors)

def wrong(self):
    return self.astype(np.int64)
"""


def write_project(folder: Path) -> None:
    """Write the project `earlier_ops` of kernels in C, in Python, and of expressions."""
    shutil.copytree(ROOT / "tests" / "compat" / "project", folder, dirs_exist_ok=True)
    with (folder / "ops.yaml").open("a", encoding="utf-8") as file:
        file.write(KERNELS)
    (folder / "alone_kernels.py").write_text(MODULE, encoding="utf-8")
    with (folder / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write(BUILD.format(name="earlier_ops", modules="alone_kernels"))


def write_quickstart(folder: Path) -> None:
    """Write the quickstart as a project."""
    shutil.copytree(ROOT / "examples" / "quickstart", folder, ignore=shutil.ignore_patterns("*_ops", "__pycache__"))
    settings = '[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "quickstart_ops"\n'
    text = settings + BUILD.format(name="quickstart_ops", modules="kernels")
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")


def wheels(folder: Path) -> list[Path]:
    """Build the wheels of both projects into a folder, by the generator and setuptools that are installed here."""
    folder.mkdir()
    write_quickstart(folder / "quickstart")
    write_project(folder / "project")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run(
        [*pip, "--wheel-dir", folder / "built", folder / "quickstart", folder / "project"], cwd=folder, check=True
    )
    return sorted(folder.glob("built/*.whl"))
