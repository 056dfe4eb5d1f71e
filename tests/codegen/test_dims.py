"""`dims`: errors with carets, and the rows that are generated."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from opwright_codegen.cli import main

WRONG = [  # the line, the column under which the caret stands, the message, and the code
    ("dims: n d, m d", 9, "'->' is missing", "dims-form"),
    ('dims: "n d, m d"', 10, "'->' is missing", "dims-form"),
    ("dims: whole", 9, "'whole' is said with a reason", "dims-form"),
    ("dims: n d -> n; d sum", 9, "1 operands are named, and the operator takes 2 tensors", "dims-form"),
    ("dims: n d, n d -> n, d", 18, "2 results are named, and the operator returns 1", "dims-form"),
    ("dims: n d!, m d -> n m; d sum", 12, "'!' is no name of a dimension", "dims-form"),
    ("dims: n d, m d -> n m; d", 26, "a factor and its kind are expected", "dims-form"),
    ("dims: n d, m d -> n k m; d sum", 23, "no operand has the factor 'k'", "dims-factor"),
    ("dims: n d, m d -> n m; d sum, k sum", 33, "no operand has the factor 'k'", "dims-factor"),
    ("dims: n d, m d -> n m", 11, "'d' is not in each result, and nothing says how", "dims-kind"),
    ("dims: n d, m d -> n m; d added", 28, "there is no kind 'added'", "dims-kind"),
    ("dims: n d, m d -> n m; d window", 28, "'window' is written otherwise", "dims-kind"),
    ("dims: n d, m d -> n m d; d window(1, rad)", 40, "'rad' is neither a number nor an argument", "dims-kind"),
    ("dims: linear(radius)", 16, "'radius' is no tensor that is taken", "dims-linear"),
    ("dims: linear(a + c)", 20, "'c' is no tensor that is taken", "dims-linear"),
    ("dims: linear(a), linear(b)", 20, "'linear' is said twice", "dims-form"),
    ("dims: linear(a); batched by leading((a, 1))", 18, "';' follows a rule", "dims-form"),
    ("dims: linear; n d", 15, "';' follows a rule", "dims-form"),
    ("dims: leading((a, 1)); batching", 26, "a factor and its kind are expected", "dims-form"),
    ("dims: leading((a, 1)); d sum", 26, "'d sum' is said of a dimension that has no name", "dims-kind"),
    ("dims: whole, since rows are; batched", 32, "no names and no family say how", "dims-form"),
    ("dims: windows(a, dim=-1, size=radius); batched", 9, "windows() says nothing of batches", "dims-family"),
    ("dims: batched by a", 9, "a family of rules, or a function, is expected after 'by'", "dims-form"),
    ("dims: linear(a), cut by a", 20, "a family of rules is expected after 'by'", "dims-form"),
    ("dims: along(a, dims=radius)", 23, "along() has no 'dims'", "dims-family"),
    ("dims: '* -> *, b; batched'", 10, "'*' is any number of dimensions", "dims-form"),
]
RIGHT = {
    "dims: n d, m d -> n m; d sum": 'Elementwise(0, 1), sharding="n d, m d -> n m; d sum"',
    "dims: whole, since rows may be anywhere": 'Elementwise(0, 1), whole="since rows may be anywhere"',
    "dims: ... d, * -> ... d; d window(1, radius)":
        'Elementwise(0, 1), sharding="... d, * -> ... d; d window(1, radius)"',
    "dims: linear(a, b)": "Elementwise(0, 1), linear=((0,), (1,))",
    "dims: linear": "Elementwise(0, 1), linear=((0,), (1,))",
    "dims: linear(a + b)": "Elementwise(0, 1), linear=((0, 1),)",
    "dims: m k, k n -> m n; k sum linear":
        'Elementwise(0, 1), sharding="m k, k n -> m n; k sum", linear=((0,), (1,))',
    "dims: linear d, m d -> linear m; linear again, d max":
        'Elementwise(0, 1), sharding="linear d, m d -> linear m; linear again, d max"',
    "dims: ... n, n -> ... n; n whole, batched":
        'Leading((0, 1), (1, 1)), sharding="... n, n -> ... n; n whole"',
    "dims: ..., ... -> ...; batched, linear(b)":
        'Elementwise(0, 1), sharding="..., ... -> ...", linear=((1,),)',
    'dims: product("m k, k n -> m n", a, b); batched, linear':
        'Product("(m,k),(k,n)->(m,n)", 0, 1), linear=((0,), (1,))',
    "dims: windows(a, dim=-1, after=radius); batched by leading((a, 1))":
        "Leading((0, 1)), blocks=Windows(0, dim=-1, after=At(2))",
    "dims: along(a, dim=radius, combines=True); batched, linear(a)":
        "Along(0, dim=2), blocks=Along(0, dim=2, combines=True), linear=((0,),)",
}  # fmt: skip


def generated(folder: Path, lines: list[str]) -> tuple[int, str, str]:
    """The status of `generate` for an operator with each of these lines, what it says, and the rows that it writes."""
    entries = [
        f"- func: cut::f{n}(Tensor a, Tensor b, int radius) -> Tensor\n  {line}\n"
        f'  meta: pointwise(a, b)\n  dispatch: {{CPU: "a + b"}}\n'
        for n, line in enumerate(lines)
    ]
    (folder / "ops.yaml").write_text("".join(entries), encoding="utf-8")
    (folder / "pyproject.toml").write_text('[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "cut_ops"\n')
    out = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        status = main(["generate"])
    rows = folder / "cut_ops" / "batching" / "ops.py"
    return status, out.getvalue(), rows.read_text(encoding="utf-8") if rows.is_file() else ""


@pytest.mark.parametrize(("line", "column", "message", "code"), WRONG)
def test_wrong_ones_are_shown_where_they_stand(tmp_path: Path, line: str, column: int, message: str, code: str) -> None:
    status, said, _ = generated(tmp_path, [line])
    place = f"ops.yaml:2:{column}: error: {message}"
    assert status == 1 and re.search(rf"{re.escape(place)}[^\n]*\[{code}\]", said), f"{place}\n{said}"


def test_rows_of_right_ones(tmp_path: Path) -> None:
    status, said, rows = generated(tmp_path, [*RIGHT])
    assert status == 0, said
    joined = " ".join(rows.split())
    for number, text in enumerate(RIGHT.values()):
        assert re.search(rf'"f{number}": Dimensions\( ?{re.escape(text)},? ?\)', joined), f"{text}\n{rows}"


def test_operators_that_write_have_none(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "cut_ops"\n')
    (tmp_path / "ops.yaml").write_text(
        '- func: cut::g(Tensor self) -> Tensor\n  meta: pointwise(self)\n  dispatch: {CPU: "self + 0"}\n'
        "- func: cut::g_(Tensor(a!) self) -> Tensor(a!)\n  dims: n -> n\n"
    )
    out = io.StringIO()
    with contextlib.chdir(tmp_path), contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        assert main(["generate"]) == 1
    assert "ops.yaml:5:9: error: cut::g_ writes to its arguments" in out.getvalue()


def test_a_dimension_that_is_a_number_is_not_all_of_them(tmp_path: Path) -> None:
    """Results of parts were put together as if the operator reduced everything: blocks of Dask gave other shapes."""
    (tmp_path / "pyproject.toml").write_text('[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "cut_ops"\n')
    text = "".join(
        f'- func: cut::r{number}(Tensor self) -> Tensor\n  meta: reduce(self{dim}, combines="sum")\n'
        f'  dispatch: {{CPU: "self.sum()"}}\n'
        for number, dim in enumerate((", 1", ", dim=-1", ", None", ""))
    )
    (tmp_path / "ops.yaml").write_text(text)
    with contextlib.chdir(tmp_path), contextlib.redirect_stdout(io.StringIO()):
        assert main(["generate"]) == 0
    rows = "".join(path.read_text() for path in (tmp_path / "cut_ops" / "batching").glob("*.py"))
    found = re.findall(r'"r(\d)": (.*),', rows)
    assert found == [
        (str(n), f"Everything(0{', combines=' + chr(34) + 'sum' + chr(34) if n > 1 else ''})") for n in range(4)
    ]
