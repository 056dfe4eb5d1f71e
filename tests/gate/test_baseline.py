"""Findings that are known: the file's entries and errors, a report beside them, and the command that shows both."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import report_samples
from report_samples import KNOWN, TODAY

from opwright_codegen.cli import main
from opwright_codegen.commands.gate_baseline import read_baseline
from opwright_codegen.errors import SchemaError
from opwright_gate.reports.baseline import KnownFinding, Standing, baseline_text, known_from_json
from opwright_gate.reports.finish import Wanted, finish, keep
from opwright_gate.reports.places import places_elsewhere
from opwright_gate.reports.reading import read_report
from opwright_gate.verdicts import Report, Verdict

RIGHT = """\
# what is known
- operator: demo::scale
  property: fake-results
  reason: "the next release: rewritten"
  date: 2026-11-01
  until: 2027-01-01
- operator: demo::scale.out
  property: gradients
  cause: sign
  backend: CUDA
  reason: a compiler
  date: 2026-11-02
"""


def read(text: str, folder: Path) -> tuple[dict[str, str], ...]:
    path = folder / "gate-baseline.yaml"
    path.write_text(text, encoding="utf-8")
    return read_baseline(path)


def test_entries_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = known_from_json(json.dumps(read(RIGHT, Path("."))))
    assert first == KnownFinding(
        "demo::scale",
        "fake-results",
        "the next release: rewritten",
        "2026-11-01",
        until="2027-01-01",
        place="gate-baseline.yaml:2",
    )
    assert (second.cause, second.backend, second.place) == ("sign", "CUDA", "gate-baseline.yaml:7")
    assert read("# nothing\n", tmp_path) == read("[]\n", tmp_path) == read("", tmp_path) == ()


ENTRY = "- operator: demo::f\n  property: fake-results\n  reason: old\n  date: 2026-11-01\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- operator: f\n", "1:13: error: the name of an operator, with its namespace is expected [bad-name]"),
        (ENTRY.replace("2026-11-01", "2026-02-30"), "4:9: error: 2026-02-30 is no day"),
        (ENTRY.replace("2026-11-01", "yesterday"), "4:9: error: a date is expected [bad-date]"),
        (ENTRY.replace("2026-11-01", "[1]"), "4:9: error: a date is expected, not a list [wrong-type]"),
        (ENTRY.replace("old", ""), "3:10: error: a text is expected, not nothing [wrong-type]"),
        (ENTRY.replace("reason: old", "raeson: old"), "3:3: error: unknown key 'raeson' [unknown-key]"),
        (ENTRY.replace("  date: 2026-11-01\n", ""), "1:3: error: the entry has no 'date' [missing-key]"),
        (ENTRY.replace("fake-results", "Fake Results"), "2:13: error: the name of a property is expected [bad-name]"),
        (ENTRY + "  until: 2026-10-01\n", "5:10: error: 'until' is 2026-10-01, and the entry is of 2026-11-01"),
        (ENTRY + ENTRY, "5:3: error: demo::f fake-results is listed twice [duplicate-finding]"),
        ("operator: demo::f\n", "1:1: error: a list of entries is expected [not-a-list]"),
        ("- demo::f\n", "1:3: error: a mapping is expected, not the text 'demo::f' [wrong-type]"),
        ("- operator: &a demo::f\n", "1:13: error: the anchor &a is not read [yaml-anchor]"),
        ("- operator: !!python/object:os.system x\n", "1:13: error: the YAML tag"),
        ("- operator: 'demo\n", "1:13: error: "),
        ("[" * 500, "error: "),
    ],
)
def test_wrong_entries_are_refused_where_they_stand(
    text: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SchemaError) as found:
        read(text, Path("."))
    assert f"gate-baseline.yaml:{expected}" in str(found.value) or expected == "error: "
    assert "^" in str(found.value)


def test_errors_have_hints(tmp_path: Path) -> None:
    with pytest.raises(SchemaError) as found:
        read(ENTRY.replace("reason: old", "raeson: old"), tmp_path)
    lines = str(found.value).splitlines()
    assert [line.strip() for line in lines[1:4]] == ["raeson: old", "^^^^^^", "hint: did you mean 'reason'?"]
    assert any(line.startswith("hint: each entry says which operator and property") for line in lines)


def test_a_report_beside_what_is_known() -> None:
    standing = Standing(report_samples.report(), KNOWN, TODAY)
    assert [each.cause for each in standing.findings][:1] == ["undeclared-write"] and len(standing.findings) == 2
    assert [(each.property, entry.reason) for each, entry in standing.excused] == [("fake-results", "the next release")]
    assert standing.counts == {"held": 10, "broken": 2, "known": 1, "undecided": 2}
    assert standing.percent == pytest.approx(1000 / 13)
    assert standing.gone == (KNOWN[1],) and standing.over == (KNOWN[2],)


def test_what_was_not_decided_or_not_asked_is_not_gone() -> None:
    known = (
        KnownFinding("demo::f", "values", "r", "2026-01-01"),
        KnownFinding("demo::f", "vmap", "r", "2026-01-01"),
        KnownFinding("demo::f", "gradients", "r", "2026-01-01", cause="sign"),
    )
    verdicts = (Verdict("demo::f", "values", "undecided"), Verdict("demo::f", "gradients", "broken", cause="dtype"))
    standing = Standing(Report(verdicts, "demo", 0.0, 0), known, TODAY)
    assert standing.gone == (known[2],)
    assert [each.cause for each in standing.findings] == ["dtype"]


def test_a_written_baseline_is_read_again(tmp_path: Path) -> None:
    """Known entries stay, gone ones go, each new finding has one; strangers' texts are texts."""
    report = report_samples.report()
    verdicts = [each for each in report.verdicts if each.operator != "demo::odd"]
    verdicts.append(Verdict("demo::odd", "fake-results", "broken", cause="shape", why=report_samples.HOSTILE))
    standing = Standing(Report(tuple(verdicts), "demo", 0.0, 0), KNOWN[:2], TODAY)
    text = baseline_text(standing)
    entries = read(text, tmp_path)
    assert [(entry["operator"], entry["property"], entry["date"]) for entry in entries] == [
        ("demo::scale", "fake-results", "2026-11-01"),
        ("demo::scale", "schema-writes", TODAY),
        ("demo::odd", "fake-results", TODAY),
    ]
    assert entries[1]["reason"].startswith("to be written: x is written to")
    again = Standing(standing.report, known_from_json(json.dumps(entries)), TODAY)
    assert again.findings == again.gone == ()
    assert read(baseline_text(Standing(Report((), "demo", 0.0, 0))), tmp_path) == ()


