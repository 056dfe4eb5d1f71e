"""A program that generates and builds the package of `project/` with an earlier Opwright: `earlier.py FOLDER`.

The earlier one is a commit of this repository. From the first release on it is that release's tag.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMMIT = "f68f3cb6"  # the first with version 1 of `opwright_core.abi`
PARTS = ("codegen", "templates", "schemas", "runtime")


def is_here() -> bool:
    """Return whether this is a repository with that commit: a copy of the files, or a shallow clone, is none."""
    asked = ["git", "-C", str(ROOT), "cat-file", "-e", f"{COMMIT}^{{commit}}"]
    return shutil.which("git") is not None and subprocess.run(asked, capture_output=True, check=False).returncode == 0


def build(folder: Path) -> None:
    """Generate and build the package in a folder, which gets the project's files, too."""
    shutil.copytree(Path(__file__).parent / "project", folder, dirs_exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        tree = Path(made)
        archive = subprocess.run(["git", "-C", str(ROOT), "archive", COMMIT, *PARTS], capture_output=True, check=True)
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
            files.extractall(tree, filter="data")
        for part in ("templates", "schemas"):  # where an installed generator has them
            (tree / "codegen" / "opwright_codegen" / part).symlink_to(tree / part)
        paths = {"PYTHONPATH": os.pathsep.join([str(tree / "codegen"), str(tree / "runtime")])}
        for command in ("generate", "build"):
            asked = [sys.executable, "-m", "opwright_codegen.cli", command]
            subprocess.run(asked, cwd=folder, env=os.environ | paths, stdout=subprocess.DEVNULL, check=True)


if __name__ == "__main__":
    if is_here():
        build(Path(sys.argv[1]))
    else:
        print(f"no package of an earlier Opwright: commit {COMMIT} is not in this repository")
