"""The JSON Schema of schema files says what the reader says, and the copy that a project has is kept up to date."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from opwright_codegen.cli import main
from opwright_codegen.output.editor_schema import EDITOR_SCHEMA, editor_schema
from opwright_codegen.read import autocast, entry_keys, launch, native

jsonschema = pytest.importorskip("jsonschema")
pytestmark = pytest.mark.once  # text in, text out

ROOT = Path(__file__).parents[2]
SCHEMA: dict[str, Any] = json.loads(editor_schema())
ENTRY: dict[str, Any] = SCHEMA["$defs"]["entry"]
CHECKER = jsonschema.Draft202012Validator(SCHEMA)
OTHERS = ("derivatives", "tags")  # files of other formats beside them
FILES = [
    path
    for pattern in ("schemas/*.yaml", "examples/**/*.yaml", "tests/codegen/cases/*/ops.yaml")
    for path in sorted(ROOT.glob(pattern))
    if not any(word in path.stem for word in OTHERS)
]


def problems(text: str) -> list[tuple[list[str | int], str]]:
    """Where the editor underlines something, and what it says."""
    return [(list(each.absolute_path), each.message) for each in CHECKER.iter_errors(yaml.safe_load(text))]


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_it_has_the_keys_and_words_of_the_reader() -> None:
    properties = ENTRY["properties"]
    assert set(properties) == set(entry_keys.KEYS)
    assert properties["convention"]["enum"] == list(native.CONVENTIONS)
    policies = properties["autocast"]["oneOf"][0]["examples"]
    assert policies[:-1] == list(autocast.POLICIES) and policies[-1].startswith(autocast.BANNED)
    launched = properties["launch"]["properties"]
    assert set(launched) == set(launch._KEYS)
    for name, (least, most) in launch.NUMBERS.items():
        said = launched[name]["oneOf"][0] if name == "ndim" else launched[name]
        assert (said["minimum"], said["maximum"]) == (least, most), name
    assert all("description" in each for each in properties.values())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_our_files_are_of_the_format(path: Path) -> None:
    assert problems(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "lines, place, said",
    [
        ("  metta: like(x)", [], "'metta' was unexpected"),
        ("  variants: function, metod", ["variants"], "does not match"),
        ("  convention: elementwide", ["convention"], "is not one of"),
        ("  launch: {thread: 256}", ["launch"], "'thread' was unexpected"),
        ("  launch: {threads: 2048}", ["launch", "threads"], "greater than the maximum"),
        ("  autocast: lower", ["autocast"], "is not valid"),
        ("  structured: 3", ["structured"], "is not of type 'boolean'"),
    ],
)
def test_what_is_misspelt_is_refused_where_it_stands(lines: str, place: list[str], said: str) -> None:
    [(found, message)] = problems(f"- func: own::f(Tensor x) -> Tensor\n{lines}\n")
    assert found == [0, *place] and said in message


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "shining_ops"]) == 0
    monkeypatch.chdir(tmp_path / "shining_ops")
    return tmp_path / "shining_ops"


def test_a_new_project_has_the_file_that_its_first_line_names(project: Path) -> None:
    text = (project / "schemas" / "ops.yaml").read_text(encoding="utf-8")
    assert text.splitlines()[0] == f"# yaml-language-server: $schema={EDITOR_SCHEMA}"
    assert (project / "schemas" / EDITOR_SCHEMA).read_text(encoding="utf-8") == editor_schema()
    assert problems(text) == []


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The copy of a project of one operator, generated."""
    monkeypatch.chdir(tmp_path)
    settings = '[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "shining_ops"\nuses = []\nkernels = []\n'
    (tmp_path / "pyproject.toml").write_text(settings)
    entry = "- func: shining::f(Tensor x) -> Tensor\n  meta: like(x)\n  dispatch: {CPU: xp.abs(x)}\n"
    (tmp_path / "ops.yaml").write_text(entry)
    (tmp_path / EDITOR_SCHEMA).write_text(editor_schema(), encoding="utf-8")
    assert main(["generate"]) == 0
    return tmp_path / EDITOR_SCHEMA


def test_the_copy_of_a_project_is_kept_up_to_date(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy.write_text("{}", encoding="utf-8")  # of an earlier version
    capsys.readouterr()
    assert main(["generate", "--check"]) == 1
    said = capsys.readouterr().out
    assert f"change   {EDITOR_SCHEMA}" in said and "out of date" in said
    assert copy.read_text(encoding="utf-8") == "{}"
    assert main(["generate"]) == 0
    assert copy.read_text(encoding="utf-8") == editor_schema()
    assert main(["generate", "--check"]) == 0
    copy.unlink()  # nobody who has no use for it gets it back
    assert main(["generate"]) == 0
    assert not copy.exists()


def test_a_link_is_left_alone(copy: Path) -> None:
    copy.unlink()
    elsewhere = copy.with_name("elsewhere.json")
    elsewhere.write_text("{}", encoding="utf-8")
    copy.symlink_to(elsewhere)
    assert main(["generate", "--force"]) == 0
    assert elsewhere.read_text(encoding="utf-8") == "{}"
