"""Targets of others: entry points of an installed distribution, programs, and what is said when they go wrong."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

from opwright_codegen.cli import main
from opwright_codegen.targets.registry import GROUP, OWN

pytestmark = pytest.mark.once  # text in, text out

ROOT = Path(__file__).parents[2]
SCHEMA = "- func: mine::twice(Tensor x) -> Tensor\n  meta: pointwise(x)\n  dispatch: {CPU: 2 * x}\n"
SETTINGS = '[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "my_ops"\n'
MODULE = """
from opwright_codegen.declared.document import document


def files(declared):
    names = [each["name"] for each in document(declared)["operators"]]
    return {"docs/names.md": "".join(f"- {name}\\n" for name in names)}


def fails(declared):
    raise KeyError("nothing")


def leaves(declared):
    raise SystemExit(3)


def nothing(declared):
    return None


def numbers(declared):
    return {"a": 1}


def ours(declared):
    return {"register.py": ""}


def folder(declared):
    return {"ops": ""}
"""
POINTS = ["names", "files", "fails", "leaves", "nothing", "numbers", "ours", "folder"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project, and beside it a distribution with targets, as pip installs one."""
    site = tmp_path / "site"
    info = site / "strangers-1.2.dist-info"
    info.mkdir(parents=True)
    (site / "strangers_targets.py").write_text(MODULE, encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: strangers\nVersion: 1.2\n", encoding="utf-8")
    points = {**{name: name for name in POINTS}, "names": "files", "gone": "gone", "ops": "files"}
    rows = "".join(f"{name} = strangers_targets:{function}\n" for name, function in points.items())
    (info / "entry_points.txt").write_text(f"[opwright.targets]\n{rows}", encoding="utf-8")
    monkeypatch.syspath_prepend(str(site))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "ops.yaml").write_text(SCHEMA, encoding="utf-8")
    (folder / "pyproject.toml").write_text(SETTINGS, encoding="utf-8")
    yield folder
    sys.modules.pop("strangers_targets", None)


