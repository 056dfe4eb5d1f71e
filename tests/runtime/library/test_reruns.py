"""Definitions and registrations that run again, as in a module that is reloaded; and those that take a place."""

from __future__ import annotations

import gc
import importlib
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

import opwright
from opwright.errors import DispatchError, RegistrationError
from opwright.library import Library

Write = Callable[[str], ModuleType]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Write]:
    """Write a module that defines operators, and import it, or reload it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    name = f"rerun_{zlib.crc32(request.node.name.encode())}"

    def write_and_load(text: str) -> ModuleType:
        (tmp_path / f"{name}.py").write_text(f"import opwright\nNAME = {name!r}\n{text}")
        importlib.invalidate_caches()
        known = sys.modules.get(name)
        return importlib.reload(known) if known is not None else importlib.import_module(name)

    yield write_and_load
    sys.modules.pop(name, None)


FORMS = {
    "define": """
opwright.library.define(f"{NAME}::f", "(Tensor x) -> Tensor")
opwright.library.impl(f"{NAME}::f", "cpu", lambda x: x * FACTOR)
""",
    "DEF": """
library = opwright.library.Library(NAME, "DEF")
library.define("f(Tensor x) -> Tensor")
library.impl("f", lambda x: x * FACTOR, "CPU")
""",
    "FRAGMENT that is kept": """
library = opwright.library.Library(NAME, "FRAGMENT")
kept = [*globals().get("kept", ()), library]
library.define("f(Tensor x) -> Tensor")
library.impl("f", lambda x: x * FACTOR, "CPU")
""",
    "in a function": """
def register():
    library = opwright.library.Library(NAME, "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x * FACTOR, "CPU")
    return library
library = register()
""",
    "custom_op": """
@opwright.library.custom_op(f"{NAME}::f", mutates_args=())
def f(x: opwright.Tensor) -> opwright.Tensor:
    return x * FACTOR
""",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore:.*is defined anew")
def test_a_module_that_defines_operators_is_reloaded(write: Write, form: str) -> None:
    module = write(f"FACTOR = 2{FORMS[form]}")
    ops = getattr(opwright.ops, module.NAME)
    assert ops.f(opwright.ones(1)).item() == 2
    held = ops.f
    for factor in (3, 4):
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*overridden")
            write(f"FACTOR = {factor}\n# lines move\n{FORMS[form]}")
        assert getattr(opwright.ops, module.NAME).f(opwright.ones(1)).item() == factor
        assert held(opwright.ones(1)).item() == factor


def test_a_schema_may_change_when_the_module_is_reloaded(write: Write) -> None:
    module = write(FORMS["define"].replace("FACTOR", "2"))
    write(FORMS["define"].replace("FACTOR", "n").replace("Tensor x)", "Tensor x, int n=5)").replace("x:", "x, n=5:"))
    op = getattr(opwright.ops, module.NAME).f
    assert [op(opwright.ones(1)).item(), op(opwright.ones(1), 7).item()] == [5, 7]


@pytest.mark.parametrize("twice", [
    'for _ in range(2): opwright.library.define(f"{NAME}::f", "(Tensor x) -> Tensor")',
    'libraries = [opwright.library.Library(NAME, "DEF") for _ in range(2)]',
    'def define(): opwright.library.define(f"{NAME}::f", "(Tensor x) -> Tensor")\ndefine()\ndefine()',
])  # fmt: skip
def test_one_run_defines_once(write: Write, twice: str) -> None:
    with pytest.raises(RegistrationError, match=r"the first was made at|first at"):
        write(twice)


def test_another_module_does_not_take_the_place(write: Write) -> None:
    module = write(FORMS["define"].replace("FACTOR", "2"))
    with pytest.raises(RegistrationError, match=rf"first at .*{module.__name__}.py:\d+, then at .*test_reruns.py:\d+"):
        opwright.library.define(f"{module.NAME}::f", "(Tensor x) -> Tensor")


# Taking a place


def test_overriding_a_kernel_warns_and_names_both() -> None:
    first, second = Library("reruns", "FRAGMENT"), Library("reruns", "FRAGMENT")
    first.define("f(Tensor x) -> Tensor")
    first.impl("f", lambda x: x, "CPU")
    with pytest.warns(UserWarning, match=r"reruns::f for CPU registered at .*py:\d+ is overridden by .*py:\d+") as seen:
        second.impl("f", lambda x: x + 1, "CPU")
    assert seen[0].filename == __file__
    assert opwright.ops.reruns.f(opwright.ones(1)).item() == 2
    with pytest.warns(UserWarning, match="aten::relu for CPU"):
        aten = Library("aten", "IMPL", "CPU")
        aten.impl("relu", lambda x: x)
    aten.destroy()


def test_other_registrations_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        library = Library("reruns", "FRAGMENT")
        library.define("f(Tensor x) -> Tensor")
        library.impl("f", lambda x: x, "CPU")
        library.impl("f", lambda x: x, "CompositeExplicitAutograd")
        library.register_fake("f", lambda x: x)
        library.register_fake("f", lambda x: x.clone())


def test_there_is_one_fallback_for_a_key() -> None:
    first, second = Library("_", "IMPL"), Library("_", "IMPL")
    first.fallback(lambda op, *args, **kwargs: None, "PrivateUse2")
    with pytest.raises(
        RegistrationError, match=r"PrivateUse2 has a fallback already, .*reruns.py:\d+: .*reruns.py:\d+"
    ):
        second.fallback(lambda op, *args, **kwargs: None, "PrivateUse2")
    first.destroy()
    second.fallback(lambda op, *args, **kwargs: None, "PrivateUse2")


def test_a_custom_operator_that_was_dropped_leaves_a_hint() -> None:
    def f(x: opwright.Tensor) -> opwright.Tensor:
        return x.clone()

    opwright.library.custom_op("reruns_dropped::f", f, mutates_args=())
    gc.collect()
    hint = r"what custom_op returned for it, defined by .*test_reruns.py:\d+, was garbage-collected.*keep a reference"
    with pytest.raises(AttributeError, match=hint):
        _ = opwright.ops.reruns_dropped.f
    with pytest.raises(DispatchError, match=hint):
        opwright.library.get_kernel("reruns_dropped::f", "CPU")


# Other places


@pytest.mark.parametrize("device, enabled, problem", [
    ("xpu", False, "no kernel was registered"), ("cuda", False, "no kernel was registered"),
    ("cpu", True, "it is enabled already"),
])  # fmt: skip
def test_kernels_that_cannot_be_disabled(device: str, enabled: bool, problem: str) -> None:
    def f(x: opwright.Tensor) -> opwright.Tensor:
        return x + 1

    op = opwright.library.custom_op("reruns_enabled::f", f, mutates_args=())
    op.register_kernel("cpu", lambda x: x + 2)
    with pytest.warns(UserWarning, match=problem) as seen, op.set_kernel_enabled(device, enabled):
        assert op(opwright.ones(1)).item() == 3
    assert seen[0].filename == __file__
    assert op(opwright.ones(1)).item() == 3
