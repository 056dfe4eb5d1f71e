"""Mutants: the changes of each kind, the package of them, what the gate notices, and what changes nothing."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Collection
from pathlib import Path

import pytest

import opwright
from opwright_codegen.commands.mutate import mutate_words
from opwright_codegen.declared.declare import declare
from opwright_codegen.declared.inputs import Inputs
from opwright_codegen.declared.model import DeclaredSet
from opwright_codegen.errors import SchemaErrors, UsageError
from opwright_codegen.mutants.formula_changes import changes_of_formula
from opwright_codegen.mutants.making import choose, mutants_of
from opwright_codegen.mutants.schema_changes import changes_of_schema
from opwright_codegen.schema.model import FunctionSchema
from opwright_gate.mutants.outcomes import Measure, Mutant, Result, percent
from opwright_gate.mutants.results import report_of, write_measure
from opwright_gate.reports import FORMATS, write_report

ROOT = Path(__file__).parents[2]
SCHEMAS = """\
- func: mine::blend(Tensor self, Tensor other, *, float by=0.5) -> Tensor
  variants: function
  doc: A mean.
  meta: pointwise(self, other)
  dispatch:
    CPU: self + (other - self) * by
  autogen: blend.out

- func: mine::clear_(Tensor(a!) self) -> Tensor(a!)
  dispatch:
    CPU: xp.multiply(self, 0)
  meta: pointwise(self)
"""
DERIVATIVES = """\
- name: mine::blend(Tensor self, Tensor other, *, float by=0.5) -> Tensor
  self: grad * (1 - by)
  other: grad * by
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "ops.yaml").write_text(SCHEMAS)
    (tmp_path / "derivatives.yaml").write_text(DERIVATIVES)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.opwright]\nschemas = ["ops.yaml"]\nderivatives = "derivatives.yaml"\noutput = "mine_ops"\n'
    )
    return tmp_path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a - b", {("sign flipped", "a + b"), ("term dropped", "a"), ("operands swapped", "b - a")}),
        ("a * b", {("factor dropped", "a")}),
        ("-a", {("sign flipped", "a")}),
        ("f(a, b)", {("operands swapped", "f(b, a)")}),
        ("x.sum()", {("call dropped", "x")}),
        ("f(a, k=True)", {("keyword dropped", "f(a)"), ("call dropped", "a"), ("constant changed", "f(a, k=False)")}),
        ("a if x < 2 else b", {
            ("branches swapped", "b if x < 2 else a"),
            ("bound changed", "a if x <= 2 else b"),
            ("constant changed", "a if x < 3 else b"),
        }),
        ("not python", set()),
        ("(" * 500, set()),
        ("a" * 5000, set()),
        ("\0", set()),
    ],
)  # fmt: skip
def test_changes_of_formulas(text: str, expected: set[tuple[str, str]]) -> None:
    assert {(each.kind, each.text) for each in changes_of_formula(text)} == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f(Tensor(a!) x) -> Tensor(a!)", {("write dropped", "f(Tensor x) -> Tensor")}),
        ("f(Tensor(a) x) -> Tensor(a)", {("alias dropped", "f(Tensor x) -> Tensor")}),
        ("f(Tensor x) -> Tensor", {
            ("write added", "f(Tensor(w!) x) -> Tensor"), ("alias added", "f(Tensor(v) x) -> Tensor(v)"),
        }),
        ("f(int? n=None) -> int", {("None dropped", "f(int n) -> int")}),
        ("f(int n=3, bool b=True, float x=0.5, str s='a') -> int", {
            ("default changed", "f(int n=4, bool b=True, float x=0.5, str s='a') -> int"),
            ("default changed", "f(int n=3, bool b=False, float x=0.5, str s='a') -> int"),
            ("default changed", "f(int n=3, bool b=True, float x=1.5, str s='a') -> int"),
        }),
    ],
)  # fmt: skip
def test_changes_of_schemas(text: str, expected: set[tuple[str, str]]) -> None:
    assert {(each.kind, each.text) for each in changes_of_schema(FunctionSchema.parse(text))} == expected


