"""Plug-ins found by entry points, each test in a process of its own: they are loaded once in a process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import opwright
import opwright_aten
import opwright_core

IMPORTED_FROM = sorted({str(Path(each.__path__[0]).parent) for each in (opwright, opwright_core, opwright_aten)})
OPERATOR = """
import opwright
from opwright.library import Library
print("loading")
library = Library("plugged", "DEF")
library.define("twice(Tensor x) -> Tensor")
library.impl("twice", lambda x: x + x, "CPU")
"""
BACKEND = """
import numpy as np
import opwright
class Array:
    def __init__(self, values):
        self.values, self.shape, self.dtype = values, values.shape, values.dtype
def register():
    backend = opwright.register_backend("plugged", array_type=Array, from_numpy=Array, to_numpy=lambda a: a.values)
    backend.impl("aten::neg", lambda self: Array(-self.values))
    return "kept"
"""


def install(folder: Path, distribution: str, entry_points: str, **modules: str) -> None:
    """What pip leaves of a distribution, version 1.5."""
    information = folder / f"{distribution.replace('-', '_')}-1.5.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.5\n")
    (information / "entry_points.txt").write_text(f"[opwright.kernels]\n{entry_points}\n")
    for name, source in modules.items():
        (folder / f"{name}.py").write_text(source)


def run(folder: Path, code: str, **environment: str) -> tuple[list[str], str]:
    """The lines a program prints, and what it says on stderr."""
    done = subprocess.run(
        [sys.executable, "-c", f"import opwright\nfrom opwright import plugins\n{code}"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), *IMPORTED_FROM])} | environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr


def as_folder(folder: Path, target: Path) -> str:
    return str(shutil.copytree(folder, target / "folder"))


def as_archive(folder: Path, target: Path) -> str:
    return shutil.make_archive(str(target / "archive"), "zip", folder)


def as_egg(folder: Path, target: Path) -> str:
    egg = shutil.copytree(folder, target / "one.egg")
    information = (egg / "one-1.5.dist-info").rename(egg / "EGG-INFO")
    (information / "METADATA").rename(information / "PKG-INFO")
    return str(egg)


def as_egg_info(folder: Path, target: Path) -> str:
    found = shutil.copytree(folder, target / "installed")
    information = (found / "one-1.5.dist-info").rename(found / "one-1.5.egg-info")
    (information / "METADATA").rename(information / "PKG-INFO")
    return str(found)


@pytest.mark.parametrize("put", [as_folder, as_archive, as_egg, as_egg_info])
def test_found_wherever_importlib_finds_distributions(tmp_path: Path, put: Callable[[Path, Path], str]) -> None:
    install(tmp_path / "made", "one", "ops = plugged_ops", plugged_ops=OPERATOR)
    where = put(tmp_path / "made", tmp_path)
    lines, _ = run(tmp_path, f"import sys; sys.path.append({where!r})\nplugins.load()\nprint(*plugins.loaded())")
    assert lines == ["loading", "'ops' of one 1.5 (plugged_ops)"]


def test_found_by_a_finder_of_ones_own(tmp_path: Path) -> None:
    install(tmp_path / "made", "one", "ops = plugged_ops", plugged_ops=OPERATOR)
    program = f"""
import sys
from importlib.metadata import DistributionFinder, PathDistribution
from pathlib import Path
class Finder(DistributionFinder):
    def find_spec(self, *_): return None
    def find_distributions(self, context=DistributionFinder.Context()):
        return [PathDistribution(path) for path in Path({str(tmp_path / "made")!r}).glob("*.dist-info")]
sys.meta_path.append(Finder())
plugins.load()
print([(each.name, type(each.error).__name__) for each in plugins.loaded()])
"""
    assert run(tmp_path, program)[0] == ["[('ops', 'ModuleNotFoundError')]"]


def test_without_any_the_metadata_of_distributions_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "none-1.0.dist-info").mkdir()
    lines, _ = run(
        tmp_path,
        f"import sys; sys.path[:] = [{str(tmp_path)!r}, {str(tmp_path / 'missing')!r}]\nplugins.load()\n"
        "print(plugins.loaded(), plugins.are_loaded(), 'importlib.metadata' in sys.modules)",
    )
    assert lines == ["() True False"]


@pytest.mark.parametrize(
    "miss",
    [
        "opwright.neg(opwright.ones(2))",
        "opwright.ops.plugged.twice",
        "opwright.dispatch.dump('plugged::twice')",
        "opwright.library.register_array_kernel('plugged::twice', 'CUDA', print), opwright.ops.plugged.twice",
        "opwright.dispatch.find_operator('plugged::twice')",
    ],
)
def test_loaded_at_the_first_miss_and_once(tmp_path: Path, miss: str) -> None:
    install(tmp_path, "one", "ops = plugged_ops", plugged_ops=OPERATOR)
    lines, _ = run(
        tmp_path,
        f"print('imported', plugins.loaded(), plugins.are_loaded())\n{miss}\n{miss}\n"
        "print(opwright.ops.plugged.twice(opwright.ones(2)).tolist())\nprint(*plugins.loaded())",
    )
    assert lines[:2] == ["imported () False", "loading"]
    assert lines[-2:] == ["[2.0, 2.0]", "'ops' of one 1.5 (plugged_ops)"]
    assert lines.count("loading") == 1


@pytest.mark.parametrize(
    "miss",
    [
        "opwright.tensor([1.0, 2.0], device='plugged')",
        "opwright.device('plugged')",
        "opwright.neg(plugged_backend.Array(np.ones(2)))",
        "opwright.as_tensor(plugged_backend.Array(np.ones(2)))",
    ],
)
def test_a_backend_is_there_when_its_device_or_array_is_first_met(tmp_path: Path, miss: str) -> None:
    install(tmp_path, "two", "device = plugged_backend:register", plugged_backend=BACKEND)
    lines, _ = run(
        tmp_path,
        f"import numpy as np\nimport plugged_backend\n{miss}\n"
        "print(opwright.neg(opwright.tensor([1.0, 2.0], device='plugged')))\nprint(plugins.loaded()[0].result)",
    )
    assert lines == ["tensor([-1., -2.], device='plugged')", "kept"]


def test_a_file_makes_no_more_happen_than_a_first_call_does(tmp_path: Path) -> None:
    """A device that is not known loads what is installed, and nothing that the file names; docs/security.md says so."""
    install(tmp_path, "two", "device = plugged_backend:register", plugged_backend=BACKEND + "print('loading')")
    (tmp_path / "named_by_file.py").write_text("print('imported')")
    saved = "opwright.save(opwright.tensor([1.0, 1.0], device='plugged'), 'ones.bin')"
    assert run(tmp_path, saved)[0] == ["loading"]
    load = """
