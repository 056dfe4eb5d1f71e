"""The wheels of core and library: with the extensions in C where there is a C compiler, in Python alone where there is
none, and tagged so."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import numpy as np
import pytest
from installing import copied

import opwright_core
from opwright_core.core import fast

pytestmark = pytest.mark.once  # it builds wheels of both kinds, whichever runs here

ROOT = Path(__file__).parents[1]
PARTS = ("runtime", "codegen", "templates", "schemas")


def sources(folder: Path) -> Path:
    """Copy what is built, without what was."""
    (folder / "generated").mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        copied(ROOT / part, folder / part)
    for built in (folder / "runtime").rglob("_*.so"):
        built.unlink()
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    return folder


def setup(folder: Path, *command: str, **environment: str) -> str:
    """Run a command of setup.py in a folder; return what it says of problems."""
    done = subprocess.run(
        [sys.executable, "setup.py", "--quiet", *command],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def wheels(folder: Path, **environment: str) -> tuple[list[Path], str]:
    """Return the wheels of core and library that are built of a copy of the sources, and what is said of them."""
    built = ["bdist_wheel", "--dist-dir", str(folder / "dist")]
    said = [setup(part, *built, **environment) for part in (sources(folder) / "runtime", folder)]
    return sorted((folder / "dist").glob("*.whl")), "".join(said)


BROKEN = "import sys; sys.stderr.write('loops.c:1:9: error: unknown type name\\n'); sys.exit(1)"
WITHOUT = [
    ("no-such-compiler", "the C compiler no-such-compiler cannot be run: No such file or directory"),
    ("false", "false ended with 1"),
    ("broken-compiler", "broken-compiler ended with 1; loops.c:1:9: error: unknown type name"),
]


@pytest.mark.parametrize(("compiler", "reason"), WITHOUT)
def test_without_a_compiler_it_is_for_every_python(compiler: str, reason: str, tmp_path: Path) -> None:
    """What is installed knows why it has neither extension, and says so once."""
    broken = tmp_path / "broken-compiler"
    broken.write_text(f"#!{sys.executable}\n{BROKEN}\n")
    broken.chmod(0o755)
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    made, said = wheels(tmp_path / "project", CC=compiler, PATH=path)
    assert [path.name.endswith("-py3-none-any.whl") for path in made] == [True, True]
    for extension in ("opwright_core._fast", "opwright_kernels._native"):
        assert said.count(f"{extension} is not built, Python runs in its place: {reason}\n") == 1
    names = [name for path in made for name in zipfile.ZipFile(path).namelist()]
    assert [name for name in names if re.search(r"/_(fast|native)\.|\.[ch]$", name) and "/include/" not in name] == []
    assert "opwright_aten/ops/pointwise.py" in names and not list((tmp_path / "project" / "generated").iterdir())
    headers = [path.name for path in (ROOT / "runtime/opwright_core/include/opwright").iterdir()]
    assert sorted(name for name in names if "/include/" in name) == [
        f"opwright_core/include/opwright/{name}" for name in sorted(headers)
    ]
    assert ran(made, tmp_path, f"opwright_core._fast is not built: {reason}") == "python [2.0, 2.0]"


def test_source_distributions_are_enough_to_build_wheels(tmp_path: Path) -> None:
    """That of the library contains the generated operators, and neither of the other projects."""
    project, packed, built = sources(tmp_path / "project"), tmp_path / "packed", tmp_path / "built"
    for part in ("runtime", "codegen", "."):
        setup(project / part, "sdist", "--dist-dir", str(packed))
    wheels, files = {}, {}
    for archive in packed.iterdir():
        shutil.unpack_archive(archive, tmp_path / "unpacked", filter="data")
        setup(tmp_path / "unpacked" / archive.name.removesuffix(".tar.gz"), "bdist_wheel", "-d", str(built), CC="false")
    for path in built.iterdir():
        with zipfile.ZipFile(path) as wheel:
            name = path.name.partition("-")[0]
            (metadata,) = (each for each in wheel.namelist() if each.endswith("/METADATA"))
            needs = re.findall(r"^Requires-Dist: ([^;\n]+)$", wheel.read(metadata).decode(), re.MULTILINE)
            wheels[name] = {each.partition("/")[0] for each in wheel.namelist() if ".dist-info/" not in each}, needs
            files[name] = wheel.namelist()
    version = opwright_core.__version__
    assert wheels == {
        "opwright_core": ({"opwright_core"}, ["numpy>=2.0", "ml_dtypes>=0.5"]),
        "opwright_codegen": (
            {"opwright_codegen"}, [f"opwright-core=={version}", "lark>=1.2.2", "jinja2>=3.1", "pyyaml>=6.0"]
        ),
        "opwright": (
            {"opwright", "opwright_aten", "opwright_bindings", "opwright_gate", "opwright_kernels", "opwright_pytest"},
            [f"opwright-core=={version}"],
        ),
    }  # fmt: skip
    bindings = {path.parent.name for path in (ROOT / "runtime" / "opwright_bindings").glob("*/binding.py.j2")}
    assert {each.split("/")[1] for each in files["opwright"] if each.endswith("/binding.py.j2")} == bindings
    assert not [each for each in files["opwright"] if "/tests/" in each]


def test_a_build_in_place_has_the_reason_and_nothing_older(tmp_path: Path) -> None:
    """`make` and `pip install --editable` build in place: there the folder of the sources is what is installed."""
    project = sources(tmp_path / "project")
    runtime = project / "runtime"
    built = [runtime / "opwright_core" / "_fast", runtime / "opwright_kernels" / "_native"]
    older = [path.with_name(f"{path.name}{sysconfig.get_config_var('EXT_SUFFIX')}") for path in built]
    for path in older:
        path.write_bytes(b"built of other sources")
    for folder in (runtime, project):
        setup(folder, "build_ext", "--inplace", CC="false")
    for path in built:
        assert path.with_name(f"{path.name}_missing.txt").read_text() == "false ended with 1\n"
    assert not any(path.exists() for path in older)


def test_one_file_includes_the_headers_of_numpy() -> None:
    """Another one would have its own table of NumPy's functions, which nobody loads. (`include/` is for packages.)"""
    paths = [path for path in (ROOT / "runtime").rglob("*.[ch]") if path.parent.name != "opwright"]
    files = [path for path in paths if "#include <numpy/" in path.read_text()]
    assert [path.name for path in files] == ["numpy_api.h"]


