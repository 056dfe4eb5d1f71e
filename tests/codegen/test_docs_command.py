"""`opwright docs`: pages about the operators of a project, calls that end the process, and all of ATen."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from pipeline import generate_project, new_namespace

import opwright
from opwright_codegen.cli import main
from opwright_codegen.commands import docs
from opwright_codegen.commands.report_options import cache_folder
from opwright_codegen.errors import SchemaErrors
from opwright_codegen.reference import told
from opwright_codegen.reference.differences import read_differences
from opwright_codegen.reference.markdown import cell, code, first_sentence, prose
from opwright_codegen.reference.pages import Wishes, pages_of, sections_of
from opwright_gate.reports.finish import keep
from opwright_gate.showing.__main__ import operators_of
from opwright_gate.showing.facts import calls_of, facts_of
from opwright_gate.verdicts import Report, Verdict

pytestmark = pytest.mark.once  # neither mode matters

SCHEMAS = """
- func: NS::soft(Tensor x, *, float limit=0.5) -> Tensor
  doc: |
    Return `x` moved towards 0 by `limit`, or 0 where it is <nearer> | than that.
  meta: pointwise(x)
  dispatch:
    CPU: xp.sign(x) * xp.maximum(xp.abs(x) - limit, 0)
  autogen: soft.out
- func: NS::soft.by(Tensor x, Tensor by) -> Tensor
  meta: pointwise(x, by)
  dispatch:
    CPU: NS_kernels:soft
- func: NS::whole(Tensor x) -> Tensor
  doc: Return nothing that is cut.
  dims: ... n -> ... n; n whole
  meta: pointwise(x)
  dispatch:
    CPU: xp.positive(x)
"""
DERIVATIVES = """
- name: NS::soft(Tensor x, *, float limit=0.5) -> Tensor
  x: grad * (x.abs() > limit)
  result: auto_element_wise
- name: NS::soft.by(Tensor x, Tensor by) -> Tensor
  x: where(x.abs() > by, grad, 0)
  by: zeros_like(by)
"""
DIFFERENCES = """
- from: SciPy
  of: values
  table: of tests
  differences:
    - operators: soft([.].*)?
      seen: float16
      why: theirs are <rounded>
    - operators: '.*'
      why: all are ours
- from: NumPy
  of: functions
  names: functions
  differences:
    - operators: soft
      why: there is none