for name in (b"named_by_file", b"plugged"):
    data = open("ones.bin", "rb").read().replace(b"\\x8c\\x07plugged", b"\\x8c" + bytes([len(name)]) + name)
    data = data.replace(b"X\\x07\\0\\0\\0plugged", b"X" + bytes([len(name)]) + b"\\0\\0\\0" + name)
    try:
        print(opwright.load(io.BytesIO(data)))
    except pickle.UnpicklingError as error:
        print("refused:", "Expected one of cpu" in str(error))
"""
    found, _ = run(tmp_path, f"import io, pickle{load}")
    assert found == ["loading", "refused: True", "tensor([1., 1.], device='plugged')"]
    found, _ = run(tmp_path, f"import io, pickle{load}", OPWRIGHT_PLUGINS="0")
    assert found == ["refused: True", "refused: True"]


def test_one_that_fails_is_named_and_the_rest_works(tmp_path: Path) -> None:
    install(tmp_path, "broken-one", "bad = broken_module\nworse = plugged_ops:nothing", broken_module="1 / 0")
    install(tmp_path, "good", "ops = plugged_ops", plugged_ops=OPERATOR)
    lines, stderr = run(
        tmp_path,
        "print(opwright.ops.plugged.twice(opwright.ones(2)).tolist())\n"
        "try:\n    opwright.ops.elsewhere.missing\nexcept AttributeError as error:\n    print(error)\n"
        "try:\n    opwright.tensor(1.0, device='elsewhere')\nexcept RuntimeError as error:\n    print(error)\n",
    )
    told = (
        "The plug-in 'bad' of broken-one 1.5 (broken_module) could not be loaded: ZeroDivisionError: division by zero."
    )
    assert f"PluginWarning: {told} Everything else works without it." in stderr
    assert stderr.count("PluginWarning") == 2
    assert lines[:2] == ["loading", "[2.0, 2.0]"]
    assert lines[2] == "namespace 'elsewhere' has no operator 'missing'"
    assert lines.count(told) == 2
    assert "'worse' of broken-one 1.5 (plugged_ops:nothing)" in lines[4]


def test_turned_off_by_the_environment(tmp_path: Path) -> None:
    install(tmp_path, "one", "ops = plugged_ops", plugged_ops=OPERATOR)
    lines, _ = run(
        tmp_path,
        "opwright.ones(2)\nprint(plugins.load(), hasattr(opwright.ops.plugged, 'twice'))",
        OPWRIGHT_PLUGINS="0",
    )
    assert lines == ["() False"]


def test_threads_that_miss_together_wait_for_one_load(tmp_path: Path) -> None:
    slow = f"import time\ntime.sleep(0.2)\n{OPERATOR}"
    install(tmp_path, "one", "ops = plugged_ops", plugged_ops=slow)
    lines, _ = run(
        tmp_path,
        "from concurrent.futures import ThreadPoolExecutor\nimport threading\n"
        "start = threading.Barrier(8)\n"
        "def call(number):\n    start.wait()\n    return opwright.ops.plugged.twice(opwright.ones(1)).item()\n"
        "with ThreadPoolExecutor(8) as pool:\n    print(list(pool.map(call, range(8))))",
    )
    assert lines == ["loading", str([2.0] * 8)]


def test_loaded_in_no_mode_whichever_is_on(tmp_path: Path) -> None:
    source = "import opwright\nprint(opwright.is_grad_enabled(), opwright.ones(2))"
    install(tmp_path, "one", "ops = plugged_modes", plugged_modes=source)
    lines, _ = run(
        tmp_path,
        "from opwright.fake import FakeTensorMode\nwith FakeTensorMode(), opwright.no_grad():\n    opwright.ones(3)\n",
    )
    assert lines == ["True tensor([1., 1.])"]


def test_import_looks_for_none(tmp_path: Path) -> None:
    lines, _ = run(tmp_path, "import sys\nprint('importlib.metadata' in sys.modules, plugins.loaded())")
    assert lines == ["False ()"]
