"""The command `explain`, and the page of all errors that it prints: every code has an example that holds."""

from __future__ import annotations

import ast
import functools
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import opwright_codegen
from opwright_codegen.about.explain import problems_of, show_explanations
from opwright_codegen.cli import main
from opwright_codegen.explanations import Explanation, explanations
from opwright_codegen.promises.breakages import CODES
from opwright_codegen.read.check import RULES

SOURCES = Path(opwright_codegen.__file__).parent
SHOWN = [pytest.param(found, id=found.code) for found in explanations().values() if found.elsewhere is None]

# Where the code is put together or passed on, and what codes that gives.
MADE = {
    "read/check.py": set(RULES),
    "schema/rules.py": set(),  # passed on from SchemaProblem
    "derivatives/checks.py": {"auto-linear", "auto-element-wise"},
    "read/values.py": set(),  # moved to where the text is
    "documents/nodes.py": {"unknown-variant", "unknown-dtype", "unknown-ufunc-key", "unknown-device-check"}
    | {"unknown-autocast-policy", "unknown-autocast-device"}  # of `read.autocast`
    | {"unknown-convention", "unknown-launch-key", "unknown-grid"}  # of `read.native` and `read.launch`
    | {"unknown-deprecated-key"},  # of `read.versions`
    "kernel_choices/signatures.py": {"native-argument", "native-results", "cuda-argument", "cuda-results"}
    | {"elsewhere-argument", "elsewhere-results"},
    "cli.py": set(),  # usage and internal errors, which have no page
    "commands/breaking.py": set(),  # codes of differences
    "findings/tests.py": set(),  # properties of the gate
    "formula/limits.py": {"not-allowed"},
    "formula/operator_calls.py": {"backward-call", "kernel-arguments"},
    "read/dims.py": {"dims-form", "dims-kind"},
    "kernels/modules.py": {
        *("unknown-kernel", "unknown-rule"),
        *("ambiguous-kernel", "ambiguous-rule", "ambiguous-backward-function"),
    },
}


def codes_in(tree: ast.Module) -> Iterator[str | None]:
    """The code of each error that a module raises or notes; None for one that is no constant."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id in ("SchemaError", "SchemaProblem", "Finding"):
            yield node.args[0].value if isinstance(node.args[0], ast.Constant) else None
        for keyword in node.keywords:
            if node.func.id == "_refused" and keyword.arg == "code":
                yield ast.literal_eval(keyword.value)


def test_every_code_is_explained_and_no_other() -> None:
    found = {}
    for path in SOURCES.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found[path.relative_to(SOURCES).as_posix()] = set(codes_in(tree))
    assert {name for name, codes in found.items() if None in codes} == set(MADE)
    assert set().union(*found.values(), *MADE.values(), CODES) - {None} == set(explanations())


def test_no_code_has_two_explanations() -> None:
    """One code would mean two things, and the page would have the later one alone."""
    files = (SOURCES / "explanations").glob("*.yaml")
    named = [code for file in files for code in re.findall(r"^([\w-]+):$", file.read_text("utf-8"), re.MULTILINE)]
    assert sorted(named) == sorted(explanations())


@functools.cache
def sections() -> dict[str, str]:
    """The page that `opwright explain --markdown` prints: the text below the heading of each code."""
    out = io.StringIO()
    show_explanations(None, True, out)
    parts = re.split(r"^### (.*)\n", out.getvalue(), flags=re.MULTILINE)
    assert len(set(parts[1::2])) == len(parts[1::2])
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_page_has_a_heading_for_each_code_in_order() -> None:
    assert list(sections()) == list(explanations())
    subjects = {found.subject: None for found in explanations().values()}
    headings = re.findall(r"^## (.*)$", "\n".join(sections().values()), re.MULTILINE)
    assert [next(iter(subjects)), *headings] == list(subjects)  # the first heading is above all sections


@pytest.mark.parametrize("explanation", SHOWN)
def test_examples_of_the_page_hold(explanation: Explanation) -> None:
    """The wrong files, as they are printed, produce the printed text with the code; the right ones produce nothing."""
    section = sections()[explanation.code]
    blocks = re.findall(r"^(Wrong|Right), `(.+?)`:\n\n```\w+\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    wrong = {name: text for title, name, text in blocks if title == "Wrong"}
    right = {name: text for title, name, text in blocks if title == "Right"}
    said = problems_of(wrong, lints=explanation.is_lint)
    assert {problem.code for problem in said} == {explanation.code, *explanation.others}
    printed = re.findall(r"^```text\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    assert printed == ["".join(f"{line.rstrip()}\n" for line in "\n\n".join(each.text for each in said).splitlines())]
    assert f"[{explanation.code}]" in printed[0]
    assert right and problems_of(wrong | right, lints=explanation.is_lint) == ()


def test_what_cannot_be_shown_says_why() -> None:
    """Without an example there is a reason; and no code has both."""
    for found in explanations().values():
        assert bool(found.elsewhere) != bool(found.wrong and found.right), found.code
        assert found.elsewhere is None or found.elsewhere in sections()[found.code]


def test_one_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "unknown-type"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("unknown-type: ")
    assert "    ops.yaml:1:11: error: unknown type specifier 'Tensr' [unknown-type]\n" in shown
    assert shown.endswith("    - func: f(Tensor self) -> Tensor\n")
    assert main(["explain", "unknown-tpye"]) == 1
    assert "did you mean 'unknown-type'?" in capsys.readouterr().err


def test_all_codes(capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each code; a reason in place of an example that there is none of."""
    assert main(["explain"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(explanations())
    assert main(["explain", "large-file"]) == 0
    assert "too long for this page" in capsys.readouterr().out


def test_errors_say_where_more_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command names the first error's code, once a run."""
    monkeypatch.chdir(tmp_path)
    Path("ops.yaml").write_text("- func: mine::f(Tensr self) -> Tensor\n- func: mine::g(Tensor self) -> Tensr\n")
    assert main(["check", "ops.yaml"]) == 1
    assert capsys.readouterr().err.endswith("2 errors\nopwright explain unknown-type says more\n")
