"""The command `build`: what it compiles again, what it says of files that are wrong, and what interrupts it.

Without a C compiler these tests are skipped; continuous integration has one.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from python_copies import run_python

from opwright_codegen.building.compiler import BuildError, ToolsMissing, find_compiler
from opwright_codegen.building.progress import Progress, progress_bar, shown
from opwright_codegen.building.state import depended, stamps_of
from opwright_codegen.cli import main
from opwright_codegen.commands import build as command

QUICK = str(Path(__file__).parents[1] / "quick_cc")
EXAMPLE = Path(__file__).parents[2] / "examples" / "native"
pytestmark = [
    pytest.mark.once,  # the command compiles, and calls nothing
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
]
AXPY, ROWS = "csrc/axpy.c", "csrc/rows.c"
ALL = 1 + len(list((EXAMPLE / "csrc").glob("*.c")))  # with the generated one


def line_of(text: str) -> int:
    """Return the line of the example's larger file that has a text."""
    whole = (EXAMPLE / ROWS).read_text(encoding="utf-8")
    return whole.count("\n", 0, whole.index(text)) + 1


INCLUDE = '#include "native_demo_kernels.h"'


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, built, in a folder whose name has what shells and make read otherwise."""
    folder = tmp_path_factory.mktemp("build") / "a b#c$d'e: ü"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("native_demo", "__pycache__"))
    done = run_python("-m", "opwright_codegen.cli", "build", cwd=folder, env=os.environ | {"CC": QUICK})
    assert done.returncode == 0, done.stderr
    assert f"{ALL} of {ALL} files compiled" in done.stdout
    return folder


@pytest.fixture
def project(built: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The example as it was built, which is also the working directory."""
    texts = {path: path.read_bytes() for path in (built / "csrc").iterdir()}
    monkeypatch.chdir(built)
    for name in ("CFLAGS", "LDFLAGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CC", QUICK)
    yield built
    for path in (built / "csrc").iterdir():
        path.unlink()
    for path, text in texts.items():
        path.write_bytes(text)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def build(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """Return what a build says that succeeds."""
    capsys.readouterr()
    status = main(["build", *options])
    said = capsys.readouterr()
    assert status == 0, said.err
    return said.out


def refused(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """Return what a build says that fails."""
    capsys.readouterr()
    assert main(["build", *options]) == 1
    return capsys.readouterr().err


# -- what is compiled


def test_only_what_changed_is_compiled(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build(capsys)
    assert f"up to date, {ALL} files" in build(capsys)
    with (project / AXPY).open("a") as file:
        file.write("\n")
    said = build(capsys)
    assert f"1 of {ALL} files compiled" in said
    assert AXPY in said and ROWS not in said
    assert f"{ALL} of {ALL} files compiled" in build(capsys, "--force", "-j", "2")


def test_a_header_and_another_file_and_one_that_went(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Objects have the names of their files' paths: one file more or less leaves the others as they are."""
    (project / "csrc" / "own.h").write_text("#define ONE 1\n")
    edit(project / ROWS, INCLUDE, f'{INCLUDE}\n#include "own.h"')
    build(capsys)
    (project / "csrc" / "own.h").write_text("#define ONE 2\n")
    assert f"1 of {ALL} files compiled" in build(capsys)
    (project / "csrc" / "a first.c").write_text("int first_of_all(void);\nint first_of_all(void) { return 1; }\n")
    assert f"1 of {ALL + 1} files compiled" in build(capsys)
    (project / "csrc" / "a first.c").unlink()
    assert f"0 of {ALL} files compiled" in build(capsys)
    assert not list((project / "native_demo/native/build").glob("a first*"))
    assert "up to date" in build(capsys)


def test_other_flags_and_another_compiler_compile_anew(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    build(capsys)
    monkeypatch.setenv("CFLAGS", "-O2 -g0 '-DTEXT=\"a b\"'")
    assert f"{ALL} of {ALL} files compiled" in build(capsys)
    monkeypatch.setenv("CC", f"env FROM='a wrapper' {QUICK} -Wall")  # as ccache cc
    assert f"{ALL} of {ALL} files compiled" in build(capsys)
    assert "up to date" in build(capsys)


def test_what_changes_while_it_is_compiled_is_compiled_again() -> None:
    """A file without a stamp of before the start may have been written while the compiler read it."""
    now = time.time_ns()
    path = str(Path(__file__))
    kept = [os.stat(path).st_size, os.stat(path).st_mtime_ns]
    assert stamps_of([path], {}, now) == {path: kept}
    assert stamps_of([path], {}, kept[1]) == {path: []}
    assert stamps_of([path], {path: [1, 2]}, now) == {path: [1, 2]}


def test_a_state_that_is_broken_says_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = project / "native_demo/native/build/state.json"
    empty = json.dumps(dict.fromkeys(json.loads(state.read_text())))
    for text in ("", "[]", '{"x": 1, "link": 3}', '{"link": ', empty):
        state.write_text(text)
        assert f"{ALL} of {ALL} files compiled" in build(capsys)


def test_names_in_depfiles(tmp_path: Path) -> None:
    path = tmp_path / "x.d"
    path.write_text("object: a\\ b.c \\\n c$$d\\#.h /e:f.h\n")
    assert depended(path) == ["a b.c", "c$d#.h", "/e:f.h"]


# -- what is wrong


@pytest.mark.parametrize(
    "name, old, new, first, rest",
    [
        (
            AXPY,
            "const float *x",
            "const char *x",
            "csrc/axpy.c:3: error: 'axpy_f32' is not what the schema asks for, which is\n    int axpy_f32(int64_t n, ",
            "csrc/axpy.c:3:5: error: conflicting types for 'axpy_f32'",
        ),
        (AXPY, "int axpy_f32", "static int axpy_f32", "csrc/axpy.c:3: error: 'axpy_f32' is not what the schema", ""),
        (
            AXPY,
            "axpy_f64",
            "axpy_f63",
            "error: no C file has the function 'axpy_f64' (csrc/axpy.c has 'axpy_f63'), which is\n    int axpy_f64(",
            "functions are missing that native_demo/native/native_demo_kernels.h declares",
        ),
        (ROWS, "MOMENTS(moments_f32, float)", "", "error: no C file has the function 'moments_f32', which is", ""),
        (
            ROWS,
            INCLUDE,
            '#include "../csrc/axpy.c"',
            "error: the function 'axpy_f32' is in",
            "multiple definition",
        ),
        (
            AXPY,
            INCLUDE,
            "#include <stdint.h> /* native_demo_kernels.h */",
            "csrc/axpy.c:3: error: 'axpy_f32' stands in a file that does not include its header: write #include",
            "compiling csrc/axpy.c failed",
        ),
        (
            AXPY,
            "native_demo_kernels",
            "demo_kernels",
            "csrc/axpy.c:1: error: 'demo_kernels.h' is not there: the header of this namespace is 'native_demo_ke",
            "",
        ),
        (
            ROWS,
            "total += first",
            "total += frist",
            f"csrc/rows.c:{line_of('MOMENTS(moments_f32')}: error: 'frist' undeclared",
            f"csrc/rows.c:{line_of('total += first')}:26: error: 'frist' undeclared",
        ),
        (
            AXPY,
            INCLUDE,
            f'{INCLUDE}\n#include "own.h"',
            "csrc/axpy.c:2: error: 'x' undeclared",
            "csrc/own.h:1:",
        ),
        (AXPY, "return 0", "return nowhere(out)", "opwright: no C file has 'nowhere', nor has a library: LDFLAGS", ""),
    ],
)
@pytest.mark.skipif(sys.platform == "darwin", reason="other words of another linker")
def test_errors_point_at_the_project(
    project: Path, capsys: pytest.CaptureFixture[str], name: str, old: str, new: str, first: str, rest: str
) -> None:
    """A line of ours stands first, where there is more to say than the compiler says; then all that it says."""
    (project / "csrc" / "own.h").write_text("static int own(void) { return x; }\n")
    edit(project / name, old, new)
    if "nowhere" in new:
        edit(project / name, "int axpy_f32", "int nowhere(void *out);\nint axpy_f32")
    said = refused(capsys)
    assert said.startswith(first), said
    assert rest in said
    assert said.splitlines()[-1].startswith("opwright: ")


def test_all_files_that_are_wrong_are_shown(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in (AXPY, ROWS):
        edit(project / name, INCLUDE, f"{INCLUDE}\nno nonsense;")
    said = refused(capsys, "-j1")
    assert "csrc/axpy.c:2:1" in said and "csrc/rows.c:3:1" in said
    assert "opwright: compiling csrc/axpy.c, csrc/rows.c failed" in said


def test_text_that_is_no_utf_8_is_the_compilers_business(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build(capsys)
    with (project / AXPY).open("ab") as file:
        file.write(b"/* \xff */\n")
    assert f"1 of {ALL} files compiled" in build(capsys)
    (project / "csrc" / os.fsdecode(b"\xff.c")).write_text("int other(void);\nint other(void) { return 1; }\n")
    assert f"1 of {ALL + 1} files compiled" in build(capsys)


def test_variables_that_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFLAGS", "-DX='1")
    with pytest.raises(BuildError, match="the environment variable CFLAGS cannot be read: no closing quotation"):
        find_compiler()
    monkeypatch.setenv("CC", "no-such-compiler -O1")
    with pytest.raises(ToolsMissing, match="CC names 'no-such-compiler', which is not installed: install gcc"):
        find_compiler()
    monkeypatch.setenv("CC", "")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ToolsMissing, match="there is no C compiler: install gcc or clang"):
        find_compiler()


def test_without_a_compiler_one_line_says_so(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CC")
    monkeypatch.setenv("PATH", "")
    assert refused(capsys).startswith("opwright: there is no C compiler: install gcc or clang")
    assert main(["build", "--optional"]) == 0
    assert capsys.readouterr().err.count("\n") == 1


def test_what_is_in_the_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file where objects go, settings that name nothing: a line each."""
    shutil.copytree(EXAMPLE, tmp_path / "p", ignore=shutil.ignore_patterns("native_demo", "__pycache__"))
    monkeypatch.chdir(tmp_path / "p")
    assert main(["generate"]) == 0
    Path("native_demo/native/build").write_text("")
    capsys.readouterr()
    assert main(["build"]) == 2
    assert capsys.readouterr().err.endswith("native_demo/native/build: File exists\n")
    for path in Path("csrc").glob("*.c"):
        path.unlink()
    assert main(["build"]) == 1
    assert capsys.readouterr().err == "opwright: csrc, which [tool.opwright] names, has no C file\n"
    edit(Path("pyproject.toml"), '["csrc"]', '["sources"]')
    assert main(["build"]) == 1
    assert capsys.readouterr().err == "opwright: sources, which [tool.opwright] names, is missing\n"


# -- interrupted, and two at once


def test_a_build_that_is_killed_leaves_nothing_half_written(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The compiler of the first build waits for ever, when it has begun the object; the second finds all as it was."""
    build(capsys)
    library = project / "native_demo/native/_native_demo.abi3.so"
    before = library.read_bytes()
    objects = {path: path.read_bytes() for path in library.parent.glob("build/*.o")}
    assert len(objects) == ALL
    slow = project / "csrc" / "slow"
    slow.write_text('#!/bin/sh\nfor last; do :; done\necho half >"$last"\nsleep 60\n')
    slow.chmod(0o755)
    process = subprocess.Popen(
        [sys.executable, "-m", "opwright_codegen.cli", "build", "--force"],
        env=os.environ | {"CC": f"'{slow}'".replace("d'e", "d'\"'\"'e")},
        start_new_session=True,
        stdout=subprocess.DEVNULL,
    )
    try:
        while not list(library.parent.glob("build/*.part")) and process.poll() is None:
            time.sleep(0.01)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert library.read_bytes() == before
    assert {path: path.read_bytes() for path in objects} == objects
    assert f"up to date, {ALL} files" in build(capsys)


def test_two_builds_at_once(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One compiles, the other waits and finds nothing to do."""
    build(capsys)
    with (project / AXPY).open("a") as file:
        file.write("/* once more */\n")
    run = [sys.executable, "-m", "opwright_codegen.cli", "build"]
    both = [subprocess.Popen(run, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = sorted(process.communicate()[0].splitlines()[-1].partition(", in ")[0] for process in both)
    assert [process.returncode for process in both] == [0, 0]
    assert [line.partition(": ")[2] for line in said] == [f"1 of {ALL} files compiled", f"up to date, {ALL} files"]


# -- on a terminal


class Terminal(io.StringIO):
    """A text stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_has_one_line_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    terminal, file = Terminal(), io.StringIO()
    for out in (terminal, file):
        progress = Progress(out, 2)
        progress.show(Path("a.c"))
        progress.done(Path("a.c"))
        progress.show(Path("b.c"))
        progress.clear()
    assert file.getvalue() == "[1/2] a.c\n"
    bar = re.sub(r"\x1b\[[0-9?;]*[A-Za-z]", "", terminal.getvalue())
    steps = re.findall(r"(\d/2) +(\w\.c), [0-9.]+ s", bar)
    assert list(dict.fromkeys(steps)) == [("0/2", "a.c"), ("1/2", "b.c")]
    assert terminal.getvalue().endswith("\x1b[2K")  # nothing is left


def test_a_run_that_takes_long_has_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("opwright_codegen.building.progress._SOON", 0)
    terminal, file = Terminal(), io.StringIO()
    for out in (terminal, file):
        with progress_bar(out) as report:
            report("ops/a.py", 0, 2)
            report("ops/b.py", 1, 2)
    assert file.getvalue() == ""
    bar = re.sub(r"\x1b\[[0-9?;]*[A-Za-z]", "", terminal.getvalue())
    steps = re.findall(r"(\d/2) +(ops/\w\.py)", bar)
    assert list(dict.fromkeys(steps)) == [("0/2", "ops/a.py"), ("1/2", "ops/b.py")]
    assert terminal.getvalue().endswith("\x1b[2K")  # nothing is left


def test_a_terminal_has_the_beginning_of_what_is_long(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it is in a file that the last line names."""
    terminal = Terminal()
    edit(project / AXPY, INCLUDE, INCLUDE + "\nno nonsense;" * 50)
    monkeypatch.setattr(sys, "stderr", terminal)
    assert main(["build"]) == 1
    shown_lines = terminal.getvalue().splitlines()
    log = Path("native_demo/native/build", command._LOG)
    whole = log.read_text().splitlines()
    assert shown_lines[: command._LINES] == whole[: command._LINES]
    more = len(whole) - command._LINES
    assert shown_lines[command._LINES :] == [f"… {more} more lines: {log}", "opwright: compiling csrc/axpy.c failed"]


def test_paths_can_be_printed_whatever_bytes_they_have() -> None:
    assert shown(Path(os.fsdecode(b"\xff.c"))) == "�.c"
