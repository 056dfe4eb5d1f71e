"""Our own derivatives.yaml, broken in any way: what comes is derivatives that are Python, or errors with positions."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opwright_codegen.commands.config import read_config
from opwright_codegen.derivatives.derivative import DerivativeSet
from opwright_codegen.derivatives.files import read_derivatives_text
from opwright_codegen.errors import SchemaErrors
from opwright_codegen.formula.emit import emit
from opwright_codegen.kernels.modules import KernelModules
from opwright_codegen.read.files import read
from opwright_codegen.read.model import OperatorSet

ROOT = Path(__file__).parents[2]
PIECES = [
    "grad", "grads", "grads[0]", "grads[7]", "grads[-1]", "grad_", "grad_values", "grad_input_mask", "result", "self_t",
    "self_p", "self", "other", "non_differentiable", "auto_linear", "auto_element_wise", 'not_implemented("no")',
    "output_differentiability", "[True]", '["self is None"]', "dispatch", "Default", "AutogradCPU", "AutogradX", "name",
    "lambda x: x", "self.sizes()", "self.shape[dim]", "self.data", "__import__('os')", "self.__class__", "x := 1", "*x",
    "**x", "f'{x}'", "a if b", "[i for i in x]", "1e999", "9" * 5000, "(" * 300, ")", "[", "{", "}", "'", '"', "#", "|",
    ">", "&a", "*a", "!!python/object:os.system", "? ", ": ", "- ", ",", "\n", "\n  ", "\n    ", "\t", "\0", "\u202e",
    "\ud7ff", "%", "@", "=", "==", "->", "Tensor", "()", "-> ()", "true", "~", "",
]  # fmt: skip


@cache
def operators() -> OperatorSet:
    config = read_config(ROOT / "pyproject.toml")
    assert config is not None
    return read(config.schemas, config.tags)


@cache
def functions() -> KernelModules:
    return KernelModules(["opwright_kernels.gradients"], [ROOT / "runtime"], of="backward function")


@cache
def entries() -> list[str]:
    text = (ROOT / "schemas" / "derivatives.yaml").read_text(encoding="utf-8")
    return [f"- name: {entry.strip()}\n" for entry in text.split("\n- name: ")[1:]]


def assert_python(found: DerivativeSet) -> None:
    """Every formula is an expression of Python."""
    for by_key in found.entries.values():
        for entry in by_key.values():
            for each in (*entry.derivatives, *entry.forward):
                assert each.formula is not None
                ast.parse(emit(each.formula), mode="eval")


def check(text: str) -> None:
    try:
        assert_python(read_derivatives_text(text, operators(), functions(), "broken.yaml"))
    except SchemaErrors as caught:
        for error in caught.errors:
            assert error.span is not None, error
            assert f"broken.yaml:{error.span.line}:{error.span.column}: error: " in str(caught)


@st.composite
def broken(draw: st.DrawFn) -> str:
    """Some entries, in which pieces were put in the place of others."""
    text = "".join(draw(st.lists(st.sampled_from(entries()), min_size=1, max_size=3)))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 12)))
        text = text[:start] + draw(st.sampled_from(PIECES)) + text[end:]
    return text


@pytest.mark.once  # texts in, messages out
@given(broken())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_broken_entries(text: str) -> None:
    check(text)


@st.composite
def with_other_formulas(draw: st.DrawFn) -> str:
    """An entry with pieces of formulas in the place of its own."""
    head, *lines = draw(st.sampled_from(entries())).strip().split("\n")
    formula = st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join)
    changed = [line.partition(": ")[0] + ": " + draw(formula) if draw(st.booleans()) else line for line in lines]
    return "\n".join([head, *changed]) + "\n"


@pytest.mark.once  # texts in, messages out
@given(with_other_formulas())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_other_formulas(text: str) -> None:
    check(text)


@given(st.sampled_from(range(400)), st.sampled_from(["self", "other", "weight", "input", "tensors", "result", "dim"]))
@settings(max_examples=100, deadline=None)
def test_lines_of_one_entry_below_another(at: int, name: str) -> None:
    first, second = entries()[at], entries()[at + 1]
    lines = second.split("\n", 1)[1]
    check(f"{first}  {name}: grad\n{lines}")