def declared(schemas: Path, derivatives: Path | None = None) -> Collection[DeclaredSet]:
    inputs = Inputs(schemas.parent, (schemas,), namespace="aten", derivatives=derivatives)
    return declare(inputs, binds=False).values()


def test_entries_keep_all_but_what_is_changed(project: Path) -> None:
    sets = declared(project / "ops.yaml", project / "derivatives.yaml")
    made = list(mutants_of(sets))
    control, *others = [each for each in made if each.operator == "mine::blend"]
    assert control.is_control and not any(each.is_control for each in others)
    lines = [line for line in control.entry.splitlines() if line.strip()]
    assert lines == [
        '- func: "mutants::m0_0_blend(Tensor self, Tensor other, *, float by=0.5) -> Tensor"',
        "  meta: pointwise(self, other)",
        "  dispatch:",
        "    CPU: self + (other - self) * by",
    ]
    changed = {(each.where, each.kind): each for each in others}
    assert changed["gradient", "sign flipped"].after == "grad * (1 + by)"
    assert '  self: "grad * (1 + by)"' in changed["gradient", "sign flipped"].derivative
    assert '    CPU: "self + (other + self) * by"' in changed["dispatch", "sign flipped"].entry
    assert {each.place for each in others} == {f"{project / 'ops.yaml'}:1"}
    assert list(mutants_of(sets, ["clear_"])) == list(mutants_of(sets, ["mine::clear_"])) != []


def test_a_choice_has_every_class_and_every_control(project: Path) -> None:
    made = list(mutants_of(declared(project / "ops.yaml")))
    chosen = choose(made, 6, 0)
    assert len([each for each in chosen if not each.is_control]) == 6
    assert len({(each.where, each.kind) for each in chosen if not each.is_control}) == 6
    assert {each.operator for each in chosen} == {each.operator for each in chosen if each.is_control}
    assert choose(made, 6, 0) == chosen and choose(made, 10**6, 1) == made


def test_all_of_atens_mutants_are_entries() -> None:
    """Every change gives a text that is read as one entry with its names."""
    made = list(mutants_of(declared(ROOT / "schemas" / "activations.yaml")))
    assert len(made) > 100
    assert len({each.name for each in made}) == len(made)


def run(project: Path, *words: str) -> tuple[int, str]:
    out = project / "measure.json"
    command = ["--mutate", "--config", str(project / "pyproject.toml"), "--format", "json", "-o", str(out), *words]
    return mutate_words(command), out.read_text(encoding="utf-8")


def test_the_gate_notices_changes(project: Path) -> None:
    """Gradients are noticed beside values, defaults beside nothing; what changes nothing is counted apart."""
    (project / "ops.yaml").write_text(
        "- func: mine::third(Tensor self, bool flag=False) -> Tensor\n  meta: pointwise(self)\n"
        "  dispatch:\n    CPU: xp.divide(self, 3.0)\n"
    )
    (project / "derivatives.yaml").write_text(
        "- name: mine::third(Tensor self, bool flag=False) -> Tensor\n  self: (grad + 0) / 3.0\n"
        "  result: self_t / 3.0\n"
    )
    (project / "meaning.py").write_text(
        "from opwright_gate.references import reference\nreference('mine::third', lambda x, *_: x / 3.0)\n"
    )
    status, shown = run(project, "--fail-under", "99", "-j", "2", "--load", "meaning")
    assert status == 1
    found = {each["call"]: each for each in json.loads(shown)["verdicts"]}
    assert {call: each["cause"] for call, each in found.items() if call.startswith("(grad + 0) / 3.0")} == {
        "(grad + 0) / 3.0 → grad + 0": "noticed",
        "(grad + 0) / 3.0 → 3.0 / (grad + 0)": "noticed",
        "(grad + 0) / 3.0 → (grad - 0) / 3.0": "equivalent",
        "(grad + 0) / 3.0 → grad / 3.0": "equivalent",
        "(grad + 0) / 3.0 → (grad + 0) / 4.0": "noticed",
        "(grad + 0) / 3.0 → (grad + 1) / 3.0": "noticed",
    }
    assert found["(grad + 0) / 3.0 → grad + 0"]["why"].startswith("gradients-are-right: ")
    assert found["xp.divide(self, 3.0) → xp.divide(self, 4.0)"]["why"].startswith("values-are-right: ")
    tangents = {call: each for call, each in found.items() if call.startswith("self_t / 3.0")}
    assert len(tangents) == 3 and {each["cause"] for each in tangents.values()} == {"noticed"}
    assert tangents["self_t / 3.0 → self_t"]["why"].startswith("derivatives-agree: the tangent of result 0 is")
    default = next(each for call, each in found.items() if call.endswith("bool flag=True) -> Tensor"))
    assert (default["verdict"], default["cause"]) == ("broken", "unnoticed")


