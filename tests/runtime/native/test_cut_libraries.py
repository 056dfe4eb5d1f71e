"""Libraries of packages whose files are cut short: a line that says so, where the system would stop the process."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from opwright_core.native_kernels.libraries import SUFFIX, NativeLibrary
from opwright_core.native_kernels.truncated_files import check_whole

pytestmark = pytest.mark.once
PROJECT = Path(__file__).parents[2] / "compat" / "project"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of a package with a kernel in C."""
    folder = Path(shutil.copytree(PROJECT, tmp_path_factory.mktemp("cut") / "project"))
    for command in ("generate", "build"):
        subprocess.run([sys.executable, "-m", "opwright_codegen.cli", command], cwd=folder, check=True)
    (library,) = folder.glob(f"earlier_ops/native/_earlier{SUFFIX}")
    return library


def test_a_library_that_is_cut_short_is_refused_before_it_is_mapped(tmp_path: Path, built: Path) -> None:
    """At each length the file is refused; what is no file of that kind is left to the system."""
    check_whole(built)
    whole = built.read_bytes()
    path = tmp_path / built.name
    for size in (100, 4096, 20_000, 61_000):
        path.write_bytes(whole[:size])
        with pytest.raises(ImportError, match=rf"_earlier.abi3.so is cut short: it has {size} of [0-9]+ bytes"):
            check_whole(path)
    for content in (b"", b"\x7fELF", b"no library" * 20):
        path.write_bytes(content)
        check_whole(path)


def test_its_package_says_so(tmp_path: Path, built: Path) -> None:
    (tmp_path / f"_cut{SUFFIX}").write_bytes(built.read_bytes()[:20_000])
    library = NativeLibrary("cut", str(tmp_path), "_cut", "")
    assert "is cut short: it has 20000 of" in library.problem and library.problem.endswith("run `opwright build`")