@pytest.mark.parametrize(
    ("wanted", "status"),
    [
        (Wanted(known=KNOWN, today=TODAY), 1),
        (Wanted(known=(*KNOWN, KnownFinding("demo::scale", "schema-writes", "r", TODAY))), 1),
        (Wanted(fail_under=99.0, today=TODAY), 1),
        (Wanted(fail_under=10.0, today=TODAY), 1),
    ],
)
def test_findings_fail(wanted: Wanted, status: int, tmp_path: Path) -> None:
    with open(tmp_path / "shown", "w", encoding="utf-8", errors="replace") as stream:
        assert finish(report_samples.report(), wanted, stream) == status


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "opwright_codegen.cli", "coverage", *words]
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.once  # what a command says of files
def test_the_command_shows_what_was_kept(tmp_path: Path) -> None:
    (tmp_path / "gate-baseline.yaml").write_text(RIGHT)
    keep(report_samples.report(), str(tmp_path / ".opwright_cache"))
    assert (tmp_path / ".opwright_cache" / ".gitignore").read_text() == "*\n"
    shown = run(tmp_path)
    assert shown.returncode == 0 and shown.stderr == ""
    assert "10 held, 2 broken, 1 known" in shown.stdout
    page = run(tmp_path, "--format", "html", "-o", "gate.html", "--fail-under", "99")
    assert page.returncode == 1 and page.stderr == "76.9 % held of what was decided: less than 99\n"
    assert (tmp_path / "gate.html").read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[" * 100_000,
        "null",
        "\ud800",
        '{"format": 1}',
        '{"format": 1, "verdicts": 3, "target": "", "seconds": 0, "seed": 0}',
        '{"format": 1, "verdicts": [[]], "target": "", "seconds": 0, "seed": 0}',
        '{"format": 1, "verdicts": [{"operator": 1, "property": "", "verdict": "held"}], "target": "", "seconds": 0,'
        ' "seed": 0}',
        '{"format": 1, "verdicts": [{"operator": "f", "property": "p", "verdict": "held", "seconds": "x"}],'
        ' "target": "", "seconds": 0, "seed": 0}',
        '{"format": 1, "verdicts": [{"operator": "f", "property": "p", "verdict": []}], "target": "", "seconds": 0,'
        ' "seed": 0}',
        '{"format": 1, "verdicts": [], "target": [], "seconds": 0, "seed": 0}',
        '{"format": 1, "verdicts": [], "target": "", "seconds": NaN, "seed": 0}',
        '{"format": 1, "verdicts": [], "target": "", "seconds": 1, "seed": "x"}',
        '{"format": 1, "verdicts": [], "target": "", "seconds": 1, "seed": 1, "versions": {"a": 1}}',
        '{"format": 1, "verdicts": [], "target": "", "seconds": 1, "seed": 1, "refusals": 3}',
        '{"format": 1, "verdicts": [], "target": "", "seconds": 1, "seed": 1, "more": 3}',
    ],
)
def test_files_that_are_no_reports(text: str, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(ValueError, match=r"report|a verdict"):
        read_report(str(path))


def test_the_command_says_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.json").write_text('{"format": 99}')
    keep(report_samples.report(), ".opwright_cache")
    for words, status, expected in [
        (["none.json"], 2, "opwright: there is no report none.json\n"),
        (["other.json"], 2, "opwright: other.json: a report of format 99, and this version reads 1\n"),
        (["-o", "no/such/file"], 2, "opwright: no/such/file: No such file or directory\n"),
        (["--load", "no_such"], 2, "opwright: no_such: ModuleNotFoundError: No module named 'no_such'\n"),
        (["--baseline", "none.yaml"], 2, "opwright: cannot read 'none.yaml': No such file or directory\n"),
    ]:
        assert main(["coverage", *words]) == status
        assert capfd.readouterr().err == expected
    (tmp_path / "gate-baseline.yaml").write_text("- operator: f\n")
    assert main(["coverage"]) == 1
    assert "gate-baseline.yaml:1:13: error: the name of an operator" in capfd.readouterr().err
    with pytest.raises(SystemExit):
        main(["coverage", "--fail-under", "nan"])
    assert "'nan' is no percentage: a number from 0 to 100" in capfd.readouterr().err


GATED = """\
import numpy as np
from opwright.library import custom_op


@custom_op("basemine::shift", mutates_args=())
def shift(x: np.ndarray) -> np.ndarray:
    x += 1
    return x.copy()
"""


@pytest.mark.once  # what a command says of files
def test_the_gate_keeps_to_a_baseline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Findings fail; written to a baseline they do not; a wrong baseline is an error before anything is judged."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "basemine.py").write_text(GATED)
    command = ["gate", "basemine", "--load", "basemine", "--property", "writes-as-declared", "-q"]
    assert main([*command, "--write-baseline"]) == 0
    assert "property: writes-as-declared" in (tmp_path / "gate-baseline.yaml").read_text()
    capfd.readouterr()
    assert main(command) == 0
    assert "1 known" in capfd.readouterr().out
    assert main(["coverage", "--fail-under", "50"]) == 1
    capfd.readouterr()
    (tmp_path / "gate-baseline.yaml").write_text("- operator: f\n")
    assert main(command) == 1
    assert "gate-baseline.yaml:1:13: error: the name of an operator" in capfd.readouterr().err
    assert main([*command, "--baseline", "none.yaml"]) == 2


def test_annotations_say_where_operators_are_declared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "placed.py").write_text("print('hello')\n" + GATED.replace("basemine", "placed"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    names = ["placed::shift", "aten::sin", "no::such"]
    found = places_elsewhere(names, ["placed"])
    assert found.keys() >= {"placed::shift"} and "no::such" not in found
    assert found["placed::shift"][0] == "placed.py" and found["placed::shift"][1] in (6, 7)
    assert places_elsewhere(names, ["no_such_module"]) == {}
