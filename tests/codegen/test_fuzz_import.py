"""Mutated sources and backends' files: whatever comes in, findings or an error of ours comes out, in time that grows
with the length of the file."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

import pytest
import seeds
from hypothesis import given
from hypothesis import strategies as st
from test_import_backend import FORMS
from test_import_cpp import PYTHON, VLLM

from opwright_codegen.errors import SchemaErrors
from opwright_codegen.importing.backends import read_backend
from opwright_codegen.importing.cpp import read_cpp
from opwright_codegen.importing.found import Findings
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.schema.names import DISPATCH_KEYS

CPP = (
    VLLM
    + """\
#define KEY CUDA
#define HIDDEN m.def("f() -> ()");
TORCH_LIBRARY_IMPL(aten, KEY, m) { m.impl("abs", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(a::b))); }
void f(torch::Library& m) { m.def(torch::schema("n::g(Tensor x) -> Tensor"), &g); m.class_<A>("A").def("b", c); }
static auto r = torch::RegisterOperators().op("old::f(Tensor x) -> Tensor", [](int a) { return a; });
#if 0
#else
#endif
"""
)
TEXTS = {"ops.cpp": CPP, "ops.py": PYTHON, **{f"{form}.yaml": text for form, text in FORMS.items()}}
PIECES = [
    '"', "'", "(", ")", "{", "}", "[", "]", "<", ">", ",", ";", ":", "::", ".", "->", "#", "\\", "\n", "\\\n", "//",
    "/*", "*/", 'R"x(', ')x"', "#if 0\n", "#endif\n", "#define A A\n", "TORCH_LIBRARY(m, m) {", "m.def(", "m.impl(",
    "KEY", "Operator(", "schema(", "f'{x}'", "lib.define(", "@", "lambda: ", "- ", "&a ", "*a", "!t ", "null", "func: ",
    "custom: ", "\0", "\ufeff", "\ud800", "é", "9" * 20,
]  # fmt: skip


def check(name: str, text: str) -> None:
    """Read a file; what is found is sound, and what is wrong is said."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            found = read_backend(path) if path.suffix == ".yaml" else read_cpp([path])
        except SchemaErrors as errors:
            assert errors.errors and str(errors)
        else:
            check_findings(found)


def check_findings(found: Findings) -> None:
    names = [str(FunctionSchema.parse(each.schema).name) for each in found.operators]
    assert len(set(names)) == len(names)
    assert all("::" in name for name in names)
    for each in found.operators:
        assert each.where.rpartition(":")[2].isdigit()
        assert each.dispatch.keys() <= DISPATCH_KEYS
        assert all(kernel.replace("::", "").isidentifier() for kernel in each.dispatch.values())
    assert all(each.problem and each.where for each in found.holes)


def mutated(text: str, draw: random.Random) -> str:
    """Cut, put in pieces, and move parts about."""
    for _ in range(draw.randint(1, 6)):
        at, size = draw.randrange(len(text) + 1), draw.randint(0, 40)
        other = draw.randrange(len(text) + 1)
        piece = draw.choice([draw.choice(PIECES), text[other : other + size], ""])
        text = text[:at] + piece + text[at + draw.choice([0, 0, size]) :]
    return text


@pytest.mark.once  # texts in, messages out
@pytest.mark.parametrize("name", TEXTS)
def test_edits(name: str) -> None:
    draw = seeds.generator(f"edits of {name}")
    check(name, TEXTS[name])
    for _ in range(100):
        check(name, mutated(TEXTS[name], draw))


@pytest.mark.once  # texts in, messages out
@pytest.mark.parametrize("name", TEXTS)
def test_files_that_end_anywhere(name: str) -> None:
    for at in range(0, len(TEXTS[name]), 7):
        check(name, TEXTS[name][:at])


@pytest.mark.once  # texts in, messages out
@given(st.text())
def test_any_text(text: str) -> None:
    for name in ("ops.cpp", "ops.py", "ops.yaml"):
        check(name, text)


@pytest.mark.once  # texts in, messages out
@given(st.lists(st.sampled_from(PIECES)))
def test_any_pieces(pieces: list[str]) -> None:
    for name in ("ops.cpp", "ops.py", "ops.yaml"):
        check(name, "".join(pieces))


LENGTH = 40_000
UNITS = {
    "ops.cpp": (
        "(", "m.def(", "m.def(m, ", "{", '"', "'", '"" ', "\\\n", "/*", "//\n", "#if 0\n", "#define A B\n", "#define a",
        "TORCH_LIBRARY(a, m) {", "TORCH_LIBRARY(", "m.def(schema(", 'R"(', "u", "9", "::", "a::", "m.def(x);",
        'm.def("f() -> ()");', "TORCH_LIBRARY(a, m) { m.x; ", "Library& m", "\r", " ", "\u00e9",
    ),
    "ops.py": ("(", "a.", "a+", "'a'+", "f(", "x = y\n", "lib.define('f() -> ()');", "-", "[", '"', "\\\n", "@a\n"),
    "ops.yaml": ("- ", "[", "{", "a: b\n", "- op: abs\n", "- func: abs\n  kernels: []\n", "'", "a", "&a ", "? ", "-\n"),
}  # fmt: skip
BEGINNINGS = {
    "ops.cpp": ("TORCH_LIBRARY(a, m) {\n", 'TORCH_LIBRARY(a, m) { m.def("f() -> ()", ', 'm.def("'),
    "ops.py": ("", "lib = torch.library.Library('a', 'DEF')\n", "torch.library.define("),
    "ops.yaml": ("", "backend: XLA\nsupported:\n", "all_version: [a]\nofficial:\n", "abs: {guid: a}\n", "- op: "),
}


@pytest.mark.once
@pytest.mark.parametrize("name", UNITS)
def test_long_files(name: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, __file__, name], check=True, timeout=240, env=environment)


if __name__ == "__main__":
    chosen = sys.argv[1]
    for beginning, unit in product(BEGINNINGS[chosen], UNITS[chosen]):
        check(chosen, beginning + unit * (LENGTH // len(unit)))
