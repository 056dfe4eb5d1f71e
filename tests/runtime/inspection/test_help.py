"""`help` of every operator and public function: a text, shapes, errors; signatures with types and true defaults."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from types import FunctionType

import pytest

import opwright
from opwright_core.dispatch.call.keywords import NOT_GIVEN
from opwright_core.dispatch.call.operator import Operator, find_operator
from opwright_core.texts import docstrings
from opwright_core.texts.result_texts import result_text
from opwright_gate.subjects import names_of

pytestmark = pytest.mark.once  # neither mode matters

MODULES = (
    "", "fft", "linalg", "special", "nn", "nn.functional", "func", "library", "autograd", "autograd.functional",
    "autograd.forward_ad", "autograd.graph", "signal.windows", "random", "testing", "dispatch", "overrides", "masked",
    "amp", "fx", "utils.checkpoint", "utils.flop_counter", "array_api", "fake", "cuda", "backends",
)  # fmt: skip
SHAPES = re.compile(
    r"shape|dimension|\bdims?\b|element|size|broadcast|matri|vector|row|column|scalar|number|tensor|view|image|batch|"
    r"list|length|position|diagonal|Results by",
    re.IGNORECASE,
)
REDUCTIONS = {"None": 0, "Mean": 1, "Sum": 2}
ERRORS = re.compile(r"raise|error|refuse", re.IGNORECASE)


def operators() -> Iterator[Operator]:
    assert opwright.ops.aten.add
    yield from map(find_operator, names_of("aten"))


def test_every_operator_has_text_shapes_and_errors() -> None:
    without = []
    for operator in operators():
        text = f"{operator.doc} {result_text(operator)}"
        if not operator.doc or not SHAPES.search(text) or not ERRORS.search(text):
            without.append(operator.name)
    assert without == []
    assert "Results by `pointwise(self, other, alpha=alpha)`: an elementwise operator" in opwright.add.__doc__
    assert "Raises RuntimeError where sizes or dtypes do not fit" in " ".join(opwright.add.__doc__.split())
    assert "those of the operators that it calls" in opwright.softmax.__doc__


def test_a_docstring_is_made_once_until_a_kernel_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """`vmap(op)` and other transforms take it over, often for one call: parsing rules each time took 500 µs."""
    library = opwright.library.Library("kept_text", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    twice = opwright.ops.kept_text.twice.default
    made = []
    described = docstrings._described
    monkeypatch.setattr(docstrings, "_described", lambda *args, **words: made.append(0) or described(*args, **words))
    for _ in range(3):
        assert "No kernel yet" in twice.__doc__
    library.impl("twice", lambda x: x + x, "CPU")
    for _ in range(3):
        assert "Kernels for CPU" in opwright.vmap(twice).__doc__
    assert len(made) == 2


def functions() -> Iterator[tuple[str, FunctionType]]:
    """Every public function that is none of an operator, once."""
    seen = set()
    for name in MODULES:
        module = importlib.import_module(f"opwright.{name}".rstrip("."))
        for public in getattr(module, "__all__", None) or [each for each in dir(module) if not each.startswith("_")]:
            found = getattr(module, public)
            if isinstance(found, FunctionType) and found not in seen and "_aten" not in found.__module__:
                seen.add(found)
                yield f"{name}.{public}".lstrip("."), found


def test_every_public_function_has_a_text_that_says_which_errors_it_raises() -> None:
    count, without, silent, untyped = 0, [], [], []
    for name, function in functions():
        text = inspect.getdoc(function) or ""
        count += 1
        if len(text.split()) < 3 or not text.endswith((".", "`", ")", ":")):
            without.append(name)
        if _raises(inspect.unwrap(function)) and not ERRORS.search(text) and "must" not in text:
            silent.append(name)
        parameters = inspect.signature(function).parameters.values()
        if any(each.annotation is each.empty for each in parameters):
            untyped.append(name)
    assert count > 400
    assert (without, silent, untyped) == ([], [], [])


def _raises(function: FunctionType) -> bool:
    """Whether a function itself has a line that raises an error, and no function in it."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError, TypeError):
        return False  # made by another one
    return any(isinstance(node, ast.Raise) and node.exc is not None for node in ast.walk(tree))


def test_signatures_have_types_and_the_defaults_that_the_schema_says() -> None:
    """The generator's parser reads the declaration; the runtime has its own."""
    compared = 0
    for number, operator in enumerate(operators()):
        shown = list(inspect.signature(operator).parameters.values())
        assert [each.name.rstrip("_") for each in shown] == [each.name.rstrip("_") for each in operator.arguments]
        assert all(each.annotation is not each.empty for each in shown)
        if number % 6:
            continue
        for parameter, argument in zip(shown, operator.schema.arguments, strict=True):
            if argument.default is None:
                assert parameter.default in (parameter.empty, NOT_GIVEN), operator.name
                continue
            compared += 1
            wanted, found = argument.default.value, parameter.default
            if hasattr(wanted, "name"):  # PyTorch's word for a number, or for a layout
                same = found == REDUCTIONS.get(wanted.name) or str(found).rpartition(".")[2] == wanted.name
            else:
                same = found == wanted and type(found) is type(wanted)
            assert same, (operator.name, parameter)
    assert compared > 200
