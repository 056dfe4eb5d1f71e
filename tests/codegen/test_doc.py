"""`doc:` of an entry: in the docstrings of functions and methods, in stubs for editors, and in `help`."""

from __future__ import annotations

import ast
import inspect
import pydoc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pipeline import generate, imported, new_namespace

import opwright
from opwright_codegen.cli import main
from opwright_codegen.views.layout import LINE, docstring
from opwright_core.core import fast

SCHEMAS = """
- func: NS::twice(Tensor self) -> Tensor
  doc: |
    Return the double.

    Of "each" element, `\\n` included.
  variants: function, method
  meta: like(self)
  dispatch:
    CPU: xp.add(self, self)
  autogen: twice.out
- func: NS::twice.by(Tensor self, *, int by) -> Tensor
  doc: Return the double, `by` times.
  meta: like(self)
  dispatch:
    CPU: self * 2 ** by
- func: NS::plain(Tensor self) -> Tensor
  meta: like(self)
  dispatch:
    CPU: xp.positive(self)
"""
RESULTS = """
    Results by `like(self)`: a result of the shape of `self`, as `empty_like`
    makes it: dense inputs keep their strides, others TensorIterator's order.
    Arguments that do not fit the declaration raise ArgumentError.
"""
TWICE = 'Return the double.\n\nOf "each" element, `\\n` included.'


def test_docs_of_functions_methods_and_operators(tmp_path: Path) -> None:
    namespace = new_namespace()
    run = generate(tmp_path, SCHEMAS.replace("NS", namespace))
    with imported(run) as package:
        assert package is not None
        packet = getattr(opwright.ops, namespace).twice
        plain = getattr(opwright.ops, namespace).plain
        by = "Return the double, `by` times."
        schemas = [f"{operator.name}{operator.declaration}" for operator in packet.operators.values()]
        served = "Kernels for CPU, Meta; declared at ops.yaml:"
        results = inspect.cleandoc(RESULTS)
        parts = (TWICE, by, results, "\n".join(schemas), f"{served}2")
        assert packet.__doc__ == "\n\n".join(parts)
        brief = [part for part in parts if part != results]  # what Python alone makes at import
        assert packet.stub.__doc__ == "\n\n".join(parts if fast is not None else brief)
        assert packet.default.doc == packet.out.doc == TWICE
        assert packet.by.__doc__ == f"{by}\n\n{results}\n\n{schemas[1]}\n\n{served}12"
        assert plain.default.doc == ""
        assert plain.__doc__.startswith(f"{results}\n\n{namespace}::plain(Tensor self) -> Tensor\n\n{served}")
        for shown in (packet, packet.default, packet.stub):
            assert "Return the double." in pydoc.plain(pydoc.render_doc(shown))
        assert type(packet).__doc__.startswith("A packet, `aten::add`")  # the classes keep their own
        assert '"""Return the double.' in (run.package / "ops" / "ops.pyi").read_text()
        assert '"""Return the double.' in (run.package / "methods.pyi").read_text()


FAMILY = """
- func: NS::soft(Tensor self) -> Tensor
  meta: like(self)
  dispatch:
    CPU: xp.tanh(self)
- func: NS::soft.by(Tensor self, float by) -> Tensor
  doc: Return the tangent, hyperbolic.
  meta: like(self)
  dispatch:
    CPU: xp.tanh(self * by)
- func: NS::soft_(Tensor(a!) self) -> Tensor(a!)
  dispatch:
    CPU: xp.tanh(self, out=self)
- func: NS::row(Tensor(a) self) -> Tensor(a)
  doc: |
    Return the first row.

    It is a view.
  dispatch:
    CompositeImplicitAutograd: self[0]
- func: NS::row_copy(Tensor self) -> Tensor
  tags: view_copy
  dispatch:
    CompositeExplicitAutogradNonFunctional: self.clone()[0]
"""


def test_a_text_holds_for_overloads_and_variants_that_have_none(tmp_path: Path) -> None:
    namespace = new_namespace()
    run = generate(tmp_path, FAMILY.replace("NS", namespace))
    with imported(run):
        ops = getattr(opwright.ops, namespace)
        assert ops.soft.default.doc == ops.soft.by.doc == "Return the tangent, hyperbolic."
        assert ops.soft.__doc__.count("hyperbolic") == 1
        assert ops.soft_.default.doc == f"{ops.soft.by.doc} The result is written to `self`, which is returned."
        assert ops.row_copy.default.doc == f"{ops.row.default.doc}\n\nThe result is a copy, not a view."
        assert '"""' not in (run.package / "ops" / "ops.py").read_text().split("\n", 3)[3]  # they are data, in docs.py


def test_show_has_the_doc(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ops.yaml").write_text(SCHEMAS.replace("NS", "own"))
    assert main(["show", "twice.by", "ops.yaml"]) == 0
    assert "  doc       Return the double, `by` times.\n" in capsys.readouterr().out


@given(st.text(st.characters(exclude_categories=("C", "Z")) | st.sampled_from(" \n\"\\'`"), max_size=300))
def test_any_text_is_the_docstring_it_was(text: str) -> None:
    """Lines are broken at spaces alone, quotes and backslashes survive."""
    text = inspect.cleandoc(text).strip()
    found = docstring(text, 4)
    assert (found == "") == (text == "")
    if text:
        assert ast.literal_eval(found).split() == text.split()
        assert all(len(line) <= LINE or " " not in line.strip() for line in found.split("\n"))
