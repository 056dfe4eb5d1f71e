"""Packages that earlier generators made, used by this runtime: what is committed here is never made anew.

`versionN` is Python alone; `nativeN` has the library, too, that was built then, by Python 3.11 with NumPy 2.4.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

pytestmark = pytest.mark.once  # both modes are tried
HERE = Path(__file__).parent
VERSIONS = ("4", "5", "6")
IS_BUILT_FOR = (
    sys.platform == "linux"
    and platform.machine() == "x86_64"
    and platform.libc_ver()[0] == "glibc"
    and not sysconfig.get_config_var("Py_GIL_DISABLED")
)


_EACH = """
import runpy, sys
program, *packages = sys.argv[1:]
for package in packages:
    print(package)
    sys.argv[1:] = [package]
    runpy.run_path(program, run_name="__main__")
"""


def use(program: str, packages: list[str], pure: str) -> list[str]:
    """Return what a program over each of the packages printed, in a process for all."""
    warnings = ["error::DeprecationWarning", *(f"ignore:{package}_ops uses" for package in packages)]
    done = subprocess.run(
        [sys.executable, *(f"-W{each}" for each in warnings), "-c", _EACH, HERE / program, *packages],
        env=os.environ | {"OPWRIGHT_PURE": pure},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("pure", ["0", "1"])
def test_packages_of_before_work(pure: str) -> None:
    assert use("use.py", [f"version{each}" for each in VERSIONS], pure).count("modules_import") == len(VERSIONS)


@pytest.mark.skipif(not IS_BUILT_FOR, reason="the libraries are for Linux on x86-64, and Pythons with the GIL")
@pytest.mark.parametrize("pure", ["0", "1"])
def test_libraries_of_before_serve(pure: str) -> None:
    assert use("use_native.py", [f"native{each}" for each in VERSIONS], pure).count("gradients_flow") == len(VERSIONS)