def run(folder: Path, *words: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(list(words))
    assert "Traceback" not in err.getvalue() and "an error of its own" not in err.getvalue()
    return status, out.getvalue(), err.getvalue()


def program(folder: Path, text: str) -> str:
    """Return the command that runs a program of Python."""
    path = folder / "program.py"
    path.write_text(text, encoding="utf-8")
    return shlex.join([sys.executable, str(path)])


def answering(folder: Path, answer: object) -> str:
    return program(folder, f"import sys\nsys.stdin.read()\nprint({json.dumps(answer)!r})\n")


def test_an_entry_point_makes_files_where_it_is_asked_for(project: Path) -> None:
    assert run(project, "generate")[0] == 0
    assert not (project / "my_ops/docs").exists()
    status, printed, _ = run(project, "generate", "--target", "names")
    assert status == 0 and "1 created, 1 changed" in printed
    assert (project / "my_ops/docs/names.md").read_text() == "- mine::twice\n"
    assert not (project / "my_ops/docs/__init__.py").exists()
    (project / "pyproject.toml").write_text(SETTINGS + 'targets = ["names"]\n')
    assert run(project, "generate", "--check")[0] == 0
    (project / "ops.yaml").write_text(SCHEMA.replace("twice", "thrice"))
    assert run(project, "generate")[0] == 0
    assert (project / "my_ops/docs/names.md").read_text() == "- mine::thrice\n"
    assert run(project, "check")[0] == 0
    assert run(project, "generate", "--only", "docs/names.md")[0] == 0
    (project / "pyproject.toml").write_text(SETTINGS)
    assert run(project, "generate")[0] == 0
    assert not (project / "my_ops/docs").exists()


def test_our_own_targets_are_entry_points() -> None:
    """The generator reads no metadata for them: its table has the same rows."""
    project = tomllib.loads((ROOT / "codegen" / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"][GROUP] == OWN
    assert all(callable(resolve_name(value)) for value in OWN.values())


def test_targets_are_listed_with_where_they_come_from(project: Path) -> None:
    (project / "pyproject.toml").write_text(SETTINGS + 'targets = ["names"]\n')
    _, printed, _ = run(project, "list", "--targets")
    rows = [line.split() for line in printed.splitlines()]
    assert ["names", "strangers", "1.2", "strangers_targets:files", "by", "targets"] in rows
    assert ["fails", "strangers", "1.2", "strangers_targets:fails", "on", "request"] in rows
    assert sum(row[0] == "ops" for row in rows) == 2
    jsonschema = pytest.importorskip("jsonschema")
    shown = json.loads(run(project, "list", "--targets", "--format", "json")[1])
    jsonschema.validate(shown, json.loads(run(project, "schema", "list")[1]))
    assert {each["made"] for each in shown["targets"]} == {"always", "by bindings", "by targets", "on request"}


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("nmes", "unknown-target", "no installed distribution has the target 'nmes'"),
        ("ops", "unknown-target", "the target 'ops' is one of Opwright's own"),
        ("gone", "target-failed", "has no attribute 'gone'"),
        ("fails", "target-failed", "the target 'fails' of strangers 1.2 failed: KeyError: 'nothing'"),
        ("leaves", "target-failed", "SystemExit: 3"),
        ("nothing", "target-answer", "gave no files, but nothing"),
        ("numbers", "target-answer", "gave a value of type int for the file 'a'"),
        ("ours", "target-file", "gave 'register.py', which another target makes"),
        ("folder", "target-file", "'ops' is a file of one target and the folder of"),
    ],
)
def test_what_is_said_of_a_target_that_goes_wrong(project: Path, name: str, code: str, message: str) -> None:
    (project / "pyproject.toml").write_text(SETTINGS + f'targets = ["{name}"]\n')
    status, _, said = run(project, "generate")
    assert status == 1 and f"[{code}]" in said and message in said
    assert not (project / "my_ops").exists()
    if name == "nmes":
        assert "hint: did you mean 'names'?" in said and 'targets = ["nmes"]' in said


def test_a_program_reads_the_declared_set_and_gives_files(project: Path) -> None:
    text = """
import json, sys
document = json.load(sys.stdin)
names = [each["schema"] for each in document["operators"]]
print("a word", file=sys.stderr)
print(json.dumps({"files": {"c/names.h": "\\n".join(names) + "\\n", "é.txt": "é"}}))
"""
    status, _, said = run(project, "generate", "--plugin", program(project, text))
    assert status == 0 and said == "a word\n"
    assert (project / "my_ops/c/names.h").read_text() == "mine::twice(Tensor x) -> Tensor\n"
    assert (project / "my_ops/é.txt").read_text(encoding="utf-8") == "é"
    assert run(project, "generate", "--check", "--plugin", program(project, text))[0] == 0
    assert run(project, "generate", "--check")[0] == 1


def test_errors_of_a_program_stand_where_it_says(project: Path) -> None:
    error = {"message": "no twice", "file": "ops.yaml", "line": 1, "column": 9, "hint": "write it out"}
    command = answering(project, {"errors": [error, {"message": "and more", "file": "else", "line": 3}]})
    for more in ("", "\nsys.exit(7)\n"):
        (project / "program.py").write_text((project / "program.py").read_text() + more)
        status, _, said = run(project, "generate", "--plugin", command)
        assert status == 1 and "2 errors" in said and not (project / "my_ops").exists()
        assert said.startswith("ops.yaml:1:9: error: the program ")
        first, second, caret, hint = said.splitlines()[:4]
        assert first.endswith(": no twice [target-error]") and second.strip() == SCHEMA.splitlines()[0]
        assert caret[second.index("mine::twice") :] == "^" * len("mine::twice") and hint == "hint: write it out"
        assert "and more (else:3:1) [target-error]" in said
    shown = json.loads(run(project, "generate", "--format", "json", "--plugin", command)[1])
    assert [each["code"] for each in shown["findings"]] == ["target-error", "target-error"]


HOSTILE: dict[str, tuple[Any, str, str]] = {
    "absolute": ({"files": {"/tmp/opwright-hostile": ""}}, "target-file", "leads out of the output folder"),
    "above": ({"files": {"../hostile.py": ""}}, "target-file", "leads out of the output folder"),
    "inner": ({"files": {"docs/../../hostile": ""}}, "target-file", "leads out of the output folder"),
    "framework": ({"files": {"../my_ops_torch.py": ""}}, "target-file", "leads out of the output folder"),
    "spelling": ({"files": {"./register.py": ""}}, "target-file", "is not written as 'register.py'"),
    "empty": ({"files": {"": ""}}, "target-file", "names no file"),
    "dot": ({"files": {".": ""}}, "target-file", "names no file"),
    "folder": ({"files": {"docs/": ""}}, "target-file", "is not written as 'docs'"),
    "zero": ({"files": {"a\0b": ""}}, "target-file", "has a character"),
    "line": ({"files": {"a\nb": ""}}, "target-file", "has a character"),
    "windows": ({"files": {"C:\\a": ""}}, "target-file", "has a character"),
    "surrogate": ({"files": {"\ud800": ""}}, "target-file", "has a character"),
    "long": ({"files": {"a" * 300: ""}}, "target-file", "is too long"),
    "manifest": ({"files": {"manifest.json": "{}"}}, "target-file", "keeps for itself"),
    "stamp": ({"files": {"__pycache__/opwright.stamp": ""}}, "target-file", "keeps for itself"),
    "ours": ({"files": {"__init__.py": ""}}, "target-file", "which another target makes"),
    "both": ({"files": {"a": "", "a/b": ""}}, "target-file", "'a' is a file of one target and the folder of 'a/b'"),
    "text": ({"files": {"a": "\udc00"}}, "target-answer", "half of a surrogate pair"),
    "number": ({"files": {"a": 1}}, "target-answer", "a value of type int"),
    "list": ({"files": ["a"]}, "target-answer", "a value of type list"),
    "neither": ({"file": {}}, "target-answer", "neither files nor errors"),
    "no object": ([], "target-answer", "JSON that is no object"),
    "errors": ({"errors": {"message": "m"}}, "target-answer", "errors that are no list"),
    "no message": ({"errors": [{"line": 1}]}, "target-answer", "an error without a message"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_files_of_a_program_stay_in_the_output(project: Path, name: str) -> None:
    answer, code, message = HOSTILE[name]
    before = sorted(project.parent.rglob("*"))
    status, _, said = run(project, "generate", "--plugin", answering(project, answer))
    assert status == 1 and f"[{code}]" in said and message in said
    assert {*project.parent.rglob("*")} - {*before} == {project / "program.py"}


def test_links_in_the_output_are_not_followed(project: Path) -> None:
    assert run(project, "generate")[0] == 0
    elsewhere = project.parent / "elsewhere"
    elsewhere.mkdir()
    (project / "my_ops/docs").symlink_to(elsewhere, target_is_directory=True)
    (project / "my_ops/link.md").symlink_to(elsewhere / "target")
    for name, said_of in (("docs/a.md", "is reached by a symbolic link"), ("link.md", "is a symbolic link")):
        status, _, said = run(project, "generate", "--plugin", answering(project, {"files": {name: "x"}}))
        assert status == 1 and said_of in said and "[foreign-file]" in said
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("raise SystemExit(7)", "target-failed", "ended with exit status 7"),
        ("import sys\nsys.exit('no such operator')", "target-failed", "\n    no such operator"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "target-failed", "was ended by signal 9"),
        ("", "target-answer", "printed nothing"),
        ('print(\'{"files": {"a": }}\')', "target-answer", ">:1:17: error: "),
        ("print('[' * 100_000)", "target-answer", "printed JSON that cannot be read"),
        ("print('9' * 10_000)", "target-answer", "printed JSON that cannot be read"),
        ("import sys\nsys.stdout.buffer.write(b'\\xff')", "target-answer", "printed what is no UTF-8 text"),
        ("print('NaN')", "target-answer", "JSON that is no object"),
    ],
)
def test_programs_that_fail(project: Path, text: str, code: str, message: str) -> None:
    status, _, said = run(project, "generate", "--plugin", program(project, text))
    assert status == 1 and f"[{code}]" in said and message in said
    assert not (project / "my_ops").exists()


def test_a_program_need_not_read_and_may_print_without_end(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(project, "generate", "--plugin", program(project, "print('{\"files\": {}}')"))[0] == 0
    monkeypatch.setattr("opwright_codegen.targets.program._MOST", 1 << 20)
    endless = "import sys\nwhile True:\n    sys.stdout.write('a' * 65536)\n"
    status, _, said = run(project, "generate", "--plugin", program(project, endless))
    assert status == 1 and "gave more than 1 MiB" in said


def test_commands_that_cannot_be_run(project: Path) -> None:
    for command, status, message in (
        ("missing-program", 1, "'missing-program' cannot be run: No such file or directory"),
        ("./ops.yaml", 1, "cannot be run: Permission denied"),
        ("'open", 2, "cannot be read: No closing quotation"),
        ("", 2, "--plugin has no command"),
        ("a\0b", 1, "cannot be run: embedded null byte"),
    ):
        found, _, said = run(project, "generate", "--plugin", command)
        assert (found, message in said) == (status, True), said
    assert not (project / "my_ops").exists() and os.listdir(project.parent) != []
