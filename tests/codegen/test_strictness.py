"""What PyTorch takes in a definition at run time, as projects wrote it, and a schema file does not: one line each."""

from __future__ import annotations

import pytest

from opwright_codegen.errors import SchemaErrors
from opwright_codegen.read.files import read_text

# The schema, the code of the error, the text under the caret, and what would be right.
TAKEN = [
    (
        "f(Tensor input, Tensor shape, Tensor shape) -> Tensor",
        "duplicate-argument", "shape", "call this one shape2, or otherwise",
    ),
    (
        "f(Tensor x, Tensor? bias=None, int[] stride, int groups=1) -> Tensor",
        "default-order", "stride", "give it a default, or put it before, or after '*'",
    ),
    (
        "f(Tensor x, ScalarType dtype=None) -> Tensor",
        "default-type", "None", "a value that may be None has the type ScalarType?",
    ),
    (
        "f(Tensor x, int mask=0x2FFFFFF) -> Tensor",
        "schema-syntax", "0x2FFFFFF", "write 50331647: of an int written so, PyTorch reads 0",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "code", "under", "hint"), TAKEN, ids=[code for _, code, *_ in TAKEN])
def test_a_file_is_stricter_and_says_so_in_a_line(schema: str, code: str, under: str, hint: str) -> None:
    with pytest.raises(SchemaErrors) as caught:
        read_text(f"- func: mine::{schema}\n  dispatch: {{CPU: f}}\n")
    (error,) = caught.value.errors
    assert (error.code, error.hint) == (code, hint)
    assert error.span is not None
    assert error.span.text == under


@pytest.mark.oracle
@pytest.mark.parametrize("schema", [schema for schema, *_ in TAKEN], ids=[code for _, code, *_ in TAKEN])
def test_pytorch_takes_it_at_run_time(schema: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
    library = torch.library.Library("opwright_strictness", "FRAGMENT")
    library.define(schema.replace("f(", f"f{len(schema)}(", 1))
