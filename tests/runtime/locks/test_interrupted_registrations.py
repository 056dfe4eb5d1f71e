"""Exceptions at every line of a registration, as another thread may raise them (`PyThreadState_SetAsyncExc`): no
namespace stays taken, and nothing is registered that no library holds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

import pytest

import opwright.batching.tables
import opwright.library.contents
import opwright.library.custom_ops.definition
import opwright.library.custom_ops.functions
import opwright.library.custom_ops.registered
import opwright.library.libraries
import opwright.python_dispatch.rules
import opwright.registering.kernels
import opwright.registering.rules
import opwright.utils._python_dispatch
import opwright_core.dispatch.call.operator
import opwright_core.dispatch.registry.registering
import opwright_core.dispatch.registry.rule_table
from opwright.inspection.meta_formulas import FORMULAS
from opwright.library import Library
from opwright.registering.kernels import Handle, undefine
from opwright.registering.removing import Removable, remove_all
from opwright_core.dispatch.registry import forward_rules
from opwright_core.dispatch.registry.tables import registry

WATCHED = {
    module.__file__
    for module in (
        opwright_core.dispatch.call.operator,
        opwright_core.dispatch.registry.registering,
        opwright_core.dispatch.registry.tables,
        opwright.registering.removing,
        opwright.registering.kernels,
        opwright.registering.rules,
        opwright_core.dispatch.registry.rule_table,
        opwright.library.contents,
        opwright.library.custom_ops.definition,
        opwright.library.custom_ops.functions,
        opwright.library.custom_ops.registered,
        opwright.library.libraries,
    )
}
NAME = "interrupted_lines::f"


class Tracer:
    """Counts lines of our code, and raises at one of them."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.taken = 0

    def __call__(self, frame: FrameType, event: str, argument: object) -> Tracer | None:
        if frame.f_code.co_filename not in WATCHED:
            return None
        if event in ("call", "line"):
            self.taken += 1
            if self.taken == self.line:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self


def run(function: Callable[[], object], line: int) -> int:
    """Return how many lines a call takes, with an interrupt at one of them."""
    tracer, earlier = Tracer(line), sys.gettrace()
    sys.settrace(tracer)
    try:
        function()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(earlier)
        if registry.lock.is_held():  # the interrupt came where a block ends, before the lock's own `__exit__`
            registry.lock.__exit__(None, None, None)
    return tracer.taken


def interruptions(function: Callable[[], object], clean: Callable[[], object]) -> range:
    """Return the lines that a call has."""
    count = run(function, 0)
    clean()
    assert count > 5
    return range(1, count + 1)


def test_a_library_that_is_not_made_owns_no_namespace() -> None:
    made: list[Library] = []  # (what takes them back as garbage is not interrupted)

    def make() -> None:
        made.append(Library("interrupted_lines", "DEF"))

    for line in interruptions(make, made.clear):
        run(make, line)
        made.clear()
        Library("interrupted_lines", "DEF").destroy()


@pytest.mark.parametrize("is_defined", [False, True])
def test_an_operator_that_no_library_holds_is_not_defined(is_defined: bool) -> None:
    with opwright.library.libraries.scoped_library("interrupted_lines", "FRAGMENT") as library:
        first = library.define("f(Tensor x) -> Tensor") if is_defined else None

        def define() -> None:
            library.define(f"{'g' if is_defined else 'f'}(Tensor x) -> Tensor")

        def clean() -> None:
            while len(library._contents.operators) > is_defined:
                operator = library._contents.operators.pop()
                with registry.lock:
                    undefine(operator)

        for line in interruptions(define, clean):
            run(define, line)
            names = {name for name in registry.operators if name.startswith("interrupted_lines::")}
            assert names == {each.name for each in library._contents.operators}, line
            clean()
            define()
            clean()
        assert first is None or NAME in registry.operators


