"""Two states of a project compared: what is found, how it is worded, what is served, and what the lock holds."""

from __future__ import annotations

import json
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from opwright_codegen.cli import main
from opwright_codegen.declared.declare import declare
from opwright_codegen.declared.inputs import Inputs
from opwright_codegen.promises.breakages import CODES, Breakage
from opwright_codegen.promises.comparing import compare
from opwright_codegen.promises.states import State
from opwright_codegen.source import Source

pytestmark = pytest.mark.once  # it reads declarations

SETTINGS = '[tool.opwright]\nschemas = ["ops.yaml"]\noutput = "soft_ops"\nnamespace = "demo"\n'
ENTRY = "- func: {}\n  meta: pointwise(self)\n  dispatch: {{CPU: self - {}}}\n"
OLD = ENTRY.format("demo::soft(Tensor self, Scalar lambd=0.5) -> Tensor", "lambd")
NEW = ENTRY.format("demo::soft(Tensor self, Scalar limit=0.5) -> Tensor", "limit")
SERVED = NEW + "  upgrade: {2: self.soft(limit=lambd)}\n"


def state(text: str) -> State:
    inputs = Inputs(Path(), (), namespace="demo")
    return State.of_sets("", declare(inputs, [Source("ops.yaml", text)], binds=False).values())


def found(old: str, new: str) -> list[Breakage]:
    """What of entries with these schemas, or of whole texts, breaks."""
    texts = [text if text.startswith("- ") else f"- func: {text}\n" for text in (old, new)]
    return compare(state(texts[0]), state(texts[1]))


DIFFERENCES = {
    "argument-renamed": ("f(Tensor self, int a) -> Tensor", "f(Tensor self, int b) -> Tensor"),
    "argument-removed": ("f(Tensor self, int a) -> Tensor", "f(Tensor self) -> Tensor"),
    "argument-moved": ("f(int a, int b) -> int", "f(int b, int a) -> int"),
    "argument-required": ("f(int a) -> int", "f(int a, int b) -> int"),
    "argument-type": ("f(Scalar a) -> int", "f(int a) -> int"),
    "argument-count": ("f(int a) -> int", "f(int a, ...) -> int"),
    "keyword-only": ("f(int a, int b) -> int", "f(int a, *, int b) -> int"),
    "default-changed": ("f(int a=1) -> int", "f(int a=2) -> int"),
    "default-removed": ("f(int a=1) -> int", "f(int a) -> int"),
    "result-count": ("f(int a) -> int", "f(int a) -> (int, int)"),
    "result-renamed": ("f(Tensor a) -> Tensor x", "f(Tensor a) -> Tensor y"),
    "result-type": ("f(Tensor a) -> Tensor", "f(Tensor a) -> Tensor?"),
    "alias-changed": ("f(Tensor a) -> Tensor", "f(Tensor(a!) a) -> Tensor"),
    "operator-removed": ("f(int a) -> int", "g(Tensor a) -> Tensor"),
    "operator-renamed": ("f(int a) -> int", "g(int a) -> int"),
    "overload-ahead": (
        "f.two(Tensor self, int a) -> Tensor",
        "- func: f.one(Tensor self, Scalar a) -> Tensor\n- func: f.two(Tensor self, int a) -> Tensor\n",
    ),
    "method-removed": (
        "- func: f(Tensor self) -> Tensor\n  variants: function, method\n",
        "- func: f(Tensor self) -> Tensor\n",
    ),
    "module-changed": ("- func: f(Tensor self) -> Tensor\n", "- func: f(Tensor self) -> Tensor\n  python_module: nn\n"),
    "upgrade-differs": (
        "- func: f(Tensor self, float a) -> Tensor\n",
        "- func: f(Tensor self, Scalar b) -> Tensor\n"
        "  upgrade: {2: {from: 'f(Tensor self, str a) -> Tensor', call: self.f(b=2)}}\n",
    ),
}


def test_each_difference_has_a_code_and_its_categories() -> None:
    for code, (old, new) in DIFFERENCES.items():
        codes = {each.code: each.categories or each.served for each in found(old, new)}
        assert code in codes, code
        assert set(codes[code]) <= set(CODES[code])
        assert found(old, old) == []
    on_samples = {"fake-changed", "value-changed", "call-refused"}
    assert set(CODES) == {*DIFFERENCES, *on_samples}


def test_what_callers_do_not_notice_is_no_difference() -> None:
    for old, new in (
        ("f(int a) -> int", "f(int a, int b=1) -> int"),
        ("f(int a) -> int", "f(Scalar a) -> int"),
        ("f(int a) -> int", "- func: f(int a) -> int\n- func: g(int a) -> int\n"),
        ("f(int a) -> int", "- func: f(int a) -> int\n  doc: Said better.\n"),
    ):
        assert found(old, new) == []


