"""A new operator changes the lines that are about it, `where.py`, and no other."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from opwright_codegen.cli import main

ROOT = Path(__file__).parents[2]
NEW = """
- func: cbrt(Tensor self) -> Tensor
  tags: pointwise
  variants: function, method
  autogen: cbrt_, cbrt.out
  meta: pointwise(self, kind="int_to_float")
  dispatch:
    CPU, CUDA: xp.cbrt(self)
"""


def files(folder: Path, schemas: str) -> dict[str, list[str]]:
    """The files generated from our pointwise operators, as lines."""
    folder.mkdir()
    (folder / "pointwise.yaml").write_text(schemas)
    tags = ["--tags", str(ROOT / "schemas" / "tags.yaml"), "--kernels", "opwright_kernels"]
    tags += ["--namespace", "aten"]
    assert main(["generate", str(folder / "pointwise.yaml"), "-o", str(folder / "out"), *tags]) == 0
    out = folder / "out"
    return {path.relative_to(out).as_posix(): path.read_text().splitlines() for path in out.rglob("*.py*")}


def test_a_new_operator_changes_no_line_of_others(tmp_path: Path) -> None:
    text = "".join((ROOT / "schemas" / name).read_text(encoding="utf-8") for name in ("pointwise.yaml", "unary.yaml"))
    place = text.index("\n- func: exp(")
    before, after = files(tmp_path / "a", text), files(tmp_path / "b", text[:place] + NEW + text[place:])
    assert before.keys() == after.keys() and len(before) > 15
    index = "ops/__init__.py"  # its names stand many to a line: none of them goes
    words = [set(re.findall(r"\w+", "".join(lines.pop(index)))) for lines in (before, after)]
    assert words[0] < words[1]
    for name, lines in before.items():
        changes = [line for line in difflib.ndiff(lines, after[name]) if line[0] in "+-"] if name != "where.py" else []
        assert not [line for line in changes if line[0] == "-"], name
        is_about_it = name not in ("where.py", "py.typed") and (
            not name.endswith("__init__.py") or name.startswith("ops/")
        )
        assert not is_about_it or name.startswith(("composites/", "autocast/")) or changes, name
    gone = {line.partition(":")[0] for line in before["where.py"]} - {
        line.partition(":")[0] for line in after["where.py"]
    }
    assert not gone
