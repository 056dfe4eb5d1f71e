"""Schema files in canonical form: `opwright fmt`. What a file says stays what it is, and so do its comments."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
import seeds

from opwright_codegen.cli import main
from opwright_codegen.errors import SchemaError
from opwright_codegen.output.canonical import canonical
from opwright_codegen.source import Source

pytestmark = pytest.mark.once  # the runtime is not loaded

ROOT = Path(__file__).parents[2]
BEFORE = """\


# What the file is about.
-   dispatch:
        CPU,CUDA: xp.add(self, other)   # on both
        # a second kernel
        Meta: none
    # how it is written
    func: mine::add.Tensor(Tensor self,Tensor other,*,   Scalar alpha = 1)->Tensor
    variants: function,method   # both
    tags: [core,pointwise]

    doc: >-
          Return the sum,
            of two.
- func: "mine::sub(Tensor self) -> Tensor"
  autogen: sub_,sub.out
# Behind the second.

#
- {func: mine::f(Tensor self) -> Tensor}
# the end
"""
AFTER = """\
# What the file is about.
# how it is written
- func: mine::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  doc: >-
    Return the sum,
      of two.
  tags: [core, pointwise]
  variants: function, method  # both
  dispatch:
    CPU,CUDA: xp.add(self, other)   # on both
    # a second kernel
    Meta: none

- func: "mine::sub(Tensor self) -> Tensor"
  autogen: sub_, sub.out

# Behind the second.

#
- {func: mine::f(Tensor self) -> Tensor}

# the end
"""
DERIVATIVES = """\
- self: grad
  result: auto_linear
  output_differentiability: [True,  False]
  name: f(Tensor self) -> (Tensor, Tensor)
"""
PIECES = (
    " ", "\n", "\n\n", "#", " # c\n", "\n  # own line\n", "\n# top\n", ":", ": ", "'", '"', "|\n", ">-\n    text\n",
    "[", "]", "{", "}", ",", "- ", "\t", "a: b\n", "\r\n", "\n    - a\n    - b\n", "    CPU: x   # why\n", "é",
    "- {func: g(Tensor a) -> Tensor}\n", "\n-   func: h(Tensor  self)->Tensor\n    variants: function,method\n",
    "\n  tags:\n  - core\n", "|2\n      x\n     y\n", "|+\n    x\n\n\n", "null", "? a\n",
)  # fmt: skip


def formatted(text: str) -> str:
    return canonical(Source("ops.yaml", text))


def test_what_it_makes() -> None:
    assert formatted(BEFORE) == AFTER
    assert formatted(AFTER) == AFTER
    assert formatted(AFTER.replace("\n", "\r\n")) == AFTER
    lines = formatted(DERIVATIVES).splitlines()
    assert [line.split(":")[0].strip("- ") for line in lines] == ["name", "output_differentiability", "self", "result"]
    assert lines[1].endswith("[True, False]")


def test_our_files_say_what_they_said_and_are_laid_out_once() -> None:
    """(It raises for a file that would say something else.)"""
    paths = [path for path in ROOT.glob("schemas/*.yaml") if path.stat().st_size < 8_000]
    for path in (*paths, *ROOT.glob("examples/**/*.yaml"), *ROOT.glob("tests/codegen/cases/*/*.yaml")):
        if path.stem != "tags":
            text = path.read_text(encoding="utf-8")
            once = formatted(text)
            assert formatted(once) == once and once.count("#") == text.count("#"), path


def test_files_that_somebody_damaged() -> None:
    """Each is laid out, once and for all, or refused with a reason; no other error leaves."""
    draw = seeds.numpy_generator(1).integers
    texts = [path.read_text(encoding="utf-8")[:1500] for path in sorted(ROOT.glob("examples/*/ops.yaml"))] + [BEFORE]
    laid_out = 0
    for _ in range(200):
        text = texts[draw(len(texts))]
        for _ in range(draw(1, 4)):
            at = draw(len(text) + 1)
            text = text[:at] + PIECES[draw(len(PIECES))] + text[at + (0, 0, 0, 1, 5)[draw(5)] :]
        try:
            once = formatted(text)
        except SchemaError:
            continue
        laid_out += 1
        assert formatted(once) == once, text
    assert laid_out > 20


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "ops.yaml"
    file.write_text(BEFORE)
    assert main(["fmt", "ops.yaml", "--check"]) == 1
    assert capsys.readouterr().out == "would change ops.yaml\n1 of 1 files would change\n"
    assert main(["fmt", "*.yaml", "--diff"]) == 0
    assert "\n+- func: mine::add.Tensor(Tensor self, Tensor other, *, Scalar" in capsys.readouterr().out
    assert file.read_text() == BEFORE
    assert main(["fmt", "ops.yaml"]) == 0 and file.read_text() == AFTER
    assert main(["fmt", "ops.yaml", "--check"]) == 0
    assert capsys.readouterr().out.endswith("\n0 of 1 files would change\n")
    monkeypatch.setattr(sys, "stdin", io.StringIO(BEFORE))
    assert main(["fmt", "-"]) == 0 and capsys.readouterr().out == AFTER
    (tmp_path / "bad.yaml").write_text("- func: [")
    file.write_text(BEFORE)
    assert main(["fmt", "bad.yaml", "ops.yaml"]) == 1
    assert "bad.yaml:1:10: error:" in capsys.readouterr().err and file.read_text() == BEFORE
    assert main(["fmt"]) == 2