def test_arguments_by_name_alone_may_move_for_calls() -> None:
    assert {each.categories for each in found("f(*, int a, int b) -> int", "f(*, int b, int a) -> int")} == {("GRAPH",)}


def test_upgrades_serve_graphs_and_calls_that_can_be_told() -> None:
    renamed, changed = "f(Tensor self, int a=1) -> Tensor", "f(Tensor self, int b=1) -> Tensor"
    (served,) = found(renamed, f"- func: {changed}\n  upgrade: {{2: self.f(b=a)}}\n")
    assert (served.categories, set(served.served), served.hint) == ((), {"CALL", "GRAPH"}, None)
    line = f"  upgrade: {{2: {{from: '{renamed}', call: self.f(a=a)}}}}\n"
    (default,) = found(renamed, f"- func: f(Tensor self, int a=2) -> Tensor\n{line}")
    assert (default.categories, default.served) == (("CALL",), ("GRAPH",))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(SETTINGS, encoding="utf-8")
    (tmp_path / "ops.yaml").write_text(OLD, encoding="utf-8")
    return tmp_path


def git(*words: str) -> None:
    subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=n@example.org", *words], check=True, stdout=-3)


def test_a_project_against_its_last_tag(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The example of docs/compatibility.md: an argument renamed, told, and served."""
    git("init", "-q")
    assert main(["breaking"]) == 2
    assert "there is no tag to compare with" in capsys.readouterr().err
    git("add", ".")
    git("commit", "-q", "-m", "One.")
    git("tag", "v1.0")
    assert main(["breaking"]) == 0
    assert capsys.readouterr().out == "nothing breaks\n"
    (project / "ops.yaml").write_text(NEW, encoding="utf-8")
    assert main(["breaking"]) == 1
    assert capsys.readouterr().out == (
        "ops.yaml:1:40: breaks CALL, GRAPH: demo::soft: argument 'lambd' is called 'limit' now [argument-renamed]\n"
        "    - func: demo::soft(Tensor self, Scalar limit=0.5) -> Tensor\n"
        "                                           ^^^^^\n"
        "was at git:v1.0:ops.yaml:1:40:\n"
        "    - func: demo::soft(Tensor self, Scalar lambd=0.5) -> Tensor\n"
        "hint: say how the former call is written now: 'upgrade: {2: self.soft(limit=lambd)}'\n\n"
        "breaking: 1 argument-renamed\n"
        "opwright explain argument-renamed says more\n"
    )
    assert main(["breaking", "--format", "json"]) == 1
    (record,) = json.loads(capsys.readouterr().out)["findings"]
    place: dict[str, Any] = {"file": "ops.yaml", "line": 1, "column": 40}
    assert {key: record[key] for key in ("code", "breaks", *place)} == {
        "code": "argument-renamed",
        "breaks": ["CALL", "GRAPH"],
        **place,
    }
    assert record["old"] == place | {"file": "git:v1.0:ops.yaml"}
    assert main(["breaking", "--categories", "ALIAS"]) == 0
    assert main(["breaking", "--categories", "CAL"]) == 2
    assert "did you mean CALL?" in capsys.readouterr().err
    (project / "ops.yaml").write_text(SERVED, encoding="utf-8")
    assert main(["breaking"]) == 0
    assert "nothing breaks, 1 served by upgrades" in capsys.readouterr().out


def test_settings_choose(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "old.yaml").write_text(OLD, encoding="utf-8")
    (project / "ops.yaml").write_text(NEW, encoding="utf-8")
    table = '[tool.opwright.breaking]\nagainst = "old.yaml"\ncategories = ["{}"]\n'
    for category, status in (("GRAPH", 1), ("ALIAS", 0)):
        (project / "pyproject.toml").write_text(SETTINGS + table.format(category), encoding="utf-8")
        assert main(["breaking"]) == status
    (project / "pyproject.toml").write_text(SETTINGS + table.format("GRPH"), encoding="utf-8")
    assert main(["breaking"]) == 2
    assert "did you mean 'GRAPH'?" in capsys.readouterr().err


def test_the_lock_is_held_by_check(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["freeze"]) == 0
    assert main(["freeze"]) == 0
    assert "up to date, 1 operator" in capsys.readouterr().out
    assert main(["check"]) == 0
    (project / "ops.yaml").write_text(NEW, encoding="utf-8")
    assert main(["check"]) == 1
    said = capsys.readouterr().err
    assert "ops.yaml:1:40: error: demo::soft: argument 'lambd' is called 'limit' now, which api.lock.yaml prom" in said
    assert main(["breaking", "api.lock.yaml", "."]) == 1
    (project / "ops.yaml").write_text(SERVED, encoding="utf-8")
    assert main(["check"]) == 0
    assert main(["freeze"]) == 0
    assert (
        (project / "api.lock.yaml")
        .read_text(encoding="utf-8")
        .endswith("- func: 'demo::soft(Tensor self, Scalar limit=0.5) -> Tensor'\n  version: 2\n")
    )
    (project / "api.lock.yaml").write_text("- func: f(\n", encoding="utf-8")
    assert main(["check"]) == 1
    assert "api.lock.yaml:1:" in capsys.readouterr().err


PLANTED = """
- func: demo::same(Tensor self, Scalar lambd=0.5) -> Tensor
  meta: pointwise(self, lambd)
  dispatch: {CPU: %s}
- func: demo::soft(Tensor self, Scalar lambd=0.5) -> Tensor
  meta: pointwise(self, lambd)
  dispatch: {CPU: %s}
- func: demo::half(Tensor self) -> Tensor
  meta: pointwise(self%s)
  dispatch: {CPU: self * %s}
- func: demo::peek(%s self) -> Tensor
  dispatch: {CompositeImplicitAutograd: half(self)}
"""
WAS = PLANTED % ("self - lambd", "self - lambd", "", "2", "Tensor")
IS = PLANTED % ("-lambd + self", "self - 2 * lambd", ', kind="int_to_float"', "2.0", "Tensor(a!)")


def test_wheels_and_what_is_drawn(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Wheels hold no schema files: their packages are read as text, and run for FAKE and VALUE. Each planted change is
    found in its category, and a kernel that was written anew is none."""
    for name, text in (("old.whl", WAS), ("new.whl", IS)):
        (project / "ops.yaml").write_text(text, encoding="utf-8")
        assert main(["generate"]) == 0
        with zipfile.ZipFile(project / name, "w") as wheel:
            for path in (project / "soft_ops").rglob("*.py"):
                wheel.write(path, path.relative_to(project).as_posix())
    assert main(["breaking", "old.whl", "old.whl"]) == 0
    capsys.readouterr()
    everything = ["--categories", "CALL,GRAPH,ALIAS,FAKE,VALUE"]
    assert main(["breaking", "old.whl", "new.whl", *everything, "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    assert {(each["operator"], each["code"]) for each in found if each["breaks"] != ["VALUE"]} == {
        ("demo::peek", "alias-changed"),
        ("demo::half", "fake-changed"),
    }
    values = {each["operator"]: each["message"] for each in found if each["breaks"] == ["VALUE"]}
    assert values["demo::soft"].startswith("values differ: ") and set(values) <= {"demo::soft", "demo::half"}
    assert all(each["hint"] for each in found)
    (project / "none.whl").write_text("no zip", encoding="utf-8")
    for what in ("none.whl", "git:nothing", "nowhere"):
        assert main(["breaking", what, "."]) == 2


VARIANTS = {
    "autogen": ("- func: demo::f(Tensor self, Scalar {0}=0.5, int n=1) -> Tensor\n  autogen: f_, f.out\n", "self"),
    "out alone": ("- func: demo::f(Tensor x, Scalar {0}=0.5, int n=1) -> Tensor\n  autogen: f.out\n", "x"),
    "several": ("- func: demo::f(Tensor x, Scalar {0}=0.5) -> (Tensor a, Tensor b)\n  autogen: f.out\n", "x, x"),
    "overload": ("- func: demo::f.one(Tensor self, int {0}) -> Tensor\n  autogen: f_.one, f.one_out\n", "self"),
    "keyword": ("- func: demo::f(Tensor self, *, Scalar {0}=0.5) -> Tensor\n  autogen: f_, f.out\n", "self"),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_all_commands_agree_on_variants(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A renamed argument breaks, until the line of the hint stands in the entry; with variants that `autogen` makes."""
    entry, results = VARIANTS[name]
    plans = ", ".join(["pointwise(self)"] * (results.count(",") + 1)).replace("self", results.partition(",")[0])
    kernel = ", ".join(f"1 * {each}" for each in results.split(", "))
    text = entry + f"  meta: {plans}\n  dispatch: {{{{CPU: '{kernel}'}}}}\n"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    file = tmp_path / "ops.yaml"

    def statuses() -> list[int]:
        commands = (["breaking", "api.lock.yaml", "."], ["check"], ["generate"], ["breaking", "old", "."])
        return [main(command) for command in commands]

    file.write_text(text.format("lambd"))
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "ops.yaml").write_text(text.format("lambd"))
    assert main(["freeze"]) == 0 and statuses() == [0, 0, 0, 0]
    file.write_text(text.format("limit"))
    capsys.readouterr()
    assert statuses() == [1, 1, 1, 1]
    shown = capsys.readouterr()
    hints = [line for line in (shown.out + shown.err).splitlines() if line.startswith("hint: say")]
    (line,) = {hint.partition("'")[2].partition("'")[0] for hint in hints}
    file.write_text(f"{text.format('limit')}  {line}\n")
    assert statuses() == [0, 0, 0, 0], file.read_text()
    assert main(["freeze"]) == 0 and statuses() == [0, 0, 0, 0]
