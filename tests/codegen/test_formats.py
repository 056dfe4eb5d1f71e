"""Each command in each format, as a user runs it: the output is the document alone, and valid by the format's rules."""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
import types
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
import sarif_schema

from opwright_codegen.about.schema import SCHEMAS
from opwright_codegen.arguments import make_parser
from opwright_codegen.building import compiler
from opwright_codegen.cli import main
from opwright_codegen.commands import run_tests
from opwright_gate.reports import FORMATS

pytestmark = pytest.mark.once  # text in, text out

FOLDER = files("opwright_codegen.findings")
SCHEMA, BREAKING, LIST, DOCTOR = (
    json.loads(FOLDER.joinpath(f"{name}.schema.json").read_text("utf-8"))
    for name in ("findings", "breaking", "list", "doctor")
)
OF_FINDINGS = ("json", "sarif", "junit", "github")
COMMAND = re.compile(r"::(error|warning|notice) ([^:,=]+=[^:,\n]+)(,[^:,=]+=[^:,\n]+)*::.+")
PROJECT = {
    "pyproject.toml": '[tool.opwright]\nschemas = ["*.yaml"]\noutput = "mine_ops"\nnative = ["csrc"]\n',
    "ops.yaml": "- func: mine::twice(Tensor self) -> Tensor\n  meta: like(self)\n  dispatch:\n    CPU: 2 * self\n",
    "csrc/one.c": "int one;\n",
}
WRONG = PROJECT["ops.yaml"] + "- func: mine::f(Tensr self) -> Tensor\n"
NATIVE = (
    "- func: mine::one(Tensor self) -> Tensor\n  meta: like(self)\n  dispatch: {CPU: native:one}\n"
    "  convention: elementwise\n  dtypes: float64\n"
)
TESTED = (
    '<testsuites><testsuite><testcase classname="mine" name="twice-pickles"><failure message="Failed: mine::twice: no">'
    'mine::twice: no</failure></testcase><testcase classname="mine" name="twice-sharded"/></testsuite></testsuites>'
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in PROJECT.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CC", "sh -c 'echo a.c:3:7: error: no such type >&2; exit 1'")
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    return tmp_path


def run(*words: str) -> tuple[int, str]:
    """Return the status of a command and what it prints; what it says beside that is no matter."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        status = main(words)
    return status, out.getvalue()


def checked(*words: str) -> tuple[int, list[str]]:
    """Run a command in all formats; return its status and codes, which are the same in each."""
    statuses, codes = set(), []
    for format in OF_FINDINGS:
        status, shown = run(*words, "--format", format)
        statuses.add(status)
        match format:
            case "json":
                found = json.loads(shown)
                jsonschema.validate(found, SCHEMA)
                assert (found["command"], found["status"]) == (words[0], status)
                codes.append([each["code"] for each in found["findings"]])
            case "sarif":
                log = json.loads(shown)
                jsonschema.validate(log, sarif_schema.SCHEMA)
                codes.append([each["ruleId"] for each in log["runs"][0]["results"]])
            case "junit":
                cases = ElementTree.fromstring(shown).iter("testcase")
                codes.append([case.get("name", "").partition(":")[0] for case in cases if len(case)])
            case _:
                assert [line for line in shown.splitlines() if not COMMAND.fullmatch(line)] == []
                codes.append(re.findall(r"title=opwright ([\w-]+)", shown))
    assert len(statuses) == 1 and codes == [codes[0]] * 4, (statuses, codes)
    return statuses.pop(), codes[0]


def test_commands_on_schemas(project: Path) -> None:
    assert checked("check") == (0, [])
    assert checked("lint") == (1, ["missing-doc"])
    assert run("lint", "--ignore", "missing-doc", "--format", "github") == (0, "")
    status, codes = checked("generate", "--check")
    assert (status, set(codes)) == (1, {"out-of-date"}) and len(codes) > 10
    assert checked("generate") == (0, [])
    assert run("generate", "--check", "--format", "github") == (0, "")
    (project / "ops.yaml").write_text(WRONG)
    assert checked("check") == (1, ["unknown-type"])
    for command in ("lint", "generate", "build", "test"):
        assert "unknown-type" in run(command, "--format", "github")[1], command
    assert checked("fmt", "--check") == (1, ["not-canonical"])
    (project / "ops.yaml").write_text("- func: [")
    assert checked("fmt") == (1, ["yaml-syntax"])


def test_breaking(project: Path) -> None:
    """Its JSON has a form of its own."""
    (project / "old.yaml").write_text(PROJECT["ops.yaml"].replace("Tensor self", "Tensor self, int times=2"))
    (project / "pyproject.toml").write_text(PROJECT["pyproject.toml"].replace("*.yaml", "ops.yaml"))
    status, shown = run("breaking", "old.yaml", "ops.yaml", "--format", "sarif")
    log = json.loads(shown)
    jsonschema.validate(log, sarif_schema.SCHEMA)
    (result,) = log["runs"][0]["results"]
    assert (status, result["ruleId"], result["properties"]["breaks"]) == (1, "argument-removed", "CALL, GRAPH")
    status, shown = run("breaking", "old.yaml", "ops.yaml", "--format", "json")
    jsonschema.validate(json.loads(shown), BREAKING)
    assert (status, [each["code"] for each in json.loads(shown)["findings"]]) == (1, ["argument-removed"])
    for format in ("github", "junit"):
        assert "argument-removed" in run("breaking", "old.yaml", "ops.yaml", "--format", format)[1]
    assert run("breaking", "ops.yaml", "ops.yaml", "--format", "github") == (0, "")


def test_build(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert checked("build") == (0, [])
    (project / "ops.yaml").write_text(NATIVE)
    assert checked("build") == (1, ["compiler-error", "build-failed"])
    monkeypatch.setenv("CC", "")
    monkeypatch.setattr(compiler, "_NAMES", ())
    assert checked("build") == (1, ["tools-missing"])
    assert checked("build", "--optional") == (0, ["tools-missing"])


def test_test(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pytest runs elsewhere; what it says for people goes where errors go."""
    assert run("generate")[0] == 0
    given = []

    class Done:
        returncode = 1

    def pytest_run(command: list[str], **options: object) -> Done:
        given.append(options)
        Path(command[command.index("--junitxml") + 1]).write_text(TESTED)
        return Done()

    class Stream(io.StringIO):
        def fileno(self) -> int:
            return 2

    monkeypatch.setattr(run_tests.subprocess, "run", pytest_run)
    monkeypatch.setattr("io.StringIO", Stream)
    assert checked("test") == (1, ["pickles"])
    assert all(options["stdout"] == 2 for options in given) and len(given) == 4


def test_what_a_program_reads_of_lists(project: Path) -> None:
    status, shown = run("list", "--format", "json")
    assert status == 0
    jsonschema.validate(json.loads(shown), LIST)
    (row,) = json.loads(shown)["operators"]
    assert (row["name"], row["kernels"], row["gradient"], row["line"]) == ("mine::twice", {"CPU": "2 * self"}, "", 1)
    assert run("list")[1] == "mine::twice  CPU: 2 * self    ops.yaml:1\n"
    assert run("list", "-k", "tw*") == run("list", "-k", "mine::*") == run("list")
    assert run("list", "-k", "thrice")[0] == 2


def test_patterns_of_files_and_operators(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where no shell expands them: in quotes, in YAML, on Windows."""
    (project / "more.yaml").write_text(PROJECT["ops.yaml"].replace("twice", "thrice"))
    assert main(["check", "*.yaml"]) == 0
    assert "ok: 2 operators" in capsys.readouterr().out
    assert main(["show", "t*ice"]) == 0
    shown = capsys.readouterr().out
    assert "mine::twice\n" in shown and "mine::thrice\n" in shown
    assert main(["check", "x*.yaml"]) == 2
    assert capsys.readouterr().err == "opwright: no file matches 'x*.yaml'\n"


def test_watching_a_new_project_waits(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It went round every two seconds, since a CUDA file is known only when schemas have been read."""
    monkeypatch.chdir(tmp_path)
    assert main(["new", "watched"]) == 0
    monkeypatch.chdir(tmp_path / "watched")
    once = iter([iter([set[str]()])])  # of the waits, each of which ends without a change
    watchfiles = types.SimpleNamespace(watch=lambda *folders, **options: next(once))
    monkeypatch.setitem(sys.modules, "watchfiles", watchfiles)  # type: ignore[arg-type]
    assert main(["generate", "--watch"]) == 0
    assert capsys.readouterr().out.count("watching 4 folders") == 1


def test_a_pattern_may_match_the_derivatives(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """They stand beside the schema files in a new project: no pattern takes them for one."""
    monkeypatch.chdir(tmp_path)
    assert main(["new", "globbed"]) == 0
    monkeypatch.chdir(tmp_path / "globbed")
    assert main(["check", "schemas/*.yaml"]) == 0, capsys.readouterr()
    settings = Path("pyproject.toml")
    settings.write_text(settings.read_text().replace('["schemas/ops.yaml"]', '["schemas/**/*.yaml"]'))
    assert main(["check"]) == 0, capsys.readouterr()


def test_what_a_program_reads_of_a_machine(project: Path) -> None:
    status, shown = run("doctor", "--format", "json")
    jsonschema.validate(json.loads(shown), DOCTOR)
    assert json.loads(shown)["well"] is (status == 0)
    text = run("doctor")[1]
    assert [each["name"] for each in json.loads(shown)["found"] if each["name"] not in text] == []


def test_no_command_has_a_format_that_is_not_tried_above() -> None:
    """(Those of the gate and of `coverage` are those of reports, each of which `test_reports.py` tries.)"""
    (commands,) = [each.choices for each in make_parser()._actions if isinstance(each.choices, dict)]
    offered = {
        name: tuple(action.choices or ())
        for name, parser in commands.items()
        for action in parser._actions
        if "--format" in action.option_strings
    }
    assert offered.pop("coverage") == FORMATS
    assert [offered.pop(name) for name in ("list", "doctor")] == [("text", "json")] * 2
    assert sorted(offered) == ["breaking", "build", "check", "fmt", "generate", "lint", "test"]
    assert {frozenset(formats) for formats in offered.values()} == {frozenset({"text", *OF_FINDINGS})}


def test_schemas_of_what_is_printed_are_schemas(project: Path) -> None:
    for name in (each for each in SCHEMAS if each != "keys"):  # a table in Markdown
        status, shown = run("schema", name)
        assert status == 0
        jsonschema.validators.validator_for(json.loads(shown)).check_schema(json.loads(shown))