def test_a_kernel_that_no_library_holds_is_not_registered() -> None:
    with opwright.library.libraries.scoped_library("interrupted_lines", "FRAGMENT") as library:
        library.define("f(Tensor x) -> Tensor")

        def implement() -> None:
            library.impl("f", lambda x: x.clone(), "CPU")

        def clean() -> None:
            while library._contents.handles:
                library._contents.handles.pop().remove()

        for line in interruptions(implement, clean):
            run(implement, line)
            found = [each for kernels in registry.kernels.get(NAME, {}).values() for each in kernels]
            assert found == [handle.registration for handle in library._contents.handles], line  # type: ignore[attr-defined]
            clean()


TABLES = (FORMULAS, opwright.batching.tables.REGISTERED, opwright.python_dispatch.rules.RULES, forward_rules.RULES)


def registered() -> set[int]:
    """Return what is registered for the operator: kernels, and rules of all tables."""
    kernels = [each for found in registry.kernels.get(NAME, {}).values() for each in found]
    given = [rule for table in TABLES for (name, _), rules in table.given.items() if name == NAME for rule in rules]
    return {id(each) for each in (*kernels, *given)}


def kept(handles: Iterable[Removable]) -> set[int]:
    """Return the kernels and rules that handles take back."""
    return {id(each.registration if isinstance(each, Handle) else each) for each in handles}


class Mode(opwright.utils._python_dispatch.TorchDispatchMode):
    """A mode that rules are for."""


# The rest of a call that registers something for an operator.
REGISTERING: dict[str, tuple[Any, ...]] = {
    "register_autograd": (lambda ctx, grad: grad,),
    "register_vmap": (lambda info, in_dims, x: (x, 0),),
    "register_autocast": ("cpu", opwright.bfloat16),
    "register_meta": ("like(x)",),
    "register_torch_dispatch": (Mode, lambda mode, func, types, args, kwargs: func(*args)),
}


@pytest.mark.parametrize("name", REGISTERING)
def test_what_no_library_keeps_is_not_registered(name: str) -> None:
    with opwright.library.libraries.scoped_library("interrupted_lines", "FRAGMENT") as library:
        library.define("f(Tensor x) -> Tensor")
        more = {"jvp": lambda ctx, tangent: tangent} if name == "register_autograd" else {}

        def register() -> None:
            getattr(opwright.library, name)(NAME, *REGISTERING[name], lib=library, **more)

        def clean() -> None:
            remove_all(library._contents.handles)

        for line in interruptions(register, clean):
            run(register, line)
            assert registered() == kept(library._contents.handles), line
            clean()
    assert not registered()


@pytest.mark.parametrize("name", REGISTERING)
def test_what_no_custom_operator_keeps_is_not_registered(name: str) -> None:
    @opwright.library.custom_op(NAME, mutates_args=())
    def f(x: opwright.Tensor) -> opwright.Tensor:
        return x.clone()

    held = f._registered.current()._held
    first = registered()
    assert first == kept(held.values())
    more = {"jvp": lambda ctx, tangent: tangent} if name == "register_autograd" else {}

    def register() -> None:
        getattr(f, name)(*REGISTERING[name], **more)

    def clean() -> None:
        for purpose in tuple(held):
            if held[purpose] not in firsts:
                f._registered.current().drop(purpose)

    firsts = list(held.values())
    for line in interruptions(register, clean):
        run(register, line)
        assert registered() == kept(held.values()), line
        clean()


def test_a_library_that_was_not_taken_back_is_taken_back_again() -> None:
    """What an interrupted `destroy` leaves goes with the next one, or with the library."""

    def make() -> Library:
        library = Library("interrupted_lines", "DEF")
        library.define("f(Tensor x) -> Tensor")
        library.impl("f", lambda x: x.clone(), "CPU")
        opwright.library.register_autograd(NAME, lambda ctx, grad: grad, jvp=lambda ctx, tangent: tangent, lib=library)
        return library

    count = run(make().destroy, 0)
    for line in range(1, count + 1):
        library = make()
        run(library.destroy, line)
        if line % 2:
            library.destroy()
        del library
        assert not registered() and NAME not in registry.operators, line
