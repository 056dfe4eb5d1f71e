"""The keys that `dims` has replaced: they are read as before, converted by `fmt`, and named by `lint` and `explain`."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opwright_codegen.cli import main
from opwright_codegen.errors import SchemaError
from opwright_codegen.read.dims import parse_dims
from opwright_codegen.read.old_dims import OLD_KEYS, converted
from opwright_codegen.source import Source, Text

CONVERTED = [  # the lines of an entry, and its line as `fmt` writes it
    (["batch: along(self, dim=dim)"], "dims: along(self, dim=dim); batched"),
    (["blocks: along(self, dim=dim)"], "dims: along(self, dim=dim)"),
    (["linear: self + other"], "dims: linear(self + other)"),
    (["sharding: n d, m d -> n m; d sum", "linear: self, other"], "dims: n d, m d -> n m; d sum, linear(self, other)"),
    (["sharding: whole, since rows are sorted"], "dims: whole, since rows are sorted"),
    (
        ["batch: leading((self, 1), (other, 1))", "sharding: ... n, n -> ... n; n whole"],
        "dims: ... n, n -> ... n; n whole, batched",
    ),
    (
        ["batch: leading((self, 1), (other, 2))", "sharding: ... n, n -> ... n; n whole"],
        "dims: ... n, n -> ... n; n whole, batched by leading((self, 1), (other, 2))",
    ),
    (
        ["linear: self", "batch: leading((self, 1))", "blocks: windows(self, dim=-1, before=dim)"],
        "dims: windows(self, dim=-1, before=dim); linear(self), batched by leading((self, 1))",
    ),
    (
        ['batch: product("(m,k),(k,n)->(m,n)", self, other)', "linear: self, other"],
        'dims: product("m k, k n -> m n", self, other); linear(self, other), batched',
    ),
    (['batch: product("(n),(n)->()", self, other)'], 'dims: product("n, n -> ()", self, other); batched'),
    (
        ['sharding: "*, ... -> ..."', "blocks: elementwise(other)"],
        'dims: "*, ... -> ...; cut by elementwise(other)"',
    ),
]
ROOT = Path(__file__).parents[2]
FAMILY = st.sampled_from(["along(self, dim=(a, b))", "leading((self, 2), (other, 1))", "elementwise(self)"])
RULE = st.sampled_from(["m k, k n -> m n; k sum", "... n -> ... n", "a.b:c", "whole, since x and y (all) are"])
WORDS = st.lists(
    st.sampled_from([*"mk;,()*", "->", "...", "sum", "window(1, 2)", "whole", "linear", "batched", "by", "cut", "a:b"])
)
FUNC = "- func: old::f(Tensor self, Tensor other, int dim=1) -> Tensor\n"
REST = '  dispatch: {CPU: "self + other"}\n'


def run(folder: Path, text: str, *arguments: str) -> tuple[int, str]:
    """The status of a command in a project with this file, and all that it says."""
    (folder / "ops.yaml").write_text(text, encoding="utf-8")
    (folder / "pyproject.toml").write_text('[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "old_ops"\n')
    out = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        status = main([*arguments])
    return status, out.getvalue()


def entry(lines: list[str]) -> str:
    return f"{FUNC}{''.join(f'  {line}' + chr(10) for line in lines)}{REST}"


@pytest.mark.parametrize(("lines", "line"), CONVERTED)
def test_generated_code_is_that_of_the_converted_file(tmp_path: Path, lines: list[str], line: str) -> None:
    def rows() -> dict[str, str]:
        return {path.name: path.read_text() for path in (tmp_path / "old_ops" / "batching").glob("*.py")}

    assert run(tmp_path, entry(lines), "generate")[0] == 0
    before = rows()
    assert run(tmp_path, entry(lines), "fmt")[0] == 0
    text = (tmp_path / "ops.yaml").read_text(encoding="utf-8")
    assert text == entry([line])
    assert run(tmp_path, text, "generate")[0] == 0
    assert rows() == before
    assert run(tmp_path, text, "fmt", "--check")[0] == 0


def test_comments_stay(tmp_path: Path) -> None:
    lines = ["# One.", "batch: leading((self, 1))  # two", "# Three.", "linear: self  # four"]
    assert run(tmp_path, entry(lines), "fmt")[0] == 0
    text = (tmp_path / "ops.yaml").read_text(encoding="utf-8")
    assert text == entry(["# One.", "# Three.", "# two", "dims: leading((self, 1)); linear(self), batched  # four"])


def test_lint_and_explain_name_them(tmp_path: Path) -> None:
    status, said = run(tmp_path, entry(["batch: leading((self, 1))"]), "lint")
    assert status == 1
    assert "ops.yaml:2:3: warning: 'batch' is a part of 'dims' now [old-dims]" in said
    assert "opwright fmt writes it: dims: leading((self, 1)); batched" in said
    _, said = run(tmp_path, entry([]), "explain", "old-dims")
    assert all(f"`{key}`" in said for key in ("batch", "blocks", "sharding", "linear", "dims"))


def test_wrong_ones(tmp_path: Path) -> None:
    status, said = run(tmp_path, entry(["dims: linear(self)", "linear: self"]), "check")
    assert status == 1 and "ops.yaml:3:11: error: the entry has 'dims', of which 'linear' is a part [old-dims]" in said
    status, said = run(tmp_path, entry(["sharding: n d"]), "check")
    assert status == 1 and "ops.yaml:2:13: error: 'sharding': these keys are one now" in said


def test_lines_of_folded_texts_are_one() -> None:
    assert converted({"batch": "along(self,\n  dim=dim)"}) == "along(self, dim=dim); batched"


@pytest.mark.parametrize("folder", ["schemas", "examples", "templates"])
def test_no_entry_of_ours_has_them(folder: str) -> None:
    old = re.compile(rf"^  ({'|'.join(OLD_KEYS)}):", re.MULTILINE)
    files = [*(ROOT / folder).rglob("*.yaml"), *(ROOT / folder).rglob("*.yaml.j2")]
    assert files and [path.name for path in files if old.search(path.read_text(encoding="utf-8"))] == []


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "batch": FAMILY | st.just("a.b:c"),
            "blocks": FAMILY,
            "sharding": RULE,
            "linear": st.just("a + b, c"),
        },
    )
)
def test_each_part_is_kept(old: dict[str, str]) -> None:
    if not old:
        return
    text = converted(old)
    dims = parse_dims(Text(text, Source("<dims>", text).whole()))
    batch = dims.batching.text if dims.batching else None
    names_say_it = dims.is_batched and dims.names is not None
    assert batch == old.get("batch") or names_say_it
    cut = dims.cutting.text if dims.cutting else None
    assert cut == old.get("blocks", old.get("batch") if batch and dims.is_batched else None)
    rule = dims.names or dims.function
    kinds = ", ".join(map(str, dims.kinds))
    said = f"whole, {dims.whole}" if dims.whole else "; ".join(filter(None, (rule and rule.text, kinds)))
    assert said == old.get("sharding", "")
    groups = [" + ".join(map(str, group)) for group in dims.linear or ()]
    assert ", ".join(groups) == old.get("linear", "")


@given(WORDS.map(" ".join) | st.text())
def test_any_other_text_is_an_error_with_a_place(text: str) -> None:
    with contextlib.suppress(SchemaError):
        parse_dims(Text(text, Source("<dims>", text).whole()))