"""
KERNELS = "import numpy as np\n\n\ndef soft(x, by):\n    return x - by\n"


def test_pages_of_a_project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace = new_namespace()
    texts = (SCHEMAS.replace("NS_kernels", f"pipeline_{namespace}"), DERIVATIVES)
    (tmp_path / f"pipeline_{namespace}.py").write_text(KERNELS)
    run = generate_project(tmp_path, *(each.replace("NS", namespace) for each in texts))
    assert run.status == 0, run.stderr
    name = f"{namespace}::soft"
    verdicts = (
        Verdict(name, "values-are-right", "broken", why="known"),
        Verdict(f"{name}.out", "values-are-right", "broken", why="a | <b>"),
        Verdict(name, "precision-of-dtypes", "held"),
        Verdict(name, "batches-like-a-loop", "held", dtypes=("float64", "int64")),
        Verdict(f"{name}.out", "gradients-are-right", "undecided", why="it writes"),
    )
    (tmp_path / "gate.json").write_text(Report(verdicts, namespace, 1.0, 0, {"numpy": "2"}).to_json())
    (tmp_path / "gate-baseline.yaml").write_text(
        f"- operator: {name}\n  property: values-are-right\n  reason: as in <b>\n  date: 2026-11-27\n"
    )
    monkeypatch.chdir(tmp_path)
    kept: dict[str, Any] = {}
    monkeypatch.setattr(docs, "told", lambda *given: kept or kept.update(told.told(*given)) or kept)
    (tmp_path / "differences.yaml").write_text(DIFFERENCES)
    words = ["docs", "-o", "pages", "--gate", "gate.json", "--source", "https://example.org/blob/main/"]
    words += ["--differences", "differences.yaml"]
    assert main(words) == 0, capsys.readouterr().err
    assert "created" in capsys.readouterr().out
    page = Path("pages", f"{namespace}.soft.md").read_text()
    for line in (
        "# soft",
        "Return `x` moved towards 0 by `limit`, or 0 where it is &lt;nearer> | than that.",
        "soft(x: Tensor, by: Tensor = ..., *, limit: float = 0.5, out: Tensor(a!) = ...) -> Tensor | Tensor(a!)",
        "## soft.by",
        f"{name}.out(Tensor x, *, float limit=0.5, Tensor(a!) out) -> Tensor(a!)",
        "| dtypes | floating-point, complex |",
        "| gradients | by a formula |",
        "| kernel (CPU) | `xp.sign(x) * xp.maximum(xp.abs(x) - limit, 0)` |",
        f"| source (CPU) | [`pipeline_{namespace}.py:4`](https://example.org/blob/main/pipeline_{namespace}.py#L4) |",
        "| declared | [`ops.yaml:2`](https://example.org/blob/main/ops.yaml#L2) |",
        r"\nabla \mathit{x} = \mathit{grad} \cdot \left(\left|\mathit{x}\right| > \mathit{limit}\right)",
        "the formula of the gradient, conjugated: it works on each element",
        "| CPU, Meta | kernel | [`ops.yaml:2`](https://example.org/blob/main/ops.yaml#L2) |",
        "| | `soft`, CPU | `soft.out`, CPU |",
        "| values | 1 held, 1 known | **broken** |",
        "| gradients are right |  | not decided |",
        "| vmap gives what a loop gives | held: float64, int64 |  |",
        "- `soft.out`, values-are-right: **broken**: a | &lt;b>",
        "**What differs from SciPy**",
        "- values, `soft`, `soft.out`, `soft.by`: theirs are &lt;rounded>",
        "- there is none",
        f"- `{name}`, values-are-right: as in &lt;b>",
    ):
        assert line in page.splitlines(), f"{line}\n{page}"
    assert re.search(r"^\| dimensions \| `(.+) -> \1` \|$", page, re.MULTILINE)  # as many as the drawn example has
    index = Path("pages", "index.md").read_text()
    assert f"[soft]({namespace}.soft.md) | Return `x` moved towards 0 by `limit`, or 0 where it is" in index
    assert (
        "`opwright gate NS` with numpy 2: 2 operators, 2 answers held, 2 broken, 1 not decided.".replace(
            "NS", namespace
        )
        in index
    )
    assert "What differs from SciPy and NumPy is on each page, and all of it [on one](differences.md)." in index
    every = Path("pages", "differences.md").read_text()
    assert "## SciPy: values\n\n| what | operators |\n" in every
    assert f"| theirs are &lt;rounded> | [soft]({namespace}.soft.md) |" in every
    assert "| all are ours | all |" in every and "## NumPy: functions" in every
    whole = Path("pages", f"{namespace}.whole.md").read_text()
    assert "n whole" in whole and f"`opwright gate {namespace}::whole` does" in whole
    assert_example_runs(page, run.package.name)

    assert main([*words, "--check"]) == 0
    Path("pages", "index.md").write_text("by hand")
    assert main([*words, "--check"]) == 1
    assert Path("pages", "index.md").read_text() == "by hand"
    Path("pages", "index.md").unlink()
    Path("elsewhere").mkdir()
    Path("elsewhere", "theirs.md").write_text("theirs")
    assert main(["docs", "-o", "elsewhere"]) == 1
    assert "theirs.md" in capsys.readouterr().err
    assert main(["docs", "-o", "pages", "--gate", "none.json"]) == 2
    assert "there is no report none.json" in capsys.readouterr().err


def test_the_last_run_of_the_gate_is_told_unless_it_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`opwright gate` keeps its report where `opwright docs` looks for it."""
    (tmp_path / "pyproject.toml").write_text("")
    monkeypatch.chdir(tmp_path)
    asked: list[str | None] = []
    monkeypatch.setattr(told, "_lines", lambda given, _: asked.append(given["report"]) or iter([{"names": []}]))
    keep(Report((), "m", 1.0, 0), str(cache_folder(tmp_path)))
    for more in ([], ["--no-gate"], ["--gate", "pyproject.toml"]):
        assert main(["docs", "m", "-o", "pages", *more]) == 2
    assert asked == [str(tmp_path / ".opwright_cache" / "gate.json"), None, "pyproject.toml"]
    capsys.readouterr()


def test_what_is_wrong_with_differences_is_said(tmp_path: Path) -> None:
    path = tmp_path / "differences.yaml"
    path.write_text("- from: X\n  of: y\n  differences:\n    - operators: '('\n      because: z\n- from: X\n  of: y\n")
    with pytest.raises(SchemaErrors) as caught:
        read_differences(path)
    found = [str(each).partition("\n")[0].partition("differences.yaml:")[2] for each in caught.value.errors]
    assert found == [
        "4:19: error: this is no pattern: missing ), unterminated subpattern at position 0 [wrong-type]",
        "5:7: error: unknown key 'because' [unknown-key]",
        "4:7: error: the entry has no 'why' [missing-key]",
        "6:3: error: a list of differences is expected, not a mapping [wrong-type]",
    ]


