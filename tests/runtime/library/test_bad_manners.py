"""Definitions that PyTorch takes although nobody should write them: `Library.define` warns of them, and they are served
as PyTorch serves them. Schema files and `custom_op` refuse them."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from opwright.errors import RegistrationError
from opwright.library import Library, custom_op
from opwright.namespaces import ops

_names = (f"manners{number}" for number in itertools.count())


@pytest.fixture
def lib() -> Iterator[Library]:
    library = Library(next(_names), "DEF")
    yield library
    library.destroy()


TAKEN = [
    ("f(Tensor a, int id, int id) -> ()", "there are two arguments 'id'", "call this one id2"),
    ("f(int x, *, int x=3) -> ()", "there are two arguments 'x'", "call this one x1"),
    ("f(int x) -> (int y, int y)", "there are two results 'y'", "call this one y1"),
    ("f(Tensor? bias=None, int[] stride, int n=1) -> ()", "'stride' has no default, but follows", "give it a default"),
    ("f(Tensor x, Tensor dim=None) -> ()", "the default None of 'dim' is not of type Tensor", r"has the type Tensor\?"),
    ("f(ScalarType dtype=None) -> ()", "not of type ScalarType", r"has the type ScalarType\?"),
    ("f(Generator g=None) -> ()", "not of type Generator", r"has the type Generator\?"),
    ("f(int n=1.5) -> ()", "the default 1.5 of 'n' is not of type int", r"write an integer \(1, -1\), or another type"),
    ("f(bool b=1) -> ()", "the default 1 of 'b' is not of type bool", "write True or False, or another type"),
    ("f(str? s=1) -> ()", r"the default 1 of 's' is not of type str\?", r'write a text \("mean"\), or another type'),
    ("f.functional_x(Tensor! x) -> ()", "the overload says functional", "choose another overload name"),
]


@pytest.mark.oracle
@pytest.mark.parametrize(("schema", "problem", "right"), TAKEN)
def test_they_are_taken_with_a_warning(lib: Library, schema: str, problem: str, right: str) -> None:
    with pytest.warns(
        UserWarning, match=rf"(?s)PyTorch takes this.*1:\d+: warning: .*{problem}.*\^.*hint: .*{right}"
    ) as told:
        lib.define(schema)
    assert [warning.filename for warning in told] == [__file__]
    torch = pytest.importorskip("torch")
    with torch.library._scoped_library(lib.ns, "DEF") as theirs:
        theirs.define(schema)


@pytest.mark.parametrize(("schema", "problem", "right"), TAKEN)
def test_a_warning_that_is_an_error_defines_nothing(lib: Library, schema: str, problem: str, right: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match=problem):
            lib.define(schema)
    assert not dir(getattr(ops, lib.ns))


REFUSED = [
    ("f(int a=1, int b) -> ()", "'b' has no default, but follows 'a'"),
    ("f(int a=1, int[]? b) -> ()", "'b' has no default"),
    ("f(int[] n=None) -> ()", r"not of type int\[\]"),
    ("f(int[2] n=None) -> ()", r"not of type int\[2\]"),
    ("f(int[] n=[1.5]) -> ()", r"not of type int\[\]"),
    ("f(Tensor x=1) -> ()", "not of type Tensor"),
    ("f(Device d=None) -> ()", "not of type Device"),
    ("f(Device d=cpu) -> ()", "a device is named by a text"),
    ("f(int n=foo) -> ()", "not of type int"),
    ("f(int n=1, ...) -> ()", r"arguments before '\.\.\.'"),
    ("f.default(int n) -> ()", "not a legal overload name"),
    ("f(int n=0x10) -> ()", "found '0x10'"),
]


@pytest.mark.oracle
@pytest.mark.parametrize(("schema", "problem"), REFUSED)
def test_what_is_refused(lib: Library, schema: str, problem: str) -> None:
    """By PyTorch, too, but for the number, which is 0 there."""
    with pytest.raises(RegistrationError, match=problem):
        lib.define(schema)
    torch = pytest.importorskip("torch")
    with torch.library._scoped_library(lib.ns, "DEF") as theirs:
        if "0x" not in schema:
            with pytest.raises(RuntimeError):
                theirs.define(schema)


_TYPES = ("Tensor", "int", "float", "bool", "str", "Scalar", "SymInt", "ScalarType", "Layout", "Generator", "Device")
_DEFAULTS = ("None", "1", "1.5", "True", "'text'", "[1]", "word")


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:PyTorch takes this")
@pytest.mark.parametrize("type", [f"{type}{mark}" for type in _TYPES for mark in ("", "?", "[]", "[2]")])
def test_whatever_default_pytorch_takes_is_taken(lib: Library, type: str) -> None:
    """More is taken here: a list of texts or tensors."""
    torch = pytest.importorskip("torch")
    for number, default in enumerate(_DEFAULTS):
        schema = f"f{number}({type} x={default}) -> ()"
        with torch.library._scoped_library(lib.ns, "DEF") as theirs:
            try:
                theirs.define(schema)
            except RuntimeError:
                continue
        lib.define(schema)


CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("(int x, int x) -> int", (1, 2), {}),
    ("(int x, int x) -> int", (1,), {"x": 2}),
    ("(int x, int x) -> int", (), {"x": 2}),
    ("(int x, int x) -> int", (1,), {}),
    ("(int x, int y=3, int x=5) -> int", (1,), {}),
    ("(int x, int y=3, int x=5) -> int", (1,), {"x": 2}),
    ("(int x, int y=3, int x=5) -> int", (), {"x": 2}),
    ("(int x, int y=3, int x=5) -> int", (1, 2, 3), {}),
    ("(int x, *, int x) -> int", (1,), {"x": 2}),
    ("(int? x=None, int[] y, int n=1) -> int", (None, [1]), {}),
    ("(int? x=None, int[] y, int n=1) -> int", (), {"y": [1]}),
    ("(int? x=None, int[] y, int n=1) -> int", (2,), {}),
    ("(int x, Generator g=None, ScalarType d=None, int n=None) -> int", (1,), {}),
    ("(int x, Generator g=None, ScalarType d=None, int n=None) -> int", (1,), {"n": 2}),
    ("(float x=True, int n=1.5, bool b=1, str s=2) -> int", (), {}),
    ("(float x=True, int n=1.5, bool b=1, str s=2) -> int", (2.0,), {}),
    ("(float x=True, int n=1.5, bool b=1, str s=2) -> int", (2.0, 3, True), {"s": "text"}),
]


def _seen(lib: Any, namespace: Any, schema: str, args: tuple[Any, ...], kwargs: dict[str, Any], calls: int) -> Any:
    """What the kernel is given, or that the call is refused; the same in each of many calls."""
    given: list[Any] = []

    def kernel(*args: Any, **kwargs: Any) -> int:
        given.append((args, kwargs))
        return 0

    lib.define(f"f{schema}")
    lib.impl("f", kernel, "CompositeExplicitAutograd")
    outcomes = []
    for _ in range(calls):
        try:
            namespace.f(*args, **kwargs)
            outcomes.append(given[-1])
        except (RuntimeError, TypeError):
            outcomes.append("refused")
    assert all(outcome == outcomes[0] for outcome in outcomes)
    return outcomes[0]


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:PyTorch takes this")
@pytest.mark.parametrize(("schema", "args", "kwargs"), CALLS)
def test_calls_are_those_of_pytorch(lib: Library, schema: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    ours = _seen(lib, getattr(ops, lib.ns), schema, args, kwargs, calls=30)  # often enough for a stub of its own
    torch = pytest.importorskip("torch")
    with torch.library._scoped_library(lib.ns, "DEF") as theirs:
        wanted = _seen(theirs, getattr(torch.ops, lib.ns), schema, args, kwargs, calls=1)
    assert ours == wanted


def test_a_function_has_names_that_differ() -> None:
    with pytest.raises(RegistrationError, match="there are two arguments 'x'"):
        custom_op("manners::f", mutates_args=(), schema="(Tensor x, Tensor x) -> Tensor")(lambda x, y: x)