def test_operators_that_are_not_there(project: Path) -> None:
    with pytest.raises(UsageError, match="there is nothing to change"):
        run(project, "nothing")


def test_wrong_schemas_are_errors_of_the_schemas(project: Path) -> None:
    (project / "ops.yaml").write_text("- func: mine::f(Tensr x) -> Tensor\n")
    with pytest.raises(SchemaErrors) as found:
        run(project)
    assert "ops.yaml:1:17: error: unknown type specifier 'Tensr'" in str(found.value)


MEASURE = Measure(
    (
        Result(Mutant("f", "m0_1_f", "sign flipped", "gradient", "a", "\x1b[2J-a", "o.yaml:1"), "noticed", "p", "why"),
        Result(Mutant("f", "m0_2_f", "sign flipped", "gradient", "a", "[red]", "o.yaml:1"), "unnoticed"),
        Result(Mutant("f", "m0_3_f", "write added", "func", "a", "b", "o.yaml:1"), "refused", "opwright check", "x"),
        Result(Mutant("f", "m0_4_f", "write added", "func", "a", "b", "o.yaml:1"), "equivalent"),
    ),
    {"g": "it draws nothing"},
    "mine",
    1.0,
    0,
    {},
)


def test_a_measure_is_shown() -> None:
    stream = io.StringIO()
    write_measure(MEASURE, stream)
    shown = stream.getvalue()
    assert "f  gradient: sign flipped  o.yaml:1\n  - a\n  + [red]\n" in shown and "\x1b" not in shown
    rows = [line.split() for line in shown.splitlines() if re.search(r": .* [0-9]+ +[0-9]+$", line)]
    assert [row[-6:] for row in rows[:2]] == [["0", "1", "0", "1", "0", "100"], ["1", "0", "1", "0", "0", "50"]]
    assert "noticed by: p 1, opwright check 1\nleft out: 1 operators (g)\n" in shown
    assert percent(MEASURE.counts) == pytest.approx(200 / 3) and percent({}) is None


@pytest.mark.parametrize("format", FORMATS)
def test_a_measure_is_a_report_in_each_format(format: str) -> None:
    stream = io.StringIO()
    report = report_of(MEASURE)
    assert [each.verdict for each in report.verdicts] == ["held", "broken", "held", "undecided"]
    write_report(report, format, stream)
    assert "mutant-gradient-sign-flipped" in stream.getvalue()


def test_operators_that_do_the_same() -> None:
    from opwright_gate.mutants.sameness import differ

    assert opwright.arcsin is not None
    assert differ("aten::arcsin", "aten::asin", 0) == ""
    assert differ("aten::sin", "aten::cos", 0).startswith("results of (")
    assert differ("aten::relu", "aten::relu_", 0).startswith("results of (")
    assert differ("aten::sin", "aten::cos", 0, "gradient").startswith("gradients of (")
    assert differ("aten::floor", "aten::ceil", 0, "gradient") == ""