def assert_example_runs(page: str, package: str) -> None:
    """What a page shows is what Python prints, in a process that has nothing else: here, this one."""
    found = re.search(r"\*\*Example\*\*\n\n```python\n(.*?)\n```", page, re.DOTALL)
    assert found is not None
    lines = [line.removeprefix(">>> ") for line in found[1].splitlines() if line.startswith(">>> ")]
    assert lines[0] == f"import opwright, {package}"


def test_nothing_to_write_about_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["docs", "-o", "pages"]) == 2
    assert "name a namespace or a package" in capsys.readouterr().err
    monkeypatch.setattr(told, "_lines", lambda given, environment: iter([{"names": []}]))
    assert main(["docs", "nobodys", "-o", "pages"]) == 2
    assert "there is no operator of nobodys" in capsys.readouterr().err
    assert not Path("pages").exists()


def test_an_operator_that_ends_the_process_is_told_of_without_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def lines(given: dict[str, Any], environment: Any) -> Iterator[dict[str, Any]]:
        asked.append((given["names"], given["calls"]))
        if not given["names"]:
            yield {"names": ["m::a", "m::bad", "m::z"]}
        for name in given["names"] or ["m::a", "m::bad", "m::z"]:
            yield {"begin": name}
            if name == "m::bad" and given["calls"]:
                return
            yield {"name": name, "called": given["calls"]}

    monkeypatch.setattr(told, "_lines", lines)
    found = told.told(["m"], [], None, {})
    assert [(name, each["called"]) for name, each in found.items()] == [
        ("m::a", True),
        ("m::bad", False),
        ("m::z", True),
    ]
    assert asked == [([], True), (["m::bad"], False), (["m::z"], True)]


@given(st.text("`\\<>/&b|!-[]() \n\r#*~\u2028", max_size=40))
@example("a \\`<b>`")
@example("``<b>`")
@example("`<b>``")
@example("\\\\`<b>`")
@example("a | b\n--- | ---\n`x | <b>`")
@example("`a\n\n<b>`")
@example("\\<b>")
def test_no_text_of_others_holds_html(text: str) -> None:
    """As a page, as a cell of a table, and as code, to a reader of Markdown that keeps HTML."""
    reader = MarkdownIt("commonmark").enable("table")
    table = "| a |\n| --- |\n| {} |\n"
    for page in (prose(text), table.format(cell(prose(text))), table.format(cell(code([text])))):
        blocks = reader.parse(page)
        kinds = {each.type for block in blocks for each in (block, *(block.children or ()))}
        assert not kinds & {"html_block", "html_inline"}, page
    rows = [block for block in reader.parse(table.format(cell(prose(text)))) if block.type == "tr_open"]
    assert len(rows) == 2


def test_texts_of_others_end_no_cell_and_open_no_tag() -> None:
    assert prose("a < b & `c < d`") == "a &lt; b &amp; `c < d`"
    assert cell("a |\n b") == "a \\| b"
    assert first_sentence("Return 0.5 of it. More.") == "Return 0.5 of it"


def test_all_of_aten_has_a_page() -> None:
    names = operators_of("aten")
    facts = {name: facts_of(name, ()) for name in names}
    pages = list(pages_of(facts, {}, (), Wishes()))
    shown = Counter(schema for page in pages for each in page.overloads for schema in each.schemas)
    assert shown == Counter(each["schema"] for each in facts.values())
    assert len({page.file.lower() for page in pages}) == len(pages) > 700
    assert all(page.summary and page.where.startswith("schemas/") for page in pages)
    assert {each.title for each in sections_of(pages)} >= {"Pointwise", "Linear algebra", "Views"}
    assert "aten.index.md" in {page.file for page in pages}


@pytest.mark.parametrize(
    "name", ["aten::addmm", "aten::sort", "aten::embedding", "aten::relu_", "aten::randn_like", "aten::split.Tensor"]
)
def test_examples_run_and_print_the_same(name: str) -> None:
    lines, output = calls_of(name)["example"]
    scope: dict[str, Any] = {}
    exec("\n".join(lines[:-1]), scope)
    assert repr(eval(lines[-1], scope)) == output
    assert opwright is scope["opwright"]
