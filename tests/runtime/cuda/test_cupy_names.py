"""Every name that kernels take from their array module is one of CuPy's, with parameters for what they pass."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cupy", reason="needs CuPy: pip install --group cuda-tests")

from cupy_stand_in.module import cupy  # CuPy itself, also where the stand-in serves

ROOT = Path(__file__).parents[3]
FILES = [
    *sorted((ROOT / "generated/opwright_aten/kernels_cuda").glob("*.py")),
    *sorted((ROOT / "runtime").rglob("*.py")),
]
ARRAY_MODULES = ("xp", "cp", "cupy")
OF_UFUNCS = {"out", "dtype", "casting"}


@dataclass(frozen=True)
class Use:
    """Where a name of the array module stands, and the call that it is the function of."""

    name: str
    where: str
    call: ast.Call | None


def uses() -> Iterator[Use]:
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        calls = {id(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
        inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and id(node) not in inner:
                root, _, name = ast.unparse(node).partition(".")
                if root in ARRAY_MODULES and name.replace(".", "_").isidentifier():
                    yield Use(name, f"{path.relative_to(ROOT)}:{node.lineno}", calls.get(id(node)))


USES = list(uses())


def found(name: str) -> Any:
    """What CuPy has under a dotted name. Raises AttributeError."""
    value: Any = cupy
    for part in name.split("."):
        value = getattr(value, part)
    return value


def misfit(use: Use) -> str | None:
    """Why a call's arguments do not fit the parameters of CuPy's function; None where they do."""
    function, call = found(use.name), use.call
    if call is None or isinstance(function, type):
        return None
    keywords = {each.arg: None for each in call.keywords if each.arg is not None}
    if isinstance(function, cupy.ufunc):
        return f"no parameter {sorted(keywords.keys() - OF_UFUNCS)}" if keywords.keys() - OF_UFUNCS else None
    try:
        signature = inspect.signature(function)
    except ValueError:
        return None
    is_open = any(isinstance(each, ast.Starred) for each in call.args) or len(keywords) < len(call.keywords)
    try:
        (signature.bind_partial if is_open else signature.bind)(*([] if is_open else call.args), **keywords)
    except TypeError as error:
        return str(error)
    return None


def test_names_are_found_where_there_are_many() -> None:
    assert len({use.name for use in USES}) > 140 and len(USES) > 1000


@pytest.mark.parametrize("text", ["xp.take(a, i, mode='wrap')", "xp.add(a, b, where=c)", "xp.sort(a, 0, 'a', 1)"])
def test_calls_that_numpy_alone_takes_are_found(text: str) -> None:
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    assert misfit(Use(ast.unparse(call.func).removeprefix("xp."), "here", call)) is not None


def test_cupy_has_every_name() -> None:
    missing = [f"{use.where}: {use.name}" for use in USES if not all(_has(use.name))]
    assert missing == []


def _has(name: str) -> Iterator[bool]:
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        parent = found(".".join(parts[: count - 1])) if count > 1 else cupy
        yield hasattr(parent, parts[count - 1])


def test_cupy_takes_what_is_passed() -> None:
    wrong = [f"{use.where}: {use.name}: {why}" for use in USES if (why := misfit(use)) is not None]
    assert wrong == []
