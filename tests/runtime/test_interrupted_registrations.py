"""Exceptions at every line of a registration, as another thread may raise them (`PyThreadState_SetAsyncExc`): no
namespace stays taken, and nothing is registered that no library holds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest

import opwright.dispatch.operator
import opwright.dispatch.registering
import opwright.dispatch.registry
import opwright.library.libraries
from opwright.dispatch.registry import registry
from opwright.library import Library

WATCHED = {
    module.__file__
    for module in (
        opwright.dispatch.operator,
        opwright.dispatch.registering,
        opwright.dispatch.registry,
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
                    registry.undefine(operator)

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
