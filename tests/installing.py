"""Environments with a distribution that pip built and installed, for tests of what users of it get."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

NO_INDEX = "pip reaches no package index: No matching distribution"


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command without what this process's environment says of modules and plug-ins."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "OPWRIGHT_PLUGINS")}
    shown = [str(part) for part in command]
    return subprocess.run(shown, cwd=cwd, env=kept, capture_output=True, text=True, check=False)


def environment(folder: Path) -> Path:
    """The interpreter of a new environment that finds the packages of this one, the Opwright under test among them.

    The standard library stays out of the list: pip hides whatever the list names from the builds that it isolates.
    """
    venv.create(folder)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    library = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
    library |= {os.path.join(path, "lib-dynload") for path in library}
    lines = [path for path in sys.path if Path(path).is_dir() and path not in library]
    lines += [f"import site; site.addsitedir({path!r})" for path in lines if Path(path).name == "site-packages"]
    (packages / "beside.pth").write_text("\n".join(lines), encoding="utf-8")
    return folder / ("Scripts" if os.name == "nt" else "bin") / "python"


def copied(project: Path, folder: Path) -> Path:
    """A copy of the project's sources, since building leaves files behind."""
    return Path(shutil.copytree(project, folder, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build")))


def install(python: Path, distribution: Path) -> None:
    """Install a project or a wheel by pip, as its user would: built in isolation, with what its pyproject.toml asks."""
    pip = sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--disable-pip-version-check"
    done = run(*pip, distribution, cwd=python.parent)
    if "No matching distribution" in done.stderr:
        pytest.skip(NO_INDEX)
    assert done.returncode == 0, done.stderr
