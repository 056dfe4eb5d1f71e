"""The types of the compiled core that stand for a Python function, and `configure`, by which Python tells it things."""

from __future__ import annotations

import ast
import gc
import re
import sys
import weakref
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opwright
import opwright.autograd.regenerating  # (it tells the core of views)
from opwright_core.core import fast

pytestmark = pytest.mark.skipif(fast is None, reason=opwright.dispatch.core().reason)
CORE = Path(__file__).parents[3] / "runtime" / "opwright_core" / "fast"
RUNTIME = CORE.parents[1]


class Thing:
    """An object that tells when it is gone."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self, args, kwargs


class Other(Thing):
    """What an instance holds beside its function."""


def made(function: Any, other: Any) -> dict[str, Any]:
    """Return an instance of each type that takes any objects, which holds both."""
    return {
        "Factory": fast.Factory(function, other),
        "Kernel": fast.Kernel(other, np.add, (0, 1), 2, "fc", "a", False),
        "Planned": fast.Planned(function, "TT", other, (-1, 0, 1), np, other, other, -1, None, False),
        "Selector": fast.Selector(function, {1: other}, 1, 0),
        "Stub": fast.Stub(function, other),
        "UserKernel": fast.UserKernel(function, other, 2, (), other, None),
        "VersionBump": fast.VersionBump(function, other),
        "ViewCache": fast.ViewCache(function, "TV", other, 4, False, False),
        "ViewRecorder": fast.ViewRecorder(function, other, other, (0, 1)),
    }


TYPES = (
    "Factory", "Kernel", "Planned", "Selector", "Stub", "UserKernel", "VersionBump", "ViewCache", "ViewRecorder",
)  # fmt: skip


def test_every_type_is_tried() -> None:
    assert sorted(made(Thing(), Other())) == list(TYPES)


@pytest.mark.parametrize("name", TYPES)
def test_an_instance_holds_what_it_was_given(name: str) -> None:
    """And lets go of it: also where it is in a cycle, which the collector finds."""
    function, other = Thing(), Other()
    gone = [weakref.ref(function), weakref.ref(other)]
    counts = sys.getrefcount(function), sys.getrefcount(other)
    one = made(function, other)[name]
    assert one.python is (other if name == "Kernel" else function)
    assert other in (
        gc.get_referents(one) + [each for held in gc.get_referents(one) for each in gc.get_referents(held)]
    )
    del one
    assert (sys.getrefcount(function), sys.getrefcount(other)) == counts
    other.back = made(function, other)[name]  # type: ignore[attr-defined]
    del function, other
    gc.collect()
    assert [each() for each in gone] == [None, None]


@pytest.mark.parametrize("name", TYPES)
def test_an_instance_is_its_function_to_those_who_look(name: str) -> None:
    def function(x: Any) -> Any:
        """Return it."""

    one = made(function, function)[name]
    assert (one.__name__, one.__doc__, one.__module__) == ("function", "Return it.", __name__)
    one.note = 1
    assert function.note == 1  # type: ignore[attr-defined]


def test_fields_are_read_and_not_written() -> None:
    below, table = Thing(), {1: Thing()}
    assert fast.Factory(len, below).below is below
    assert fast.Selector(len, table, 1, 0).table is table
    assert fast.UserKernel(len, below, 2, (), below, None).unrecorded is None
    with pytest.raises(AttributeError):
        fast.Factory(len, below).below = 1  # (goes to `len`)


WRONG = [
    ("Factory", (len,), "takes another `below` as argument 2"),
    ("Factory", (len, len, len), "takes 2 arguments"),
    ("Factory", (), "takes its arguments by position"),
    ("Selector", (len, [], 1, 0), "takes another `table` as argument 2"),
    ("Selector", (len, {}, 1.5, 0), "takes another `keys` as argument 3"),
    ("Selector", (len, {}, 1, "0"), "an integer"),
    ("UserKernel", (len, len, 0, [], len, None), "takes another `defaults` as argument 4"),
    ("Planned", (len, 1, len, (), np, len, len, -1, None), "takes another `kinds` as argument 2"),
]


@pytest.mark.parametrize(("name", "args", "message"), WRONG)
def test_wrong_arguments_are_refused(name: str, args: tuple[Any, ...], message: str) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        getattr(fast, name)(*args)


def test_values_beyond_what_c_holds_are_refused() -> None:
    with pytest.raises(ValueError, match="so many arguments"):
        fast.Planned(len, "T" * 17, len, (), np, len, len, -1, None, False)
    with pytest.raises(OverflowError):
        fast.Planned(len, "T", len, (), np, len, len, 1 << 40, None, False)
    with pytest.raises(TypeError, match="by position"):
        fast.Factory(function=len, below=len)


# -- what Python tells


def test_nobody_tells_what_the_core_does_not_know() -> None:
    with pytest.raises(TypeError, match="configure\\(\\) is told of no `nonsense`"):
        fast.configure(nonsense=1)
    with pytest.raises(TypeError, match="takes another `Extra`"):
        fast.configure(Extra=1)
    with pytest.raises(TypeError, match="takes names"):
        fast.configure(1)
    with pytest.raises(RuntimeError, match="one Tensor class"):
        fast.configure(Tensor=type("Tensor", (fast.TensorBase,), {"__slots__": ()}))


def test_kernels_in_c_and_functions_that_have_one_are_the_same() -> None:
    """A kernel that no function has would never run; `compiled` refuses a function without one."""
    row = re.compile(r'^    \{"(\w+)", handle_|\bEACH\((\w+)\)', re.M)  # the latter lists polynomials
    folders = {CORE: ("opwright", "opwright_core"), RUNTIME / "opwright_kernels" / "native": ("opwright_kernels",)}
    for folder, packages in folders.items():
        found = [names for path in folder.rglob("*.c") for names in row.findall(path.read_text("utf-8"))]
        kernels = Counter(map("".join, found))
        functions = Counter(
            each.name
            for package in packages
            for path in (RUNTIME / package).rglob("*.py")
            for each in ast.parse(path.read_text("utf-8")).body
            if isinstance(each, ast.FunctionDef) and "compiled" in map(ast.unparse, each.decorator_list)
        )
        assert kernels == functions and max(kernels.values()) == 1


def test_numbers_stand_in_python_alone() -> None:
    """What C files call by a number's name they have from the header that the build writes."""
    written = re.compile(r"^ *(?:#define )?((?:KIND|SAVE|STEP)_[A-Z]+|CORE_VERSION)(?: =|,| \d)", re.M)
    files = (*CORE.rglob("*.[ch]"), *RUNTIME.glob("opwright_kernels/native/*.[ch]"))
    assert [(path.name, name) for path in files for name in written.findall(path.read_text("utf-8"))] == []


def test_each_thing_is_told_once() -> None:
    """One table of one file has each name, and one call of the runtime tells it."""
    row = re.compile(r'^    \{"(\w+)", SETTING_', re.M)
    known = Counter(name for path in CORE.rglob("*.c") for name in row.findall(path.read_text("utf-8")))
    told: Counter[str] = Counter()
    for path in RUNTIME.rglob("*.py"):
        for call in re.findall(r"fast\.configure\(((?:[^()]|\([^()]*\))*)\)", path.read_text("utf-8")):
            told.update(re.findall(r"(\w+)=", call))
    assert set(known) == set(told)
    assert {name for names in (known, told) for name, count in names.items() if count != 1} == set()
