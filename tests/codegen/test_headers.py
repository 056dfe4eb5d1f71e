"""The C headers that come with the core: found without the core, whole by themselves, in one layout."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from opwright_codegen.cli import main
from opwright_codegen.views.headers import header_files, header_text, include_dir

pytestmark = pytest.mark.once  # files alone

NAMES = [path.name for path in header_files()]


def test_the_command_prints_their_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["include-dir"]) == 0
    assert Path(capsys.readouterr().out.rstrip("\n")) == include_dir()
    assert "elements.h" in NAMES and (include_dir() / "opwright" / "elements.h").is_file()


@pytest.mark.parametrize("name", NAMES)
def test_a_header_has_a_guard_and_no_variable_text(name: str) -> None:
    text = header_text(name)
    guard = f"OPWRIGHT_{name.removesuffix('.h').upper()}_H"
    assert text.startswith("/* ") and f"#ifndef {guard}\n#define {guard}\n" in text and text.endswith("#endif\n")
    assert "{{" not in text and "{%" not in text


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.parametrize("name", sorted(set(NAMES) - {"loop_shims.h"}))  # which its shims surround
def test_a_header_needs_no_other_before_it(name: str, tmp_path: Path) -> None:
    source = tmp_path / "made.c"
    source.write_text(f"#include <opwright/{name}>\n#include <opwright/{name}>\n", encoding="utf-8")
    system = ("-isystem", sysconfig.get_path("include"), "-isystem", np.get_include())
    command = ["cc", "-std=c11", "-Wall", "-Werror", "-fsyntax-only", f"-I{include_dir()}", *system, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("clang-format") is None, reason="there is no clang-format")
def test_they_have_the_layout_of_clang_format() -> None:
    command = ["clang-format", "--dry-run", "-Werror", *map(str, header_files())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
