"""Reports in each format: valid by its rules, nothing lost, and texts of strangers nothing but texts."""

from __future__ import annotations

import io
import json
import re
from importlib.resources import files
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
import report_samples
import sarif_schema
from report_samples import HOSTILE, KNOWN, PLACES, TODAY

from opwright_gate.properties import PROPERTIES
from opwright_gate.reports import FORMATS, write_report
from opwright_gate.reports.progress import ProgressLine
from opwright_gate.verdicts import Report, Verdict

CONTROL = re.compile("[^\n\x20-\U0010ffff]|[\x7f-\x9f\ud800-\udfff]")


def written(format: str, report: Report | None = None, **more: Any) -> str:
    stream = io.StringIO()
    given = {"known": KNOWN, "today": TODAY, "places": PLACES} | more
    write_report(report or report_samples.report(), format, stream, **given)
    return stream.getvalue()


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_takes_a_report_of_nothing(format: str) -> None:
    assert written(format, Report((), "nothing", 0.0, 0))


@pytest.mark.parametrize("format", [name for name in FORMATS if name != "json"])
def test_no_text_of_a_stranger_moves_a_cursor(format: str) -> None:
    assert CONTROL.findall(written(format)) == []


def test_formats_have_names() -> None:
    with pytest.raises(ValueError, match="no format 'pdf': there are text, json, junit, sarif, github, html"):
        written("pdf")


def test_json_follows_its_schema() -> None:
    schema = json.loads(files("opwright_gate.reports").joinpath("report.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    shown = written("json")
    jsonschema.validate(json.loads(shown), schema)
    assert Report.from_json(shown) == report_samples.report()
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(json.loads(shown) | {"format": 0}, schema)


def test_sarif_follows_its_schema() -> None:
    log = json.loads(written("sarif"))
    jsonschema.validate(log, sarif_schema.SCHEMA)
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert [rules[result["ruleIndex"]] for result in run["results"]] == [each["ruleId"] for each in run["results"]]
    new, known = (result["locations"][0]["physicalLocation"] for result in run["results"][:2])
    assert new["artifactLocation"] == {"uri": "schemas/my%2C%20ops%3A%201.yaml", "uriBaseId": "%SRCROOT%"}
    assert new["region"] == {"startLine": 12} and known == new
    assert [len(result.get("suppressions", ())) for result in run["results"]] == [0, 1, 0, 0, 0]
    assert [result["kind"] for result in run["results"]] == ["fail", "fail", "open", "fail", "open"]


def test_junit_has_the_form_that_servers_read() -> None:
    root = ElementTree.fromstring(written("junit"))
    assert root.tag == "testsuites" and {child.tag for child in root} == {"testsuite"}
    for suite in root:
        assert [child.tag for child in suite] == ["properties"] + ["testcase"] * int(suite.attrib["tests"])
        assert {"name", "tests", "failures", "errors", "skipped", "time"} == suite.attrib.keys()
        assert len(suite.findall("testcase/failure")) == int(suite.attrib["failures"])
        assert len(suite.findall("testcase/skipped")) == int(suite.attrib["skipped"])
        for case in suite.findall("testcase"):
            assert case.attrib.keys() == {"classname", "name", "time"} and len(case) <= 1
    failures = root.findall("testsuite/testcase/failure")
    assert len(failures) == int(root.attrib["failures"]) == 2
    assert failures[0].attrib["type"] == "undeclared-write" and "opwright.ones(3)" in (failures[0].text or "")
    assert [found.attrib["message"] for found in root.findall("testsuite/testcase/skipped")][:2] == [
        "known since 2026-11-01: the next release",
        "there is no formula",
    ]


def test_github_commands_are_one_line_each() -> None:
    lines = written("github").splitlines()
    command = re.compile(r"::(error|warning|notice) ([^:,=]+=[^:,]+)(,[^:,=]+=[^:,]+)*::.+")
    assert [line for line in lines if not command.fullmatch(line)] == []
    assert [line.split()[0] for line in lines] == ["::error", "::error", "::notice", "::warning", "::notice"]
    start = "::error file=schemas/my%2C ops%3A 1.yaml,line=12,title=opwright schema-writes demo%3A%3Ascale"
    assert lines[0].startswith(f"{start}::undeclared-write: ")
    assert lines[0].endswith("%0Aassert x.sum() < 3, '</pre><script>'")
    assert lines[3] == (
        "::warning title=opwright baseline::"
        "gate-baseline.yaml:8: demo::good_0 gradients occurs no more: remove the entry"
    )


def test_text_shows_findings_with_programs_and_totals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    shown = written("text")
    assert "demo::scale  schema-writes  undeclared-write\n" in shown
    assert "    x = opwright.ones(3)\n" in shown
    assert "[red]no[/red]" in shown  # no markup of Rich's
    assert "   1 × there is no formula (gradients)\n" in shown
    assert "  gate-baseline.yaml:8 demo::good_0 gradients\n" in shown
    assert "  gate-baseline.yaml:12 demo::scale schema-writes until 2026-11-20\n" in shown
    assert shown.splitlines()[-1].startswith(
        "5 operators: 10 held, 2 broken, 1 known, 2 undecided, 4 calls refused, 76.9 %"
    )


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("no_colour", "expected"), [("", True), ("1", False)])
def test_colours_are_for_terminals_that_want_them(
    no_colour: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("NO_COLOR", no_colour)
    if not no_colour:
        monkeypatch.delenv("NO_COLOR")
    stream = Terminal()
    write_report(report_samples.report(), "text", stream)
    assert ("\x1b[31m" in stream.getvalue() or "\x1b[1;31m" in stream.getvalue()) == expected


@pytest.mark.parametrize("columns", [40, 50, 200])
def test_narrow_terminals_get_narrow_tables(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = written("text").partition("property")[2].partition("not decided")[0]
    assert shown and max(map(len, shown.splitlines())) <= columns
    assert ("undecided" in shown) == (columns >= 60)


@pytest.mark.parametrize("columns", ["0", "1", "x", "-3", "9" * 30])
def test_no_width_is_too_odd(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert "demo::scale" in written("text") and "held of what was decided" in written("text")


def test_the_line_of_a_running_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    stream, pipe = Terminal(), io.StringIO()
    for each in (stream, pipe):
        with ProgressLine(each) as line:
            line.show("demo::scale\x1b[2J[b]", 3, 12, 2)
    assert "3/12" in stream.getvalue() and "2 findings" in stream.getvalue()
    assert "demo::scale\ufffd[2J[b]" in stream.getvalue()
    assert pipe.getvalue() == ""


def test_rules_of_sarif_are_properties() -> None:
    verdicts = tuple(Verdict("demo::f", each.name, "held") for each in PROPERTIES)
    log = json.loads(written("sarif", Report(verdicts, "demo", 0.0, 0)))
    jsonschema.validate(log, sarif_schema.SCHEMA)


def test_strangers_texts_are_hostile() -> None:
    """The sample has what each format has to escape."""
    assert all(text in HOSTILE for text in ("<script>", "]]>", "\x1b", "\x00", "\ud800", "::", "\r\n", "%"))
