"""Generated packages where only the core, NumPy and ml_dtypes are installed: each call does what it does with the whole
library, and each error says the same."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.once
ROOT = Path(__file__).parents[1]
KERNELS = """
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
MODULE = """
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
PROGRAM = """
import copy
import json
import pickle
import sys
import traceback
import warnings

import numpy as np

try:
    import opwright
except ModuleNotFoundError:
    pass
from earlier_ops import ops
import opwright_core.errors
from opwright_core.dispatch.call.packets import find_packet
from opwright_core.generators.generator import Generator

x, y = np.linspace(-2, 2, 6).reshape(2, 3), np.ones((2, 3))
half, ints = x.astype(np.float16), np.arange(6).reshape(2, 3)
Generator().manual_seed(3)
packet = find_packet("earlier::mode")
CALLS = {
    "expression": lambda: ops.blend(x, y, alpha=2),
    "broadcast": lambda: ops.blend(x, y[0]),
    "promoted": lambda: ops.blend(ints, half),
    "in place": lambda: ops.blend_(x.copy(), y),
    "out": lambda: ops.blend(x, y, out=np.empty((2, 3))),
    "out of a wrong shape": lambda: ops.blend(x, y, out=np.empty(5)),
    "out of a wrong dtype": lambda: ops.blend(x, y, out=np.empty((2, 3), int)),
    "C": lambda: ops.axpy(x, y, alpha=3),
    "C along a dimension": lambda: ops.running_max(ints.ravel()),
    "C says what is wrong": lambda: ops.running_max(x),
    "C of another dtype": lambda: ops.running_max(np.ones(3, np.float32)),
    "C writes": lambda: ops.scale_(x[::-1, 0].copy(), 2),
    "C is read-only": lambda: ops.scale_(np.broadcast_to(np.float64(1), 3), 2),
    "Python": lambda: ops.sum_of(x, y, alpha=3),
    "reduction": lambda: ops.total(x, [1], keepdim=True),
    "view": lambda: ops.flipped(x).base is x,
    "number for a tensor": lambda: ops.blend(x, 2),
    "list for a tensor": lambda: ops.blend(x, [[1, 2, 3], [4, 5, 6]]),
    "nested list of texts": lambda: ops.blend(x, ["a"]),
    "text for a tensor": lambda: ops.blend(x, "text"),
    "None for a tensor": lambda: ops.blend(None, x),
    "shapes that do not fit": lambda: ops.blend(x, np.ones(7)),
    "text for a number": lambda: ops.blend(x, y, alpha="text"),
    "number for a text": lambda: ops.mode(x, 3),
    "list of a text": lambda: ops.mode(x, "up", [1, "2"]),
    "one int for a list": lambda: ops.mode(x, "up", 3),
    "dtype": lambda: ops.mode(x, dtype=np.float32),
    "wrong dtype": lambda: ops.mode(x, dtype="floot"),
    "wrong name": lambda: ops.mode(x, moed="up"),
    "too many": lambda: ops.mode(x, "up", 1, None, 5),
    "too few": lambda: ops.blend(x),
    "twice": lambda: ops.blend(x, y, self=x),
    "tensors": lambda: [each.tolist() for each in ops.both([x, y])],
    "named results": lambda: ops.both([x, y]).total.tolist(),
    "no tensors": lambda: ops.both([]),
    "generator": lambda: ops.draw(x, generator=Generator()),
    "wrong generator": lambda: ops.draw(x, generator=3),
    "error of a kernel": lambda: ops.mode(x, "down"),
    "kernel of a wrong dtype": lambda: ops.wrong(x),
    "no kernel": lambda: ops.absent(x),
    "misspelt operator": lambda: ops.blnd,
    "docstring": lambda: ops.mode.__doc__,
    "docstring of all": lambda: packet.__doc__,
    "docstring of one": lambda: packet.default.__doc__,
    "signature": lambda: str(__import__("inspect").signature(ops.mode)),
    "text": lambda: [repr(packet), str(packet.default), repr(packet.default)],
    "operator": lambda: packet.default(x).tolist(),
    "pickled": lambda: pickle.loads(pickle.dumps(packet.default)) is packet.default,
    "pickled packet": lambda: pickle.loads(pickle.dumps(packet)) is packet,
    "copied": lambda: copy.deepcopy(packet.default) is packet.default,
    "pickled error": lambda: str(pickle.loads(pickle.dumps(opwright_core.errors.ArgumentError("said")))),
    "attribute": lambda: packet.default.missing_attribute,
    "overload": lambda: packet.missing_overload,
}


def shown(value):
    return f"{value.dtype}{value.tolist()}" if isinstance(value, np.ndarray) else repr(value)


said = {}
for name, call in CALLS.items():
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            said[name] = " ".join([shown(call()), *(str(each.message) for each in seen)])
    except Exception as error:
        said[name] = "".join(traceback.format_exception_only(error))
installed = sorted(name for name in ("opwright", "opwright_kernels", "opwright_codegen", "lark") if name in sys.modules)
print(json.dumps([installed, said]))
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a package of kernels in C, in Python, and of expressions."""
    folder = tmp_path_factory.mktemp("alone")
    shutil.copytree(ROOT / "tests" / "compat" / "project", folder, dirs_exist_ok=True)
    with (folder / "ops.yaml").open("a", encoding="utf-8") as file:
        file.write(KERNELS)
    (folder / "alone_kernels.py").write_text(MODULE, encoding="utf-8")
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
    installed, alone = json.loads(in_process(package, tmp_path / "alone", core, pure, PROGRAM))
    assert installed == []
    everything = (*core, "opwright", "opwright_kernels", "opwright_aten")
    loaded, whole = json.loads(in_process(package, tmp_path / "whole", everything, pure, PROGRAM))
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
