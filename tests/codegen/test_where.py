"""What a new operator changes in generated files, and where operators are declared."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path

import pytest

from opwright_aten.where import PLACES
from opwright_codegen.cli import main
from opwright_codegen.documents.generated import places_in

ROOT = Path(__file__).parents[2]
CONFIG = """
[tool.opwright]
schemas = ["one.yaml", "two.yaml"]
derivatives = "derivatives.yaml"
output = "out"
"""
ENTRY = """
- func: grown::{0}(Tensor self) -> Tensor
  tags: pointwise
  meta: pointwise(self, kind="int_to_float")
  dispatch:
    CPU, CUDA: xp.{0}(self)
  variants: function, method
  autogen: {0}.out, {0}_
"""
DERIVATIVE = """
- name: grown::{0}(Tensor self) -> Tensor
  self: grad * self.{0}()
  result: auto_element_wise
"""
FILES = {"one.yaml": ["sin", "cos", "cosh", "exp", "tan"], "two.yaml": ["log", "log2", "sqrt"]}
UNRELATED = 5  # lines of other operators that a new one may change: hashes of its files, names beside its name


def generated(folder: Path, files: dict[str, list[str]]) -> dict[str, list[str]]:
    """The files generated from operators of these names, as lines."""
    folder.mkdir()
    for file, names in files.items():
        (folder / file).write_text("# Operators.\n" + "".join(map(ENTRY.format, names)), encoding="utf-8")
    derivatives = [DERIVATIVE.format(name) for names in files.values() for name in names]
    (folder / "derivatives.yaml").write_text("".join(derivatives), encoding="utf-8")
    (folder / "pyproject.toml").write_text(CONFIG, encoding="utf-8")
    assert main(["generate", "--config", str(folder / "pyproject.toml")]) == 0
    out = folder / "out"
    paths = [path for path in sorted(out.rglob("*.*")) if path.parent.name != "__pycache__"]
    return {path.relative_to(out).as_posix(): path.read_text(encoding="utf-8").splitlines() for path in paths}


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    return generated(tmp_path_factory.mktemp("before") / "project", FILES)


def changes(old: list[str], new: list[str]) -> Iterator[tuple[int, int]]:
    """How many lines each change takes out and puts in."""
    for kind, start, end, first, last in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            yield end - start, last - first


@pytest.mark.parametrize("place", [0, 3, 5])
def test_a_new_operator_changes_few_lines_of_others(before: dict[str, list[str]], tmp_path: Path, place: int) -> None:
    """First, in the middle and last in its file: it has an in-place and an out variant, and a gradient."""
    names = FILES["one.yaml"]
    after = generated(tmp_path / "project", FILES | {"one.yaml": [*names[:place], "cbrt", *names[place:]]})
    assert before.keys() == after.keys() and len(before) > 20
    found = {name: list(changes(lines, after[name])) for name, lines in before.items()}
    changed = {name: sum(gone for gone, _ in parts) for name, parts in found.items() if parts}
    assert sum(changed.values()) <= UNRELATED, {name: count for name, count in changed.items() if count}
    assert {f"{folder}/one.py" for folder in ("ops", "kernels_cpu", "metas", "autograd", "forward")} < changed.keys()
    assert not [name for name in changed if "two" in name]
    for folder in ("ops", "kernels_cpu", "kernels_cuda", "metas"):
        blocks = [added for _, added in found[f"{folder}/one.py"] if added > 2]
        assert len(blocks) == 1, f"{folder}: variants stand beside their operator"


def test_every_place_is_the_entry_that_declares_the_operator() -> None:
    assert len(PLACES) > 1600
    texts = {
        name: (ROOT / name).read_text(encoding="utf-8").splitlines() for name in {_file(at) for at in PLACES.values()}
    }
    for name, where in PLACES.items():
        file, _, line = where.rpartition(":")
        below = texts[file][int(line) - 1 :]
        end = next((at for at, text in enumerate(below[1:], 1) if text.startswith("- func:")), len(below))
        own = name.removeprefix("aten::")
        assert below[0].startswith("- func: "), where
        assert below[0].startswith(f"- func: {own}(") or f"{own}," in f"{' '.join(below[1:end])},".replace(" ", ","), (
            where
        )


def _file(where: str) -> str:
    return where.rpartition(":")[0]


def test_the_generator_reads_the_places_of_a_package() -> None:
    text = (ROOT / "generated" / "opwright_aten" / "where.py").read_text(encoding="utf-8")
    assert {f"aten::{name}": where for name, where in places_in(text).items()} == PLACES
