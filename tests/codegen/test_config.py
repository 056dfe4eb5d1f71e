"""[tool.opwright]: what may be said there, and where it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright_codegen.commands.config import Config, find_config, read_config
from opwright_codegen.errors import SchemaError, SchemaErrors


def test_everything(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(
        '[tool.opwright]\nschemas = ["a.yaml", "b/c.yaml"]\ntags = "tags.yaml"\noutput = "out"\n'
        'kernels = ["k"]\nrules = ["r"]\nstrict_kernels = false\n'
    )
    schemas = (tmp_path / "a.yaml", tmp_path / "b/c.yaml")
    found = Config(tmp_path, path, schemas, tmp_path / "tags.yaml", tmp_path / "out", ("k",), ("r",), False)
    assert read_config(path) == found
    inner = tmp_path / "x" / "y"
    inner.mkdir(parents=True)
    assert find_config(inner) == found


def test_derivatives(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text('[tool.opwright]\nderivatives = "d.yaml"\ngradients = ["mine.gradients"]\n')
    assert read_config(path) == Config(tmp_path, path, derivatives=tmp_path / "d.yaml", gradients=("mine.gradients",))


def test_a_folder_for_each_namespace(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text('[tool.opwright.output]\naten = "a"\nmine = "b"\n')
    found = read_config(path)
    assert found is not None
    assert found.output == {"aten": tmp_path / "a", "mine": tmp_path / "b"}


def test_without_a_table(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.other]\n")
    assert read_config(tmp_path / "pyproject.toml") is None


@pytest.mark.parametrize(
    ("text", "line", "column", "message", "hint"),
    [
        ('[tool.opwright]\nschema = ["a"]', 2, 1, "[tool.opwright] has no 'schema'", "did you mean 'schemas'?"),
        (
            '[tool.opwright]\n  schemas = "a"',
            2,
            3,
            "a list of texts is expected for 'schemas' of [tool.opwright]",
            None,
        ),
        ("[tool.opwright]\nschemas = [1]", 2, 1, "a list of texts is expected for 'schemas' of [tool.opwright]", None),
        ("[tool.opwright]\ntags = 1", 2, 1, "a text is expected for 'tags' of [tool.opwright]", None),
        ("[tool.opwright.output]\naten = 1", 2, 1, "a text is expected for 'aten' of [tool.opwright]", None),
        ("[tool]\nopwright = 1", 2, 1, "a table is expected for 'opwright' of [tool.opwright]", None),
        (
            "[tool.opwright]\nstrict_kernels = 1",
            2,
            1,
            "true or false is expected for 'strict_kernels' of [tool.opwright]",
            None,
        ),
    ],
)
def test_what_is_wrong_in_it(tmp_path: Path, text: str, line: int, column: int, message: str, hint: str | None) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(text)
    with pytest.raises(SchemaErrors) as caught:
        read_config(path)
    (error,) = caught.value.errors
    assert error.message == message
    assert error.span is not None
    assert (error.span.line, error.span.column) == (line, column)
    if hint:
        assert error.hint == hint


@pytest.mark.parametrize("text", ["[tool.opwright\n", "x = ", 'x = "', "[" * 5000])
def test_what_is_no_toml(tmp_path: Path, text: str) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(text)
    with pytest.raises(SchemaError) as caught:
        read_config(path)
    assert caught.value.code == "config-syntax"
