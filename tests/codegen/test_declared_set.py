"""The declared set: its JSON is of the published format for every project of ours, and two runs give equal bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from opwright_codegen.cli import main
from opwright_codegen.declared.document import FORMAT

jsonschema = pytest.importorskip("jsonschema")
pytestmark = pytest.mark.once  # text in, text out

ROOT = Path(__file__).parents[2]
SCHEMA: dict[str, Any] = json.loads((files("opwright_codegen.declared") / "declared.schema.json").read_text("utf-8"))
CHECKER = jsonschema.Draft202012Validator(SCHEMA)
# Folders with settings of ours, or with an ops.yaml alone.
PROJECTS = sorted(
    {path.parent for path in ROOT.glob("examples/*/pyproject.toml") if "tool.opwright" in path.read_text("utf-8")}
    | {path.parent for path in ROOT.glob("examples/*/ops.yaml")}
)


def declared(folder: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the document of a project, which is valid."""
    monkeypatch.chdir(folder)
    words = [] if (folder / "pyproject.toml").is_file() else ["ops.yaml", "--no-strict-kernels"]
    assert main(["generate", *words, "--declared", str(target)]) == 0
    found: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
    assert [(list(each.absolute_path), each.message) for each in CHECKER.iter_errors(found)] == []
    return found


def test_the_format_is_a_json_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["properties"]["format"]["const"] == FORMAT


@pytest.mark.parametrize("folder", PROJECTS, ids=lambda path: path.name)
def test_examples_are_of_the_format(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = declared(folder, tmp_path / "declared.json", monkeypatch)
    assert found["operators"]
    assert all(each["location"]["file"] in found["sources"] for each in found["operators"])


def test_aten_is_of_the_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = declared(ROOT, tmp_path / "aten.json", monkeypatch)
    operators = {each["name"]: each for each in found["operators"]}
    assert found["namespace"] == "aten" and found["package"] == "opwright_aten" and len(operators) > 2000
    add = operators["aten::add.Tensor"]
    assert add["schema"] == "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    assert [each["name"] for each in add["arguments"] if each["is_keyword"]] == ["alpha"]
    assert add["group"] == ["aten::add_.Tensor", "aten::add.out"]
    assert {each["key"]: each["kind"] for each in add["kernels"]} == {
        "CPU": "formula",
        "CUDA": "formula",
        "Meta": "meta",
    }
    assert add["location"]["file"] == "schemas/pointwise.yaml" and add["location"]["column"] == 3
    (entry,) = add["derivatives"]
    assert [each["formula"] for each in entry["gradients"]] == ["grad", "scaled(grad, alpha.conjugate())"]
    total = operators["aten::sum.dim_IntList"]
    (gradient,) = total["derivatives"][0]["gradients"]
    assert {"of": "self", "fact": "self.shape"} in gradient["saved_inputs"]
    assert total["dimensions"]["rule"]["keywords"]["blocks"]["keywords"]["combines"] == "sum"
    assert total["kernels"][0]["calls"] == "opwright_kernels.reducing.reductions:total"


def test_two_runs_give_equal_bytes(tmp_path: Path) -> None:
    texts = []
    for seed, zone in (("1", "UTC"), ("2", "Asia/Tokyo")):
        target = tmp_path / f"{seed}.json"
        subprocess.run(
            [sys.executable, "-m", "opwright_codegen.cli", "generate", "--declared", str(target)],
            cwd=ROOT / "examples" / "expressions",
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": zone},
            check=True,
        )
        texts.append(target.read_bytes())
    assert texts[0] == texts[1]
    document = json.loads(texts[0])
    assert (json.dumps(document, indent=1) + "\n").encode() == texts[0]


def test_each_of_several_namespaces_has_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    entry = "- func: {}::f(Tensor x) -> Tensor\n  meta: like(x)\n  dispatch: {{CPU: xp.sin(x)}}\n"
    (tmp_path / "ops.yaml").write_text(entry.format("one") + entry.format("two"), encoding="utf-8")
    assert main(["generate", "ops.yaml", "--declared", "all.json"]) == 0
    for name in ("one", "two"):
        found = json.loads((tmp_path / f"all.{name}.json").read_text(encoding="utf-8"))
        assert found["namespace"] == name and [each["name"] for each in found["operators"]] == [f"{name}::f"]
    assert main(["generate", "ops.yaml", "--declared", "-"]) == 2
    assert "--declared - prints one namespace" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.one.json", "all.two.json", "ops.yaml"]
