"""Definitions that are run again: modules that are reloaded, cells of a notebook that are edited."""

from __future__ import annotations

import importlib
import linecache
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import opwright
from opwright.errors import RegistrationError

# (The functions of a module hold it, and so its operators: each test has a namespace of its own.)
MODULE = """
import opwright
from opwright.library import custom_op


@custom_op("{namespace}::scale", mutates_args=())
def scale(x: opwright.Tensor{more}) -> opwright.Tensor:
    return x * {factor}


scale.register_autograd(lambda ctx, grad: grad * {factor})


@scale.register_fake
def _(x, *more):
    return opwright.empty_like(x)
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # two versions within a second would look like one
    yield tmp_path / "module_of_operators.py"
    sys.modules.pop("module_of_operators", None)


def written(source: Path, factor: int, more: str = "") -> None:
    source.write_text(MODULE.format(namespace=source.parent.name, factor=factor, more=more))
    importlib.invalidate_caches()


def loaded(module: ModuleType | None = None) -> ModuleType:
    if module is None:
        return importlib.import_module("module_of_operators")
    with pytest.warns(UserWarning, match="::scale is defined anew"):
        return importlib.reload(module)


def check(op: Any, factor: int) -> None:
    x = opwright.ones(2, requires_grad=True)
    op(x).sum().backward()
    assert op(x).tolist() == [factor] * 2 and x.grad is not None and x.grad.tolist() == [factor] * 2
    assert op(opwright.ones(3, device="meta")).shape == (3,)


def test_a_module_that_is_reloaded(source: Path) -> None:
    written(source, 2)
    module = loaded()
    first = module.scale
    check(first, 2)
    written(source, 3)
    second = loaded(module).scale
    assert second is not first
    for op in (first, second, getattr(opwright.ops, source.parent.name).scale):
        check(op, 3)
    written(source, 4, ", shift: float = 0.0")  # another schema
    check(loaded(module).scale, 4)
    assert "shift" in str(getattr(opwright.ops, source.parent.name).scale.default.schema)


def test_a_module_that_fails_while_it_is_reloaded(source: Path) -> None:
    written(source, 2)
    module = loaded()
    source.write_text("raise ValueError('half written')")
    with pytest.raises(ValueError, match="half written"):
        importlib.reload(module)
    check(module.scale, 2)


def test_the_same_name_in_another_module(source: Path) -> None:
    written(source, 2)
    module = loaded()
    other = source.with_name("another_module_of_operators.py")
    other.write_text(source.read_text())
    with pytest.raises(RegistrationError, match=r"(?s)module_of_operators\.py:\d+, then by .*another_module"):
        importlib.import_module("another_module_of_operators")
    check(module.scale, 2)


def run_cell(notebook: dict[str, Any], number: int, text: str) -> None:
    """As IPython does: each run of a cell is a file of its own, whose lines tracebacks find."""
    file = f"/tmp/ipykernel_1/{number}.py"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    exec(compile(text, file, "exec"), notebook)


def cell(factor: int) -> str:
    return MODULE.format(namespace="cell", factor=factor, more="")


def test_a_cell_of_a_notebook() -> None:
    notebook: dict[str, Any] = {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run_cell(notebook, 1, cell(2))
    first = notebook["scale"]
    check(first, 2)
    for number, factor in ((2, 2), (3, 5), (4, 7)):  # run again; edited; edited again
        with pytest.warns(UserWarning, match="cell::scale is defined anew"):
            run_cell(notebook, number, cell(factor))
        for op in (first, notebook["scale"], opwright.ops.cell.scale):
            check(op, factor)
    with pytest.raises(SyntaxError):
        run_cell(notebook, 5, "def (")
    check(first, 7)
