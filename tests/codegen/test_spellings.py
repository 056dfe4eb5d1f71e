"""Kernels and settings as people write them at first: each message names the right spelling."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright_codegen.cli import main

KERNELS = "def scale(x, by): return x * by\n\n\ndef scaled(x): return x\n"
ENTRY = "- func: mine::scale(Tensor x, *, float by=2.0) -> Tensor\n  meta: like(x)\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyproject.toml").write_text('[tool.opwright]\nschemas = ["ops.yaml"]\nkernels = ["kernels"]\n')
    (tmp_path / "kernels.py").write_text(KERNELS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked(project: Path, text: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    (project / "ops.yaml").write_text(text)
    status = main(["check"])
    return status, capsys.readouterr().err


@pytest.mark.parametrize(
    "written",
    [
        *("kernels.scale", "kernels.py:scale", "kernel:scale", "kernels/scale", "kernels::scale", "./kernels.py:scale"),
        *("kernels.py::scale", "kernels.scal", "kernels:scal", "kernels:scale(x, by)", "kernels.scale(x, by)"),
        *("kernels: scale", "Kernels:scale", "kernels.py/scale", "kernels.py.scale"),
    ],
)
def test_a_path_in_another_spelling_is_told_the_right_one(
    project: Path, written: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert checked(project, f'{ENTRY}  dispatch:\n    CPU: "kernels:scale"\n', capsys)[0] == 0
    status, said = checked(project, f'{ENTRY}  dispatch:\n    CPU: "{written}"\n', capsys)
    assert status == 1
    assert "hint: write kernels:scale\n" in said and "\n1 error\n" in said


@pytest.mark.parametrize("written", ["other.scale", "x.scale", "xp.scale(x)", "x * bye", "kernels.nothing_like_it"])
def test_a_formula_keeps_the_hint_of_formulas(project: Path, written: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, said = checked(project, f'{ENTRY}  dispatch:\n    CPU: "{written}"\n', capsys)
    assert status == 1 and "write kernels:" not in said


def test_an_entry_without_dispatch_is_told_to_name_its_implementation(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, said = checked(project, ENTRY.replace("scale(", "scales("), capsys)
    assert status == 1
    assert "mine::scales has no 'dispatch:', and no kernel is called 'scales'" in said
    assert "hint: name the implementation, for example dispatch: {CPU: kernels:scale" in said


def test_typographic_quotes_are_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for entry in (f"{ENTRY}  dispatch: {{CPU: “x * by”}}\n", ENTRY.replace("mine", "“mine")):
        assert "straight quotes" in checked(project, entry, capsys)[1]


def test_lint_finds_an_entry_without_meta(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entry = ENTRY.replace("  meta: like(x)\n", "  doc: Scale x.\n") + '  dispatch: {CPU: "x * by"}\n'
    (project / "ops.yaml").write_text(
        entry + entry.replace("scale(", "other(").replace("doc:", "meta: like(x)\n  doc:")
    )
    assert main(["lint"]) == 1
    said = capsys.readouterr().out
    assert "ops.yaml:1:3: warning: mine::scale has no 'meta' [missing-meta]" in said
    assert "meta: like(x)" in said and "mine::other" not in said


@pytest.mark.parametrize(
    ("setting", "column", "said"),
    [
        ('output = "out-ops"', 10, "write out_ops"),
        ('output = {mine = "out-ops"}', 18, "write out_ops"),
        ('output = "ops/class"', 10, "write class_ops"),
        ('rules = ["nope"]', 10, "there is no module 'nope'"),
        ('rules = ["kernels", "kernels.py"]', 21, "write kernels"),
        ('derivatives = "no.yaml"', 15, "no.yaml"),
        ('tags = "sub/no.yaml"', 8, "sub/no.yaml"),
        ('uses = ["nope"]', 9, "'nope'"),
        ('breaking = {against = 3}', 13, "a text is expected for 'against'"),
        ('trusted = "yes"', 1, "write trusted = true"),
        ('shcemas = ["x.yaml"]', 1, "did you mean 'schemas'?"),
    ],
)  # fmt: skip
def test_errors_about_a_setting_have_its_line(
    project: Path, setting: str, column: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "ops.yaml").write_text(f'{ENTRY}  dispatch: {{CPU: "x * by"}}\n')
    settings = (project / "pyproject.toml").read_text()
    output = "" if setting.startswith("output") else 'output = "mine_ops"\n'
    (project / "pyproject.toml").write_text(f'[project]\nname = "out-ops"\n{settings}{output}{setting}\n')
    assert main(["generate"]) != 0
    shown = capsys.readouterr().err
    assert f"pyproject.toml:{7 if output else 6}:{column}: error: " in shown and said in shown


def test_an_argument_called_out_that_is_not_written_is_an_argument(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "kernels.py").write_text("def back(grad, out): return grad * out\ndef two(x, out=None): return x\n")
    entry = "- func: mine::back(Tensor grad, Tensor out) -> Tensor\n  meta: like(grad)\n  dispatch: {CPU: back}\n"
    assert checked(project, entry, capsys)[0] == 0
    other = "- func: mine::two(Tensor x) -> Tensor\n  meta: like(x)\n  dispatch: {CPU: two}\n"
    assert checked(project, other, capsys)[0] == 0
    status, said = checked(project, other.replace("Tensor x)", "Tensor x, Tensor out, Tensor y)"), capsys)
    assert status == 1 and "takes another number of arguments" in said
