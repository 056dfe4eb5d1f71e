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


def use(program: str, package: str, pure: str) -> list[str]:
    """Return what a program over a package printed, in a process of its own."""
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error::DeprecationWarning",
            "-W",
            f"ignore:{package}_ops uses",
            str(HERE / program),
            package,
        ],
        env=os.environ | {"OPWRIGHT_PURE": pure},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("pure", ["0", "1"])
def test_a_package_of_before_works(pure: str, version: str) -> None:
    assert use("use.py", f"version{version}", pure)[-1] == "modules_import"


@pytest.mark.skipif(not IS_BUILT_FOR, reason="the libraries are for Linux on x86-64, and Pythons with the GIL")
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("pure", ["0", "1"])
def test_a_library_of_before_serves(pure: str, version: str) -> None:
    assert use("use_native.py", f"native{version}", pure)[-1] == "gradients_flow"
