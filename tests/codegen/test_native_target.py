"""C kernels as text: what of a schema reaches C can only be a comment, a literal or a name of ours."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import rendered_cases
from hypothesis import given
from hypothesis import strategies as st

from opwright_codegen.views.c_text import c_block, c_literal, c_name, c_namer
from opwright_codegen.views.headers import include_dir

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
# (the environment with the oracle has clang, as `ziglang`)
ZIG = [sys.executable, "-m", "ziglang"] if find_spec("ziglang") else []
CLANG = ["clang"] if shutil.which("clang") else [*ZIG, "cc"] if ZIG else []
CLANG_CXX = ["clang++"] if shutil.which("clang++") else [*ZIG, "c++"] if ZIG else []
COMPILERS = [
    pytest.param(["cc"], id="cc", marks=needs_compiler),
    pytest.param(CLANG, id="clang", marks=pytest.mark.skipif(not CLANG, reason="there is no clang")),
]
CXX_COMPILERS = [
    pytest.param(["c++"], id="c++", marks=pytest.mark.skipif(not shutil.which("c++"), reason="there is no c++")),
    pytest.param(CLANG_CXX, id="clang++", marks=pytest.mark.skipif(not CLANG_CXX, reason="there is no clang")),
]


def native(name: str) -> Path:
    """A file of the case `native`."""
    return rendered_cases.package_of("native") / "native" / name


def compiled(folder: Path, text: str, *flags: str, compiler: Sequence[str] = ("cc",), ending: str = "c") -> Path:
    """Compile C with all warnings as errors, those about trigraphs and joined comments among them."""
    (folder / f"made.{ending}").write_text(text, encoding="utf-8")
    own = (f"-I{native('.')}", f"-I{include_dir()}")
    headers = (*own, "-isystem", sysconfig.get_path("include"), "-isystem", np.get_include())
    command = [*compiler, "-fPIC", "-Wall", "-Wextra", "-Werror", *flags, *headers, "-c", f"made.{ending}"]
    command += ["-o", "made.o"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "made.o"


def symbols(made: Path) -> set[str]:
    """Return what an object defines or needs of a project: names that the linker sees."""
    found = subprocess.run(["nm", made], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in found.splitlines() if not line.split()[-1].startswith(("Py", "_Py", "."))}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("flags", [("-std=c11",), ("-std=c99", "-trigraphs"), ("-std=c11", "-O3"), ("-std=gnu17",)])
def test_hostile_text_compiles_to_nothing_else(tmp_path: Path, flags: tuple[str, ...], compiler: list[str]) -> None:
    """The schema of the case has ends of comments, backslashes, trigraphs and quotes in its texts."""
    made = compiled(tmp_path, native("demo_shims.c").read_text(encoding="utf-8"), *flags, compiler=compiler)
    assert not [name for name in symbols(made) if "evil" in name]
    prototypes = set(re.findall(r"^int (\w+)\(", native("demo_kernels.h").read_text(encoding="utf-8"), re.MULTILINE))
    assert len(prototypes) == 1 + 2 + 13 + 1 + 13 + 2 + 1
    kernels = ("axpy", "words", "rows", "step", "compared", "halve", "demo")
    ours = {name for name in symbols(made) if name.startswith(kernels)}
    assert ours == prototypes


@needs_compiler
def test_the_header_can_be_read_alone(tmp_path: Path) -> None:
    """Plain C: no type of Python or NumPy, and names of arguments that are words of C are others."""
    header = native("demo_kernels.h").read_text(encoding="utf-8")
    assert "Py" not in re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    compiled(tmp_path, header + "int used;\n", "-std=c11", "-Wpedantic")
    assert "int64_t _b" not in header
    assert "const float _Complex *int_, int int__ndim" in header


@pytest.mark.parametrize("compiler", CXX_COMPILERS)
def test_kernels_may_be_written_in_cxx(tmp_path: Path, compiler: list[str]) -> None:
    """The header declares functions of C there, too."""
    body = "int halve_f32(int64_t n, const float *self, float *out) { return n && self ? (int)*out : 0; }"
    text = f'#include "demo_kernels.h"\n{body}\nint other() {{ return demo_fail(""); }}\n'
    assert {"halve_f32", "demo_fail"} <= symbols(compiled(tmp_path, text, compiler=compiler, ending="cpp"))


WORDS = [*"*/\\?\"'\n\r\t \x00\x0b\u2028\u202e%a<>=-()!ä", "*/", "??/", "/*", "//", "\\\n"]
HOSTILE = st.lists(st.sampled_from(WORDS)).map("".join)


@given(HOSTILE)
def test_no_text_ends_a_comment(text: str) -> None:
    shown = c_block(text, "more")
    assert shown.index("*/") == len(shown) - 2
    assert "/*" not in shown[1:]
    assert "\\" not in shown
    assert "??" not in shown
    assert all(line.isprintable() for line in shown.split("\n"))


@given(HOSTILE)
def test_literals_are_their_text(text: str) -> None:
    """Octal escapes alone: nothing that ends the literal, and no trigraph."""
    literal = c_literal(text)
    assert re.fullmatch(r'"(?:[^"\\\n?]|\\[0-7]{3})*"', literal)
    assert literal[1:-1].encode().decode("unicode_escape").encode("latin-1").decode() == text


@given(st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True) | st.sampled_from(["int", "n", "_Bool", "I"]))
def test_names_are_not_those_of_c(name: str) -> None:
    namer = c_namer()
    first, second = c_name(namer, name), c_name(namer, name)
    assert first != second
    assert not {first, second} & {"int", "I", "restrict", "void"}
    assert not first.startswith("_")
