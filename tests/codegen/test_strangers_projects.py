"""Projects, wheels and locks of strangers: nothing is written outside, and each fault is one line."""

from __future__ import annotations

import json
import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from opwright_codegen.cli import main

SETTINGS = '[tool.opwright]\nschemas = ["ops.yaml"]\noutput = {}\nnamespace = "demo"\n'
ENTRY = (
    "- func: demo::soft(Tensor self, Scalar a=0.5) -> Tensor\n  meta: pointwise(self)\n  dispatch: {CPU: self - a}\n"
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.chdir(root)
    monkeypatch.delenv("OPWRIGHT_TRACEBACK", raising=False)
    (root / "pyproject.toml").write_text(SETTINGS.format('"soft_ops"'), encoding="utf-8")
    (root / "ops.yaml").write_text(ENTRY, encoding="utf-8")
    _git("init", "-q")
    return root


def _git(*words: str) -> None:
    subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=n@example.org", *words], check=True, stdout=-3)


def _commit() -> None:
    _git("add", "-A")
    _git("commit", "-q", "-m", "One.")


def _one_line(capsys: pytest.CaptureFixture[str]) -> str:
    said = capsys.readouterr().err
    assert "error of its own" not in said and "Traceback" not in said
    assert said.startswith("opwright: ") and said.count("\n") == 1
    return said


def _files(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*") if ".git" not in path.parts)


@pytest.mark.parametrize("output", ["{above}/loot", "../loot", "../../loot", "soft_ops/../../loot", ".", "link/loot"])
@pytest.mark.parametrize("is_table", [False, True])
def test_the_output_of_an_old_commit_stays_within_it(
    project: Path, capsys: pytest.CaptureFixture[str], output: str, is_table: bool
) -> None:
    text = json.dumps(output.format(above=project.parent.as_posix()))
    settings = SETTINGS.format(f"{{demo = {text}}}" if is_table else text)
    (project / "pyproject.toml").write_text(settings, encoding="utf-8")
    if output.startswith("link"):
        (project / "link").symlink_to(project.parent)
    _commit()
    before = _files(project.parent)
    assert main(["breaking", "git:HEAD", ".", "--categories", "FAKE"]) == 2
    said = _one_line(capsys)
    assert "'output' of its pyproject.toml" in said or "its link is a link out of the project" in said
    assert _files(project.parent) == before


def test_links_out_of_a_commit_are_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for target in ("../elsewhere", "/etc/passwd"):
        (project / "data").symlink_to(target)
        _commit()
        assert main(["breaking", "git:HEAD"]) == 2
        assert f"its data is a link out of the project, to {target}" in _one_line(capsys)
        (project / "data").unlink()


def test_errors_name_the_commit_and_no_folder_that_is_gone(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = (project / "pyproject.toml").read_text(encoding="utf-8")
    right = {"pyproject.toml": settings, "ops.yaml": ENTRY}
    wrong = (
        {"pyproject.toml": settings + "tagz = 1\n"},
        {"pyproject.toml": settings.replace('output = "soft_ops"\n', "")},
        {"pyproject.toml": settings.replace("ops.yaml", "nothing.yaml")},
        {"ops.yaml": ENTRY.replace("Tensor self", "Tenser self")},
        {"ops.yaml": ENTRY.replace("self - a", "kernels:soft")},
        {
            "ops.yaml": ENTRY.replace("self - a", "kernels:soft"),
            "kernels.py": "raise ValueError(__file__)\n\ndef soft(self, a): ...",
        },
    )
    for files in wrong:
        for name, text in (right | files).items():
            (project / name).write_text(text, encoding="utf-8")
        _commit()
        for name, text in right.items():
            (project / name).write_text(text, encoding="utf-8")
        assert main(["breaking", "git:HEAD", ".", "--categories", "FAKE"]) in (1, 2), files
        said = capsys.readouterr().err
        assert "opwright_old_" not in said and "error of its own" not in said and said, files


def _wheel(path: Path, names: list[str]) -> None:
    with zipfile.ZipFile(path, "w") as wheel:
        for name in names:
            wheel.writestr(name, "text")


def test_wheels_that_cannot_be_unpacked(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Encrypted, of 2,000 folders, of another compression, cut off, with a wrong sum."""
    path = project / "odd.whl"
    _wheel(path, ["a.py"])
    whole = path.read_bytes()
    directory = whole.index(b"PK\x01\x02")

    def changed(*at: tuple[int, bytes]) -> bytes:
        data = bytearray(whole)
        for position, value in at:
            data[position : position + len(value)] = value
        return bytes(data)

    odd = {
        "encrypted": changed((6, b"\x01"), (directory + 8, b"\x01")),
        "compression": changed((8, b"\x63"), (directory + 10, b"\x63")),
        "cut": whole[:20],
        "sum": changed((whole.index(b"text"), b"next")),
        "empty": b"",
    }
    for name, data in odd.items():
        path.write_bytes(data)
        assert main(["breaking", str(path)]) == 2, name
        assert "unpacked" in _one_line(capsys), name
    for names in (["a/" * 2000 + "b.py"], ["a" * 300 + ".py"], ["a.py/b.py", "a.py"]):
        _wheel(path, names)
        assert main(["breaking", str(path)]) == 2
        assert "unpacked" in _one_line(capsys)


def test_a_lock_that_is_no_text(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "api.lock.yaml").write_bytes(b"- func: demo::soft(Tensor self) -> Tensor\n# \xff\n")
    for words in (["breaking", "api.lock.yaml"], ["check"], ["generate"], ["freeze"], ["breaking", "."]):
        main(words)
        said = capsys.readouterr().err
        assert "error of its own" not in said and "Traceback" not in said, words


COMMANDS = (
    ["breaking", "ops.yaml"], ["check"], ["generate"], ["lint"], ["list"], ["doctor"], ["coverage"], ["freeze"],
    ["breaking", "git:HEAD"], ["breaking", "missing"], ["list", "nothing*"],
)  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("text", [ENTRY, "- func: demo::soft(Tenser self) -> Tensor\n", "- func: [\n", None])
def test_json_is_printed_whatever_happens(
    project: Path, capsys: pytest.CaptureFixture[str], words: list[str], text: str | None
) -> None:
    """Schemas may be right, wrong, no YAML, or missing."""
    if text is None:
        os.remove("ops.yaml")
    else:
        (project / "ops.yaml").write_text(text, encoding="utf-8")
    try:
        status = main([*words, "--format", "json"])
    except SystemExit:  # a command without formats
        assert "unrecognized arguments" in capsys.readouterr().err
        return
    said = json.loads(capsys.readouterr().out)
    assert status == said.get("status", status)
    assert status in (0, 1) or said["findings"]
