"""A program that installs this project as its users do, into a fresh environment of each Python that it finds.

It looks in PATH and among those that pyenv holds, from 3.11 on. Each environment gets the
newest of everything, NumPy too, and has to have the compiled core; there the core's tests run. A package that
an earlier Opwright generated, with its C library, runs there with the newest NumPy and with the oldest.

A second environment of each Python gets `opwright-core` alone, with the wheels of two projects (`core_alone.py`): each
kind of call has to work there, and each error to say what it says with the library. With `--between`, the oldest and
the newest Python get the second environment only.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from core_alone import PROGRAMS, wheels

ROOT = Path(__file__).parents[1]
TESTS = ("tests/runtime/core/test_fast_core.py", "tests/runtime/autograd/test_compiled_passes.py")
COMPAT = ROOT / "tests" / "compat"
OLDEST = (3, 11)
OLDEST_NUMPY = {11: "numpy==2.0.*", 12: "numpy==2.0.*", 13: "numpy==2.1.*", 14: "numpy==2.3.*"}  # by the minor version
ASKED = """
import sys, numpy, opwright, opwright_codegen
core = opwright.dispatch.core()
print(f"{sys.version.split()[0]}, NumPy {numpy.__version__}: {core.name} ({core.reason})")
x = opwright.tensor([1.0, 2.0], requires_grad=True)
(x.softmax(-1) * x).sum().backward()
assert core.name == "fast" and x.grad.shape == (2,) and opwright.add(numpy.ones(2), 1).tolist() == [2, 2]
"""


def pythons() -> dict[tuple[int, int], str]:
    """The commands of the Pythons that are there, one for each version."""
    found = {(3, minor): shutil.which(f"python3.{minor}") for minor in range(OLDEST[1], 20)}
    folders = []
    if pyenv := shutil.which("pyenv"):
        root = subprocess.run([pyenv, "root"], capture_output=True, text=True, check=True).stdout.strip()
        folders = sorted(Path(root, "versions").glob("3.*"))
    for folder in folders:
        version = re.match(r"3\.(\d+)", folder.name)
        if version and (command := folder / "bin" / f"python3.{version[1]}").exists():
            found[3, int(version[1])] = str(command)
    return {version: command for version, command in found.items() if command and version >= OLDEST and _runs(command)}


def _runs(command: str) -> bool:
    """Whether it is more than the name of a Python that is not installed."""
    return subprocess.run([command, "-c", "import venv, ensurepip"], capture_output=True, check=False).returncode == 0


def installed(command: str, oldest_numpy: str, copied: Path) -> str:
    """Install into an environment of this Python and try it; return what was said. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as sources:
        python, project = Path(folder, "bin", "python"), Path(sources, "project")
        shutil.copytree(copied, project)
        pip: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        pytest: list[str | Path] = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        return said_by(
            [command, "-m", "venv", folder],
            [*pip, project, "pytest", "hypothesis"],
            [python, "-c", ASKED],
            [*pytest, *TESTS, COMPAT],
            [*pip, "--only-binary", "numpy", oldest_numpy],
            [python, "-c", ASKED],
            [*pytest, COMPAT],
        )


def alone(command: str, copied: Path, built: list[Path]) -> str:
    """Install the core and wheels of operators into an environment of this Python, and call them; return what was said.
    Raises CalledProcessError."""
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder, "bin", "python")
        pip: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        return said_by(
            [command, "-m", "venv", folder],
            [*pip, copied / "runtime"],
            [*pip, "--no-index", *built],
            *([python, "-c", program, *files] for program, files in PROGRAMS),
        )


def said_by(*steps: list[str | Path]) -> str:
    """Run commands; return the last line of each. Raises CalledProcessError with all that one said, if it fails."""
    said = ""
    for step in steps:
        done = subprocess.run(step, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise subprocess.CalledProcessError(done.returncode, step, said + done.stdout)
        said += "".join(done.stdout.splitlines(keepends=True)[-1:])
    return said


def main(words: list[str]) -> int:
    """Try all of them, two at a time. The sources are copied at once: tests that run meanwhile leave files there."""
    found = pythons()
    between = {version: found[version] for version in sorted(found)[1:-1]}
    whole = between if between and words == ["--between"] else found
    left_out = shutil.ignore_patterns(".*", "build", "__pycache__", "*.so", "*.egg-info")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        copied = Path(shutil.copytree(ROOT, Path(folder, "project"), ignore=left_out))
        built = wheels(Path(folder, "alone"))
        subprocess.run([sys.executable, COMPAT / "earlier.py", Path(folder, "earlier")], check=True)
        if Path(folder, "earlier").exists():
            os.environ["OPWRIGHT_EARLIER"] = str(Path(folder, "earlier"))
        runs = {(*version, "the core alone"): pool.submit(alone, found[version], copied, built) for version in found}
        for version in whole:
            numpy = OLDEST_NUMPY.get(version[1], "numpy")
            runs[*version, "everything"] = pool.submit(installed, whole[version], numpy, copied)
        for (major, minor, what), run in runs.items():
            error = run.exception()
            said = error.stdout if isinstance(error, subprocess.CalledProcessError) else run.result()
            print(f"Python {major}.{minor}, {what}: {'FAILED' if error else 'well'}\n{said}")
    return int(not found or any(run.exception() for run in runs.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
