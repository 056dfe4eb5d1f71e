"""Packages that earlier generators made, used by this runtime: what is committed here is never made anew."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

USE = Path(__file__).with_name("use.py")


@pytest.mark.parametrize("version", ["version4", "version5"])
@pytest.mark.parametrize("pure", ["0", "1"])
def test_a_package_of_before_works(pure: str, version: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning", str(USE), version],
        env=os.environ | {"OPWRIGHT_PURE": pure},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == "modules_import"
