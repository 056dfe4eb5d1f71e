"""Every kind of token is read in time that grows with its length: the longest take moments, where the square of it
would be minutes."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from itertools import product

import pytest

from opwright_codegen.errors import SchemaError, SchemaErrors
from opwright_codegen.formula import parser as formulas
from opwright_codegen.read.files import read_text
from opwright_codegen.schema import parser as schemas
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.source import Source, Span, Text

UNITS = ("9", " ", "a", "a.", "1.", "[", "\\", "é")
ENDS = ("", "x", "True) -> Tensor", "]")
BEGINNINGS = {
    "schemas": (
        "f", "f(Tensor a, bool x=", "f(Tensor a, complex x=1+", "f(int[", "f(Tensor", "f(Tensor(", "f(str s='",
        "f(Device d=cuda:", "f(Tensor a) -> (Tensor",
    ),
    "formulas": ("", "'", "1", "0x"),
    "files": ("- func: ", "- func: '", "- func: f(Tensor a) -> Tensor\n  ", "- func: &"),
}  # fmt: skip
LENGTHS = {"schemas": schemas.MAX_LENGTH, "formulas": formulas.MAX_LENGTH, "files": 40_000}


def read(kind: str, text: str) -> None:
    """Read a text, which may be refused."""
    with suppress(SchemaError, SchemaErrors):
        if kind == "schemas":
            FunctionSchema.parse(text)
        elif kind == "formulas":
            formulas.parse(Text(text, Span(Source("ops.yaml", text), 0, len(text))))
        else:
            read_text(text)


@pytest.mark.once
@pytest.mark.parametrize("kind", BEGINNINGS)
def test_long_tokens(kind: str) -> None:
    subprocess.run([sys.executable, __file__, kind], check=True, timeout=60)


if __name__ == "__main__":
    chosen = sys.argv[1]
    for beginning, unit, end in product(BEGINNINGS[chosen], UNITS, ENDS):
        read(chosen, beginning + unit * ((LENGTHS[chosen] - 50) // len(unit)) + end)
