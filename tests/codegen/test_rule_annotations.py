"""What a rule of one's own says that it returns: any way to write Plan, nothing at all, and what is surely none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pipeline import generate, imported, new_namespace

import opwright
from opwright import rules
from opwright.errors import ContractError
from opwright_codegen.declared.declare import declare
from opwright_codegen.declared.inputs import Inputs
from opwright_codegen.errors import SchemaErrors
from opwright_codegen.kernels.modules import KernelModules
from opwright_core.plans.plan import Plan

ONE = "- func: f(Tensor self) -> Tensor\n  meta: shapes:rule\n  dispatch:\n    CPU: xp.sin(self)\n"
TWO = ONE.replace("-> Tensor", "-> (Tensor, Tensor)").replace("xp.sin(self)", "xp.sin(self), xp.cos(self)")
CALLED = ONE.replace("shapes:rule", "rule(self)")

ONE_PLAN = [
    ("from opwright_core.plans import plan", "plan.Plan"),
    ("from opwright_core.plans import plan as p", "p.Plan"),
    ("from opwright import rules", "rules.Plan"),
    ("import opwright", "opwright_core.rules.Plan"),
    ("import opwright.rules", "opwright_core.rules.Plan"),
    ("import opwright_core.plans.plan as p", "p.Plan"),
    ("from opwright.rules import Plan as P", "P"),
    ("from opwright.rules import Plan", "'Plan'"),
    ("from __future__ import annotations\nfrom opwright.rules import Plan", "Plan"),
    ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from opwright.rules import Plan as P", "'P'"),
    ("from opwright.rules import Plan\nResult = Plan", "Result"),
    ("import typing as t\nfrom opwright import rules", "t.Annotated[rules.Plan, 'row-major']"),
    ("from opwright_core.plans.plan import PlanApart", "PlanApart"),
    ("from opwright import rules\nclass Mine(rules.Plan): ...", "Mine"),
]
UNSAID = [("", ""), ("import typing", "typing.Any"), ("from typing import Any as A", "A"), ("", "object")]
UNKNOWN = [("", "T"), ("Loop = Loop", "Loop"), ("from elsewhere import Result", "Result")]
TWO_PLANS = [
    ("from opwright import rules", "tuple[rules.Plan, rules.Plan]"),
    ("import typing\nfrom opwright.rules import Plan as P", "typing.Tuple[P, 'P']"),
    ("from opwright.rules import Plan\nPair = tuple[Plan, Plan]", "Pair"),
    ("from opwright.rules import Plan", "list[Plan]"),
    ("from collections import abc\nfrom opwright import rules", "abc.Sequence[rules.Plan]"),
    ("from opwright import rules", "tuple[rules.Plan, ...]"),
]


def problems(folder: Path, entry: str, imports: str, returns: str) -> list[str]:
    """What is wrong with an operator whose rule says that it `returns` something."""
    arrow = f" -> {returns}" if returns else ""
    folder.joinpath("ops.yaml").write_text(entry)
    folder.joinpath("shapes.py").write_text(f"{imports}\n\ndef rule(self){arrow}:\n    ...\n")
    try:
        declare(Inputs(folder, (folder / "ops.yaml",), namespace="aten", rules=("opwright.rules", "shapes")))
    except SchemaErrors as raised:
        return [f"{error.message}; {error.hint}" for error in raised.errors]
    return []


@pytest.mark.parametrize("imports, returns", [*ONE_PLAN, *UNSAID])
def test_one_plan_may_be_written_in_any_way(imports: str, returns: str, tmp_path: Path) -> None:
    assert problems(tmp_path, ONE, imports, returns) == []
    assert problems(tmp_path, CALLED, imports, returns) == []


@pytest.mark.parametrize("imports, returns", [*TWO_PLANS, *UNSAID, *UNKNOWN])
def test_a_plan_for_each_result_too(imports: str, returns: str, tmp_path: Path) -> None:
    assert problems(tmp_path, TWO, imports, returns) == []


@pytest.mark.parametrize(
    "entry, imports, returns, said",
    [
        (ONE, "", "int", "rule() gives int, and one plan for each formula is needed; a rule returns a Plan"),
        (ONE, "import numpy as np", "np.ndarray", "gives np.ndarray, and one plan"),
        (ONE, "", "None", "gives None, and one plan"),
        (ONE, "from opwright import rules", "tuple[rules.Plan, rules.Plan]", "gives 2 plans, and one plan"),
        (ONE, "from opwright import rules", "list[rules.Plan]", "gives any number of plans, and one plan"),
        (TWO, "from opwright import rules", "rules.Plan", "gives one plan, and a plan for each of its 2 results"),
        (TWO, "from opwright.rules import Plan as P", "tuple[P, P, P]", "gives 3 plans, and a plan for each of its 2"),
    ],
)
def test_what_is_surely_wrong_is_said(entry: str, imports: str, returns: str, said: str, tmp_path: Path) -> None:
    (found,) = problems(tmp_path, entry, imports, returns)
    assert said in found


def test_operands_are_found_by_what_annotations_mean(tmp_path: Path) -> None:
    imports = "import typing as t\nfrom opwright_core.arrays import annotations as a\n"
    tmp_path.joinpath("shapes.py").write_text(f"{imports}def rule(x: t.Any, dim: a.Dim, y: 'a.Along'): ...\n")
    rule = KernelModules([], [tmp_path], of="rule").find_path("shapes", "rule")
    assert [(each.annotation, each.role) for each in rule.signature] == [("Any", ""), ("int", "Dim"), ("Any", "Along")]


def test_what_leaves_it_open_is_checked_when_it_runs(tmp_path: Path) -> None:
    space = new_namespace()
    entry = f"- func: {space}::f(Tensor x) -> Tensor\n  meta: hostile_kernels:size\n  dispatch: {{CPU: x + 1}}\n"
    rule = "from typing import Any\ndef size(x: Any) -> Any:\n    return 5\n"
    with imported(generate(tmp_path, entry, kernels=rule)):
        said = r"the rule for CPU, `hostile_kernels\w*\.size\(x\.array\)`, must return one Plan, but returned int 5"
        with pytest.raises(ContractError, match=said):
            getattr(opwright.ops, space).f(np.ones(2))


def test_the_class_of_plans_is_a_name_of_the_rules() -> None:
    assert rules.Plan is Plan
    assert "Plan" in dir(rules)
