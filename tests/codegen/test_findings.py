"""Findings in each format: what one is for a program is valid by the format's rules, and says what the text says."""

from __future__ import annotations

import io
import json
import re
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
import sarif_schema

from opwright_codegen.building.compiler import BuildError
from opwright_codegen.building.said import findings_of_build
from opwright_codegen.errors import SchemaError, SchemaErrors
from opwright_codegen.findings.finding import Finding, Outcome
from opwright_codegen.findings.tests import add_tests
from opwright_codegen.findings.text import text_of
from opwright_codegen.findings.writing import FORMATS, Format, write_outcome
from opwright_codegen.source import Source, Span

pytestmark = pytest.mark.once  # the runtime is not loaded

SCHEMA = json.loads(files("opwright_codegen.findings").joinpath("findings.schema.json").read_text("utf-8"))
SOURCE = Source("my, ops: 1.yaml", "- func: f(Tensr x) -> Tensor\n  doc: |\n    two\n    lines\n")
HOSTILE = "</failure>]]>%0A::error::\x1b[2J\x00\ud800,:\n"
CONTROL = re.compile("[^\t\n\x20-\U0010ffff]|[\x7f-\x9f\ud800-\udfff]")
COMMAND = re.compile(r"::(error|warning|notice) ([^:,=]+=[^:,\n]+)(,[^:,=]+=[^:,\n]+)*::.+")


def outcome() -> Outcome:
    """A finding of each level, with and without places; one of a stranger's words."""
    found = Outcome("check", files=["my, ops: 1.yaml", "fine.yaml"], facts={"declared": 2, "seconds": 0.25}, status=1)
    typo = SchemaError("unknown-type", "unknown type specifier 'Tensr'", Span(SOURCE, 10, 15), "did you mean Tensor?")
    lines = SchemaError("missing-doc", "two lines", Span(SOURCE, 31, 50))
    found.add(SchemaErrors((typo, lines)))
    found.add(SchemaError("unreadable-file", "nothing there"), "warning")
    found.findings.append(
        Finding("odd", HOSTILE, "note", HOSTILE.replace("\n", ""), 3, hint=HOSTILE, about=HOSTILE, more={"a": HOSTILE})
    )
    return found


def written(format: Format, of: Outcome | None = None) -> str:
    stream = io.StringIO()
    write_outcome(of or outcome(), format, stream)
    return stream.getvalue()


def test_every_format_takes_nothing_and_moves_no_cursor() -> None:
    for format in FORMATS:
        assert written(format, Outcome("check")) or format in ("text", "github")
        assert CONTROL.findall(written(format)) == [], format


def test_text_is_what_errors_have_always_said() -> None:
    shown = written("text")
    assert shown.startswith(
        "my, ops: 1.yaml:1:11: error: unknown type specifier 'Tensr' [unknown-type]\n"
        "    - func: f(Tensr x) -> Tensor\n              ^^^^^\nhint: did you mean Tensor?\n\n"
    )
    error = SchemaError("unknown-type", "no such type", Span(SOURCE, 10, 15), "a hint")
    assert text_of(Finding.of(error)) == str(error)


