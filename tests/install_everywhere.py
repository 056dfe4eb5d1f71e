"""A program that installs this project as its users do, into a fresh environment of each Python that it finds.

It looks in PATH and among those that pyenv holds, from 3.11 on. Each environment gets the
newest of everything, NumPy too, and has to have the compiled core; there the core's tests run. A package that
an earlier Opwright generated, with its C library, runs there with the newest NumPy and with the oldest.
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


def installed(command: str, oldest_numpy: str, copied: Path) -> tuple[bool, str]:
    """Install into an environment of this Python and try it; return whether all went well, and what was said.

    From a copy of its own: setuptools writes `opwright.egg-info` into the folder, and two of them at once meet there.
    """
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as sources:
        python, project = Path(folder, "bin", "python"), Path(sources, "project")
        shutil.copytree(copied, project)
        pip: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        pytest: list[str | Path] = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        steps: list[list[str | Path]] = [
            [command, "-m", "venv", folder],
            [*pip, project, "pytest", "hypothesis"],
            [python, "-c", ASKED],
            [*pytest, *TESTS, COMPAT],
            [*pip, "--only-binary", "numpy", oldest_numpy],
            [python, "-c", ASKED],
            [*pytest, COMPAT],
        ]
        said = ""
        for step in steps:
            done = subprocess.run(
                step, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
            )
            if done.returncode != 0:
                return False, said + done.stdout
            said += "".join(done.stdout.splitlines(keepends=True)[-1:])
        return True, said


def main(words: list[str]) -> int:
    """Try all of them, two at a time; with `--between`, all but the oldest and the newest, if there are others. The
    sources are copied at once: tests that run meanwhile leave files there."""
    found = pythons()
    between = {version: found[version] for version in sorted(found)[1:-1]}
    found = between if between and words == ["--between"] else found
    left_out = shutil.ignore_patterns(".*", "build", "__pycache__", "*.so", "*.egg-info")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        copied = Path(shutil.copytree(ROOT, Path(folder, "project"), ignore=left_out))
        subprocess.run([sys.executable, COMPAT / "earlier.py", Path(folder, "earlier")], check=True)
        if Path(folder, "earlier").exists():
            os.environ["OPWRIGHT_EARLIER"] = str(Path(folder, "earlier"))
        numpys = [OLDEST_NUMPY.get(minor, "numpy") for _, minor in found]
        results = list(pool.map(installed, found.values(), numpys, [copied] * len(found)))
    for version, (is_well, said) in zip(found, results, strict=True):
        print(f"Python {version[0]}.{version[1]}: {'well' if is_well else 'FAILED'}\n{said}")
    return int(not found or not all(is_well for is_well, _ in results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
