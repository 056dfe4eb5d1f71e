"""The example of docs/native.md, as a reader would try it: files, one command, a call; and with other build systems."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from python_copies import run_python

PAGE = (Path(__file__).parents[2] / "docs" / "native.md").read_text(encoding="utf-8")
ALL_BLOCKS = re.findall(r"^```(\w+)[^\n]*\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


BLOCKS = dict(reversed(ALL_BLOCKS))  # the first of each language
pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")  # ours has one


@pytest.fixture
def example(tmp_path: Path) -> Path:
    (tmp_path / "csrc").mkdir()
    for language, name in (("yaml", "ops.yaml"), ("toml", "pyproject.toml"), ("c", "csrc/axpy.c")):
        (tmp_path / name).write_text(BLOCKS[language], encoding="utf-8")
    (tmp_path / "use.py").write_text(BLOCKS["python"], encoding="utf-8")
    return tmp_path


def run(folder: Path, *command: str, path: Path) -> str:
    """Run a command, with modules of `path` and this environment's programs; return what it says."""
    modules = os.pathsep.join([str(path), os.environ.get("PYTHONPATH", "")])
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PYTHONPATH": modules, "PATH": programs}
    if command[0] == sys.executable:
        done = run_python(*command[1:], cwd=folder, env=environment)
    else:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stdout + done.stderr
    return done.stdout


def test_the_shortest_example(example: Path) -> None:
    run(example, sys.executable, "-m", "opwright_codegen.cli", "build", path=example)
    assert run(example, sys.executable, "use.py", path=example) == "[1. 3. 5.]\n"


@pytest.mark.skipif(not entry_points(group="hatch", name="opwright"), reason="Opwright is installed without hooks")
@pytest.mark.parametrize("schemas", ["ops.yaml", "declared/ops.yaml"])
def test_a_wheel_by_setuptools(example: Path, schemas: str) -> None:
    """The page's files as they are: folders of C files and schemas are no packages to setuptools."""
    build = next(text for language, text in ALL_BLOCKS if language == "toml" and "setuptools.build_meta" in text)
    settings = BLOCKS["toml"].replace("ops.yaml", schemas)
    (example / "pyproject.toml").write_text(build + settings, encoding="utf-8")
    (example / schemas).parent.mkdir(exist_ok=True)
    (example / "ops.yaml").rename(example / schemas)
    pip = sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--disable-pip-version-check"
    run(example, *pip, "--no-index", "-q", "-w", "wheels", ".", path=example)
    (wheel,) = (example / "wheels").iterdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(example / "installed")
    assert {path.name for path in (example / "installed").iterdir() if path.suffix != ".dist-info"} == {"demo_ops"}
    (example / "installed" / "use.py").write_text(BLOCKS["python"], encoding="utf-8")
    folder = example / "installed"
    assert run(folder, sys.executable, "use.py", path=folder) == "[1. 3. 5.]\n"


def tool(name: str, least: tuple[int, int]) -> str:
    """Return a tool, that of this environment first; skip where there is none, or an old one."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.is_file() else shutil.which(name)
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout if found else ""
    version = re.search(r"(\d+)\.(\d+)", said)
    if version is None or (int(version[1]), int(version[2])) < least:
        pytest.skip(f"there is no {name} of version {'.'.join(map(str, least))} or later")
    return str(found)


@pytest.mark.once  # programs that compile C of a project
def test_with_cmake(example: Path) -> None:
    (example / "CMakeLists.txt").write_text(BLOCKS["cmake"], encoding="utf-8")
    cmake = tool("cmake", (3, 26))
    run(example, cmake, "-B", "build", f"-DPython_EXECUTABLE={sys.executable}", path=example)
    run(example, cmake, "--build", "build", path=example)
    assert run(example, sys.executable, "use.py", path=example) == "[1. 3. 5.]\n"
    (example / "ops.yaml").write_text(BLOCKS["yaml"].replace("alpha=1.0", "alpha=2.0"), encoding="utf-8")
    assert "done in" in run(example, cmake, "--build", "build", path=example)
    assert "done in" not in run(example, cmake, "--build", "build", path=example)


@pytest.mark.once  # programs that compile C of a project
def test_with_meson(example: Path) -> None:
    (example / "meson.build").write_text(BLOCKS["meson"], encoding="utf-8")
    meson = tool("meson", (1, 4))
    tool("ninja", (1, 8))
    native = example / "python.ini"  # the interpreter of this environment, which need not be the first in PATH
    native.write_text(f"[binaries]\npython = '{sys.executable}'\n", encoding="utf-8")
    run(example, meson, "setup", "build", "--native-file", str(native), path=example)
    run(example, meson, "install", "-C", "build", "--destdir", str(example / "installed"), path=example)
    (library,) = (example / "installed").rglob("_demo.abi3.so")
    shutil.rmtree(example / "demo_ops")
    assert (
        run(example / "installed", sys.executable, str(example / "use.py"), path=library.parents[2]) == "[1. 3. 5.]\n"
    )


def test_functions_that_write_are_declared_as_it_says(tmp_path: Path) -> None:
    """The header has the prototype that stands below the operator."""
    (entry,) = (text for language, text in ALL_BLOCKS if language == "yaml" and "adamw_step" in text)
    (prototype,) = (text for language, text in ALL_BLOCKS if language == "c" and "adamw_step" in text)
    (tmp_path / "ops.yaml").write_text(entry, encoding="utf-8")
    done = run_python("-m", "opwright_codegen.cli", "generate", "ops.yaml", "-o", "demo_ops", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    header = (tmp_path / "demo_ops" / "native" / "demo_kernels.h").read_text(encoding="utf-8")
    assert " ".join(prototype.split()) in " ".join(header.split())
