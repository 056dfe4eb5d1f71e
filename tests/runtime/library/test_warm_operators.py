"""Operators of a Library that are called often get a stub: they then do what they did before, faster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import opwright
from opwright.errors import ArgumentError
from opwright.library import Library

pytestmark = pytest.mark.filterwarnings("ignore:the kernel of .* is overridden")

CALLS = 20


@pytest.fixture
def library() -> Iterator[Library]:
    """A namespace with one operator, whose kernel says how it was called."""
    made = Library("warm", "DEF")
    made.define("f(Tensor x, float scale=2.0, *, int[] sizes=[1], str? name=None, float zero=0.0) -> Tensor")
    yield made
    made._destroy()


def called(library: Library, calls: list[Any]) -> Any:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        calls.append((args[1:], kwargs))
        return args[0].clone()

    library.impl("f", kernel, "CPU")
    return opwright.ops.warm.f


def test_arguments_that_are_words_of_python() -> None:
    """A function cannot have such a parameter: its stub leaves binding to the operator, and does not call itself."""
    library = Library("warm_words", "DEF")
    library.define("f(int from, int to=1) -> int")
    library.impl("f", lambda *args: sum(args), "CompositeExplicitAutograd")
    f = opwright.ops.warm_words.f
    for _ in range(2 * CALLS):
        assert (f(2), f(2, 3), f(2, to=4)) == (2, 5, 6)
    library.destroy()


def test_kernels_see_the_same_calls(library: Library) -> None:
    calls: list[Any] = []
    f, x = called(library, calls), opwright.ones(3)
    for arguments, keywords in (
        ((), {}), ((2.0,), {}), ((3,), {}), ((), {"scale": 3.0}), ((), {"sizes": (4, 5)}), ((), {"name": "n"}),
        ((), {"zero": -0.0}), ((2.0,), {"name": None, "sizes": [1]}),
    ):  # fmt: skip
        calls.clear()
        for call in (f, f.default):
            for _ in range(CALLS):
                call(x, *arguments, **keywords)
        assert all(repr(each) == repr(calls[0]) for each in calls), arguments
        assert len(calls) == 2 * CALLS


def test_kernels_do_not_share_a_list_that_is_a_default(library: Library) -> None:
    def kernel(x: Any, *, sizes: Any = None, scale: float = 2.0) -> Any:
        if sizes is not None:
            sizes.append(9)
        return x.clone()

    library.impl("f", kernel, "CPU")
    f, x = opwright.ops.warm.f, opwright.ones(3)
    for _ in range(CALLS):
        f(x, sizes=[1, 2])
        f(x)
    calls: list[Any] = []
    g = called(library, calls)
    g(x)
    assert calls == [((), {})]


def test_errors_stay_those_of_the_operator(library: Library) -> None:
    f, x = called(library, []), opwright.ones(3)

    def errors() -> list[str]:
        found = []
        for arguments, keywords in (((), {}), ((x, 1.0, 2), {}), ((x, "a"), {}), ((x,), {"beta": 1}), (("3",), {})):
            for call in (f, f.default):
                with pytest.raises(ArgumentError) as caught:
                    call(*arguments, **keywords)
                found.append(str(caught.value))
        return found

    before = errors()
    for _ in range(CALLS):
        f(x)
        f.default(x)
    assert errors() == before


def test_another_kernel_or_definition_is_seen_at_once(library: Library) -> None:
    first: list[Any] = []
    f, x = called(library, first), opwright.ones(3)
    for _ in range(CALLS):
        f(x)
    second: list[Any] = []
    called(library, second)
    f(x)
    assert (len(first), len(second)) == (CALLS, 1)
    library.define("f.number(float x) -> float")
    library.impl("f.number", lambda x: x + 1, "CompositeExplicitAutograd")
    assert f(1.0) == 2.0
    f(x)
    assert len(second) == 2


def test_results_are_checked(library: Library) -> None:
    results: list[Any] = [opwright.ones(2)]
    library.impl("f", lambda x, **_: results[-1], "CPU")
    f, x = opwright.ops.warm.f, opwright.ones(3)
    for _ in range(CALLS):
        f(x)
    results.append("text")
    with pytest.raises(RuntimeError, match="must return Tensor, but returned str 'text'"):
        f(x)
