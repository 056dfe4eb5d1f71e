"""`sharding` and `linear`: errors with carets, and the rows that are generated."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

from opwright_codegen.cli import main

WRONG = [  # the line, the column under which the caret stands, the message, and the code
    ("sharding: n d, m d", 13, "'->' is missing", "sharding-form"),
    ('sharding: "n d, m d"', 14, "'->' is missing", "sharding-form"),
    ("sharding: whole", 13, "'whole' is said with a reason", "sharding-form"),
    ("sharding: n d -> n; d sum", 13, "1 operands are named, and the operator takes 2 tensors", "sharding-form"),
    ("sharding: n d, n d -> n, d", 22, "2 results are named, and the operator returns 1", "sharding-form"),
    ("sharding: n d!, m d -> n m; d sum", 16, "'!' is no name of a dimension", "sharding-form"),
    ("sharding: n d, m d -> n m; d", 30, "a factor and its kind are expected", "sharding-form"),
    ("sharding: n d, m d -> n k m; d sum", 27, "no operand has the factor 'k'", "sharding-factor"),
    ("sharding: n d, m d -> n m; d sum, k sum", 37, "no operand has the factor 'k'", "sharding-factor"),
    ("sharding: n d, m d -> n m", 15, "'d' is not in each result, and nothing says how", "sharding-kind"),
    ("sharding: n d, m d -> n m; d added", 32, "there is no kind 'added'", "sharding-kind"),
    ("sharding: n d, m d -> n m; d window", 32, "'window' is written otherwise", "sharding-kind"),
    ("sharding: n d, m d -> n m d; d window(1, rad)", 44, "'rad' is neither a number nor an argument", "sharding-kind"),
    ("linear: radius", 11, "'radius' is no tensor that is taken", "linear-form"),
    ("linear: a + c", 11, "'c' is no tensor that is taken", "linear-form"),
]
RIGHT = {
    "sharding: n d, m d -> n m; d sum": 'sharding="n d, m d -> n m; d sum"',
    "sharding: whole, since rows may be anywhere": 'whole="since rows may be anywhere"',
    "sharding: ... d, * -> ... d; d window(1, radius)": 'sharding="... d, * -> ... d; d window(1, radius)"',
    "linear: a, b": "linear=((0,), (1,))",
    "linear: a + b": "linear=((0, 1),)",
}


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


def test_wrong_ones_are_shown_where_they_stand(tmp_path: Path) -> None:
    status, said, _ = generated(tmp_path, [line for line, *_ in WRONG])
    assert status == 1
    for number, (line, column, message, code) in enumerate(WRONG):
        place = f"ops.yaml:{4 * number + 2}:{column}: error: {message}"
        assert place in said and re.search(rf"{re.escape(place)}[^\n]*\[{code}\]", said), f"{line}: {place}\n{said}"


def test_rows_of_right_ones(tmp_path: Path) -> None:
    status, said, rows = generated(tmp_path, [*RIGHT])
    assert status == 0, said
    joined = " ".join(rows.split())
    for number, text in enumerate(RIGHT.values()):
        assert re.search(rf'"f{number}": Dimensions\( ?Elementwise\(0, 1\), {re.escape(text)},? ?\)', joined), rows


def test_operators_that_write_have_none(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "cut_ops"\n')
    (tmp_path / "ops.yaml").write_text(
        '- func: cut::g(Tensor self) -> Tensor\n  meta: pointwise(self)\n  dispatch: {CPU: "self + 0"}\n'
        "- func: cut::g_(Tensor(a!) self) -> Tensor(a!)\n  sharding: n -> n\n"
    )
    out = io.StringIO()
    with contextlib.chdir(tmp_path), contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        assert main(["generate"]) == 1
    assert "ops.yaml:5:13: error: cut::g_ writes to its arguments" in out.getvalue()


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