@pytest.mark.slow  # (it compiles for half a minute; `install_everywhere.py` does so in continuous integration)
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_with_a_compiler_it_is_for_this_one(tmp_path: Path) -> None:
    made, said = wheels(tmp_path)
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert [path.name.endswith(f"-{version}-{version}-{platform}.whl") for path in made] == [True, True]
    assert "not built" not in said
    assert ran(made, tmp_path) == "fast [2.0, 2.0]"


def ran(made: list[Path], folder: Path, reason: str = "") -> str:
    """Return which code serves a call of what wheels have, and its result; a reason is warned of, once."""
    for wheel in made:
        zipfile.ZipFile(wheel).extractall(folder / "installed")
    # Without `site`, in which an editable installation of this folder would offer its own core.
    code = "import opwright; print(opwright.dispatch.core().name, (opwright.ones(2) + 1).tolist())"
    environment = {name: value for name, value in os.environ.items() if name != "OPWRIGHT_PURE"}
    environment["PYTHONPATH"] = os.pathsep.join([str(folder / "installed"), *sys.path[1:]])
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    assert (
        done.stderr.count("RuntimeWarning") == done.stderr.count(f"{reason}. Python runs in its place") == bool(reason)
    )
    return done.stdout.strip()


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_no_compiler_warns(compiler: str, tmp_path: Path) -> None:
    command = [compiler, "-fsyntax-only"]
    if compiler == "clang":
        command = [*clang(), "-c"]
    elif shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    core = ROOT / "runtime" / "opwright_core"
    include = [f"-isystem{sysconfig.get_path('include')}", f"-isystem{np.get_include()}"]
    include += [f"-I{tmp_path / 'include'}", f"-I{core}", f"-I{core / 'include'}"]
    checks = ["-std=c11", "-Wall", "-Wextra", "-Werror"]
    parts = {ROOT / "runtime": core / "fast", ROOT: ROOT / "runtime" / "opwright_kernels" / "native"}
    for project, folder in parts.items():
        # A build that fails has written the headers that come of tables.
        setup(project, "build_ext", f"--build-temp={tmp_path}", f"--build-lib={tmp_path / 'lib'}", CC="false")
        files = sorted(map(str, folder.rglob("*.c")))  # (zig links what it compiles together)
        done = subprocess.run(
            [*command, *checks, *include, *files], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert files and done.returncode == 0, done.stderr


def clang() -> list[str]:
    """Return the command of clang, which `ziglang` brings."""
    pytest.importorskip("ziglang")
    return [sys.executable, "-m", "ziglang", "cc"]


@pytest.mark.skipif(fast is None or not os.confstr("CS_GNU_LIBC_VERSION"), reason="needs the core, and glibc's libm")
def test_extensions_name_the_library_of_their_functions() -> None:
    """Without it a linker takes sines and exponentials from wherever it finds them, or those of the oldest version."""
    from opwright_kernels import _native

    for extension in (fast, _native):
        assert b"libm.so" in Path(extension.__file__).read_bytes()


@pytest.mark.slow  # (it compiles for half a minute and more)
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a linker")
def test_what_clang_compiles_computes_the_same(tmp_path: Path) -> None:
    """Values and warnings of kernels do not depend on the compiler. The linker is the system's: zig's own takes libm's
    functions from a library of zig's."""
    compiler = tmp_path / "clang"
    compiler.write_text(f'#!/bin/sh\nexec {shlex.join(clang())} "$@"\n')
    compiler.chmod(0o755)
    project = sources(tmp_path / "project")
    for part in (project / "runtime", project):
        assert setup(part, "build_ext", "--inplace", CC=str(compiler), LDSHARED="cc -shared") == ""
    code = (
        "import sys, pytest, opwright_core.core as core; print(core.fast.__file__); sys.exit(pytest.main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "-q", "-p", "no:cacheprovider", "tests/runtime/core/test_compiled_kernels.py"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (project / "runtime", ROOT / "generated")))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and str(project) in done.stdout.splitlines()[0], done.stdout
