"""A package that an earlier Opwright generated and built, used by this runtime (`earlier.py`, `use.py`)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import earlier
import pytest

pytestmark = pytest.mark.once  # both modes are tried
STEPS = [
    "values_agree", "writes_count", "views_are_views", "gradients_flow", "fakes_agree", "cuda_serves",
    "the_library_serves", "expressions_agree", "kernels_agree", "writes_reach", "errors_are_worded", "modules_import",
]  # fmt: skip


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the package: where OPWRIGHT_EARLIER says that it is built already, by another Python perhaps."""
    if given := os.environ.get("OPWRIGHT_EARLIER"):
        return Path(given)
    if not earlier.is_here():
        pytest.skip("needs the history of this repository")
    folder = tmp_path_factory.mktemp("earlier")
    earlier.build(folder)
    return folder


@pytest.mark.parametrize("pure", ["0", "1"])
def test_a_package_of_an_earlier_opwright_works(package: Path, pure: str) -> None:
    done = subprocess.run(
        [sys.executable, "-Werror::DeprecationWarning", Path(earlier.__file__).with_name("use.py"), package],
        env=os.environ | {"OPWRIGHT_PURE": pure},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split() == STEPS
