"""Schema files and the modules that they give: names of every kind, overloads in two files, an older layout."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from opwright_codegen.cli import main
from opwright_codegen.documents.generated import places_in
from opwright_codegen.output.write import MANIFEST

ENTRY = "- func: parts_{0}::{1}\n  dispatch:\n    CPU: xp.add(self, {2})\n"


def project(folder: Path, files: dict[str, str], number: int) -> list[str]:
    """Generate from schema files, each with the operators that its text names; return the parts."""
    for path, names in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        declared = [f"{name}(Tensor self{', Tensor other' * ('.' in name)}) -> Tensor" for name in names.split()]
        entries = [ENTRY.format(number, schema, place) for place, schema in enumerate(declared)]
        (folder / path).write_text("".join(entries), encoding="utf-8")
    arguments = [str(folder / path) for path in files]
    assert main(["generate", *arguments, "-o", str(folder / f"parts_{number}_ops")]) == 0
    modules = (folder / f"parts_{number}_ops" / "ops").glob("*.py")
    return sorted(path.stem for path in modules if path.stem != "__init__")


@pytest.mark.parametrize(
    ("files", "parts"),
    [
        ({"one.yaml": "f"}, ["one"]),
        ({"a/ops.yaml": "f", "b/ops.yaml": "g"}, ["a_ops", "b_ops"]),
        ({"a/ops.yaml": "f", "b/ops.yaml": "g", "b_ops.yaml": "h"}, ["a_ops", "b_ops", "b_ops_"]),
        ({"gelu.yaml": "gelu relu"}, ["gelu_ops"]),
        ({"my-ops 2.yaml": "f"}, ["my_ops_2"]),
        ({"2d.yaml": "f", "class.yaml": "g", "é.yaml": "h"}, ["_2d", "class_", "schema"]),
        ({"Ops.yaml": "f", "x/ops.yaml": "g"}, ["Ops", "ops_"]),
        ({"x.y.yaml": "f", "__init__.yaml": "g", "declare.yaml": "h", "builtins.yaml": "i"},
         ["__init___", "builtins", "declare", "x_y"]),
    ],
)  # fmt: skip
def test_every_file_gives_a_part_that_can_be_imported(tmp_path: Path, files: dict[str, str], parts: list[str]) -> None:
    assert project(tmp_path, files, 1) == parts
    names = [name for text in files.values() for name in text.split()]
    program = (
        f"import opwright, parts_1_ops.ops as ops; x = opwright.tensor([1.0])\n"
        f"print([getattr(ops, name)(x).item() for name in {names}], *[getattr(ops, part).__name__ for part in {parts}])"
    )
    run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    values = [1.0 + place for text in files.values() for place, _ in enumerate(text.split())]
    assert run.stdout.split("]")[0] + "]" == str(values)
    assert run.stdout.split("]")[1].split() == [f"parts_1_ops.ops.{part}" for part in parts]


def test_overloads_in_two_files_stand_together(tmp_path: Path) -> None:
    assert project(tmp_path, {"first.yaml": "f", "second.yaml": "f.again g"}, 2) == ["first", "second"]
    first = (tmp_path / "parts_2_ops" / "ops" / "first.py").read_text()
    assert "f.again(" in first and "f.again(" in (tmp_path / "parts_2_ops" / "kernels_cpu" / "first.py").read_text()
    assert "f.again" not in (tmp_path / "parts_2_ops" / "ops" / "second.py").read_text()
    assert places_in((tmp_path / "parts_2_ops" / "where.py").read_text())["f.again"] == "second.yaml:1"


def test_files_of_an_older_layout_are_removed_and_no_others(tmp_path: Path) -> None:
    folder = tmp_path / "parts_3_ops"
    project(tmp_path, {"one.yaml": "f"}, 3)
    older = {"ops.py": "# ours\n", "kernels_cpu.py": "# ours\n"}
    for name, text in {**older, "fakes.py": "# a user's\n"}.items():
        (folder / name).write_text(text)
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["outputs"] += older
    (folder / MANIFEST).write_text(json.dumps(manifest))
    project(tmp_path, {"one.yaml": "f g"}, 3)
    assert not any((folder / name).exists() for name in older)
    assert (folder / "fakes.py").exists() and (folder / "ops" / "one.py").exists()
