"""Settings of [tool.opwright] that mean nothing: an error that says so, or a success, soon, and nothing is harmed."""

from __future__ import annotations

import contextlib
import io
import tempfile
from pathlib import Path

import pytest
import sweeps
from hypothesis import example, given, settings
from hypothesis import strategies as st

from opwright_codegen.cli import main

pytestmark = pytest.mark.once  # settings in, messages out

OPERATORS = "- func: hostile_settings::f(Tensor x) -> Tensor\n  meta: pointwise(x)\n  dispatch: {CPU: xp.sin(x)}\n"
KEYS = (
    "schemas", "tags", "output", "kernels", "rules", "strict_kernels", "derivatives", "gradients", "uses", "other",
)  # fmt: skip
WORDS = (
    "", ".", "..", "/", "../..", "../../x", "/dev/null", "/dev/full", "/proc/self/mem", "~", "a/b/c", "ops.yaml",
    "ops.yaml/x", "pyproject.toml", "binary", "folder", "folder/..", "\0", "\n", "\u202e", "é", "k" * 300,
    "k" * 100_000, "a/" * 5000, "a." * 5000 + "a", "a." * 600 + "a", "class", "a..b", "my-package", "nosuchpkg", "sys",
    "__main__", "opwright_aten", "-o", "%s{0}", "*", "a b", "'", '"""', "\\", "broken",
)  # fmt: skip


def toml(text: str) -> str:
    """The text as TOML in double quotes."""
    return '"' + "".join(c if c.isalnum() and c.isascii() else f"\\U{ord(c):08x}" for c in text) + '"'


texts = st.sampled_from(WORDS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = st.sampled_from(
    ["1", "-1", "0", "1e400", "nan", "-inf", "true", "false", "2020-01-01", "12:00:00", "9" * 5000, "0x" + "f" * 3000]
)
VALUES = st.recursive(
    texts.map(toml) | numbers,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.dictionaries(texts, inner, max_size=2).map(
            lambda table: f"{{{', '.join(f'{toml(key)} = {value}' for key, value in table.items())}}}"
        )
    ),
    max_leaves=4,
)
TABLES = st.dictionaries(st.sampled_from(KEYS), VALUES, min_size=1, max_size=3)


@given(TABLES)
@example({"kernels": "9" * 5000})
@example({"schemas": "[" * 500 + "]" * 500})
@example({"tags": "[" * 5000 + "]" * 5000})
@settings(max_examples=150, deadline=None)
def test_settings_of_any_kind(table: dict[str, str]) -> None:
    refuse_or_generate({"schemas": '["ops.yaml"]', "output": '"out"'} | table)


@pytest.mark.parametrize("key", KEYS)
def test_each_setting_with_each_word(key: str) -> None:
    """As a text or in a list, half of the words in each setting; with --slow all in both."""
    for word in sweeps.share(WORDS, 21, key):
        if word == "opwright_aten" and key != "uses" and not sweeps.is_exhaustive:
            continue  # a package that takes seconds to read
        for value in sweeps.share((toml(word), f"[{toml(word)}]"), 1, f"{key} {word}"):
            refuse_or_generate({"schemas": '["ops.yaml"]', "output": '"out"'} | {key: value})


def refuse_or_generate(table: dict[str, str]) -> None:
    """Run the command in a project with these settings: what it may do, and what must be as it was."""
    with tempfile.TemporaryDirectory() as name:
        project = Path(name) / "outer" / "project"
        (project / "folder").mkdir(parents=True)
        kept = {"ops.yaml": OPERATORS.encode(), "binary": bytes(range(256)), "broken.py": b"def f(:\n"}
        kept["pyproject.toml"] = "".join(["[tool.opwright]\n", *(f"{k} = {v}\n" for k, v in table.items())]).encode()
        for file, data in kept.items():
            (project / file).write_bytes(data)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.chdir(project), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(["generate" if stays_inside(table["output"]) else "check"])
        said = err.getvalue()
        assert status in (0, 1, 2)
        assert bool(status) == bool(said), table
        assert "an error of its own" not in said and "Traceback" not in said, said
        assert len(said) < 50_000
        for file, data in kept.items():
            assert (project / file).read_bytes() == data


def stays_inside(output: str) -> bool:
    """Whether output may be written: a path that leaves the project is the user's choice, and not the test's."""
    return "U0000002f" not in output and "U0000002e\\U0000002e" not in output and "U0000007e" not in output