def test_json_follows_its_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    found = json.loads(written("json"))
    jsonschema.validate(found, SCHEMA)
    first, second, third, _ = found["findings"]
    assert first == {
        "code": "unknown-type",
        "message": "unknown type specifier 'Tensr'",
        "level": "error",
        "file": "my, ops: 1.yaml",
        "line": 1,
        "column": 11,
        "end_line": 1,
        "end_column": 16,
        "hint": "did you mean Tensor?",
        "excerpt": "- func: f(Tensr x) -> Tensor\n          ^^^^^",
    }
    assert (second["line"], second["column"], second["end_line"], second["end_column"]) == (2, 3, 4, 5)
    assert third == {"code": "unreadable-file", "message": "nothing there", "level": "warning"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(found | {"findings": [{"code": "no code"}]}, SCHEMA)


def test_sarif_follows_its_schema() -> None:
    log = json.loads(written("sarif"))
    jsonschema.validate(log, sarif_schema.SCHEMA)
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert [rules[each["ruleIndex"]] for each in run["results"]] == [each["ruleId"] for each in run["results"]]
    physical = run["results"][0]["locations"][0]["physicalLocation"]
    assert physical == {
        "artifactLocation": {"uri": "my%2C%20ops%3A%201.yaml", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 1, "startColumn": 11, "endLine": 1, "endColumn": 16},
    }
    assert "locations" not in run["results"][2] and run["results"][2]["level"] == "warning"


def test_junit_has_the_form_that_servers_read() -> None:
    root = ElementTree.fromstring(written("junit"))
    check_junit(root)
    assert [(case.get("classname"), case.get("name")) for case in root.iter("testcase")][:3] == [
        ("fine.yaml", "check"),
        ("my, ops: 1.yaml", "unknown-type:1"),
        ("my, ops: 1.yaml", "missing-doc:2"),
    ]
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("5", "2", "2")


def check_junit(root: ElementTree.Element) -> None:
    assert root.tag == "testsuites" and {child.tag for child in root} == {"testsuite"}
    for suite in root:
        assert [child.tag for child in suite] == ["properties"] + ["testcase"] * int(suite.attrib["tests"])
        assert {"name", "tests", "failures", "errors", "skipped", "time"} == suite.attrib.keys()
        assert len(suite.findall("testcase/failure")) == int(suite.attrib["failures"])
        assert len(suite.findall("testcase/skipped")) == int(suite.attrib["skipped"])
        for case in suite.findall("testcase"):
            assert {"classname", "name", "time"} <= case.attrib.keys() <= {"classname", "name", "time", "file", "line"}


def test_github_commands_are_one_line_each(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Paths are those of the clone, from whichever folder the command runs."""
    lines = written("github").splitlines()
    assert [line for line in lines if not COMMAND.fullmatch(line)] == []
    assert lines[0] == (
        "::error file=my%2C ops%3A 1.yaml,line=1,endLine=1,col=11,endColumn=16,title=opwright unknown-type::"
        "unknown type specifier 'Tensr'%0Ahint: did you mean Tensor?"
    )
    assert "col=" not in lines[1] and "line=2,endLine=4" in lines[1]  # GitHub refuses columns of several lines
    (tmp_path / "part").mkdir()
    monkeypatch.chdir(tmp_path / "part")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    of = Outcome("check", [Finding("odd", "no", file="ops.yaml", line=1)])
    assert written("github", of).startswith("::error file=part/ops.yaml,line=1,")
    assert '"uri": "part/ops.yaml"' in written("sarif", of)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("csrc/a.c:3:7: error: unknown type name 'floot'", [("csrc/a.c", 3, 7, "unknown type name 'floot'")]),
        ("a.c:3: error: ours\n\na.c:3:1: error: theirs", [("a.c", 3, 0, "ours")]),
        ("a.c:9:2: fatal error: b.h: No such file", [("a.c", 9, 2, "b.h: No such file")]),
        ('k.cu(12): error: identifier "x" is undefined', [("k.cu", 12, 0, 'identifier "x" is undefined')]),
        ("error: the function 'f' is in a.c and in b.c: one of them has to go", [("", 0, 0, "the function 'f' is")]),
        ("a.c: In function 'f':\nnote: a.c:3:1: warning: nothing", []),
    ],
)
def test_what_compilers_say(said: str, expected: list[tuple[str, int, int, str]]) -> None:
    found = findings_of_build(BuildError("compiling a.c failed", said))
    assert (found[-1].code, found[-1].message) == ("build-failed", "compiling a.c failed")
    assert len(found) == len(expected) + 1
    for finding, (file, line, column, message) in zip(found, expected, strict=False):
        assert (finding.file, finding.line, finding.column) == (file, line, column)
        assert finding.message.startswith(message)


def test_what_pytest_writes(tmp_path: Path) -> None:
    path = tmp_path / "tests.xml"
    program = "Failed: mine::f: wrong-gradient: no&#10;&#10;x = 1"
    path.write_text(
        '<testsuites><testsuite><testcase classname="mine" name="f.out-fake-is-true" time="0"/>'
        f'<testcase classname="mine" name="f-gradients-are-right"><failure message="{program}">'
        "mine::f: wrong-gradient: no\n\nx = 1</failure></testcase>"
        '<testcase classname="mine" name="f-values-are-right"><skipped message="unproved"/></testcase>'
        "</testsuite></testsuites>"
    )
    found = Outcome("test")
    add_tests(found, path, {"mine::f": ("ops.yaml", 7)})
    assert found.passed == [("mine::f.out", "fake-is-true")] and found.facts == {"tests": 3, "passed": 1}
    broken, undecided = found.findings
    assert (broken.code, broken.message, broken.level) == ("gradients-are-right", "wrong-gradient: no", "error")
    assert (broken.place, broken.about, broken.more) == ("ops.yaml:7", "mine::f", {"program": "x = 1"})
    assert (undecided.message, undecided.level) == ("unproved", "note")
    check_junit(ElementTree.fromstring(written("junit", found)))
