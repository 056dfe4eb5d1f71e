"""Mutated schema files: whatever comes in, an OperatorSet or SchemaErrors comes out."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opwright_codegen.errors import SchemaErrors
from opwright_codegen.read.entry_keys import KEYS
from opwright_codegen.read.files import read, read_text
from opwright_codegen.read.model import OperatorSet

pytestmark = pytest.mark.once  # text in, text out

VALID = """\
- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  variants: function, method
  tags: [core, pointwise]
  dispatch:
    CPU, CUDA: xp.add(self, other)
    Meta: "meta_add"
  meta: pointwise(self, other)
  autogen: add_.Tensor, add.out
- func: f(Tensor self, int dim=0) -> Tensor
  structured_delegate: f.out
- func: f.out(Tensor self, int dim=0, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  precomputed:
  - dim -> int d, int n
  ufunc_inner_loop:
    Generic: f (AllAndComplex, Half)
- func: mine::norm(Tensor self, Tensor(a!) mean) -> (Tensor, Tensor)
  python_module: nn
  device_guard: False
  dispatch: {CPU: norm}
  autogen: norm.out, norm_functional
"""

PIECES = [
    *KEYS, "&a ", "*a", "!!python/object:os.system ", "!x ", "<<: ", "- ", ": ", "? ", "[", "]", "{", "}",
    "|\n", ">\n", "'", '"', "\\", "\n", "\n  ", "\t", "#", "%YAML 1.1", "---", "...", "~", "null", "on", "True", ",",
    "::", "()", " -> ", "(a!)", "Tensor", "Tensor(a -> *)", "__import__", "class", "1e999", "9" * 30,
    "\0", "\ufeff", "\u2028", "\ud800", "\U0001d4b3",
]  # fmt: skip
EDITS = st.lists(
    st.tuples(
        st.integers(0, len(VALID)),
        st.integers(0, 40),
        st.sampled_from(PIECES) | st.text(max_size=5) | st.integers(0, len(VALID)),
    ),
    min_size=1,
    max_size=6,
)


def apply(edits: list[tuple[int, int, str | int]]) -> str:
    """Cut, and put in a piece or a copy of what stands elsewhere."""
    text = VALID
    for at, cut, piece in edits:
        inserted = VALID[piece : piece + cut] if isinstance(piece, int) else piece
        text = text[:at] + inserted + text[at + (cut if len(inserted) % 2 else 0) :]
    return text


def check(text: str) -> None:
    try:
        operators = read_text(text)
    except SchemaErrors as errors:
        assert errors.errors
        assert str(errors)
        for error in errors.errors:
            assert error.span is not None
            assert 0 <= error.span.start <= len(text) or error.span.source.text != text
    else:
        assert isinstance(operators, OperatorSet)
        for operator in operators.operators.values():
            assert operator.location.text
            for name, value in operator.spans.values():
                assert name.text and value.text


def test_the_text_that_is_mutated_is_valid() -> None:
    assert len(read_text(VALID).operators) == 8


@given(EDITS)
@settings(max_examples=300, deadline=None)
def test_edits(edits: list[tuple[int, int, str | int]]) -> None:
    check(apply(edits))


@given(st.text())
@settings(deadline=None)
def test_any_text(text: str) -> None:
    check(text)


@given(
    st.lists(
        st.sampled_from(["- ", "a", ": ", "\n", " ", "[", "]", "{", "}", ",", "&a ", "*a ", "!t ", "'", "|", "? "])
    )
)
@settings(max_examples=300, deadline=None)
def test_any_yaml(pieces: list[str]) -> None:
    check("".join(pieces))


@given(st.binary())
@settings(deadline=None)
def test_any_bytes(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ops.yaml"
        path.write_bytes(data)
        try:
            assert read([path]).operators == {}
        except SchemaErrors as errors:
            assert str(errors)
