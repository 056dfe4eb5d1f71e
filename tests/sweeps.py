"""How much of what could be tried a run tries: all of it with `--slow`, else a share that keeps the run short.

A share leaves out no operator, property or mode; it leaves out combinations of them.
"""

from __future__ import annotations

import functools
import inspect
import re
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import pytest
import seeds

T = TypeVar("T")
_BACKWARD = re.compile(r"\w+_backward(_data|_jvp)?([.]\w+)?")  # what backward operators are called

is_exhaustive = False  # with --slow
only: frozenset[str] = frozenset()  # cases, with --only


def add_options(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the slow tests, too, and all cases of sweeps")
    parser.addoption("--only", metavar="CASE", action="append", default=[], help="of sweeps over cases, this one")


def configure(config: pytest.Config) -> None:
    global is_exhaustive, only
    is_exhaustive = config.getoption("--slow")
    only = frozenset(config.getoption("--only"))


def count(few: int, all_of_them: int) -> int:
    """How many to try."""
    return all_of_them if is_exhaustive else few


def share(every: Sequence[T], most: int, of: str) -> Sequence[T]:
    """At most so many of the cases, evenly spread; what they are `of` decides where to begin."""
    if is_exhaustive or len(every) <= most:
        return every
    step = -(-len(every) // most)
    return every[zlib.crc32(of.encode()) % step :: step]


def spread(every: Sequence[T], about: int) -> Sequence[T]:
    """About so many of the cases in any run (fewer than twice as many), the first among them; all of few."""
    return every[:: max(1, len(every) // about)]


def is_backward(name: str) -> bool:
    """Whether a name is that of a backward operator."""
    return _BACKWARD.fullmatch(name) is not None


def over(cases: Iterable[object], size: int = 20) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test once for each case, `size` of them as one test of pytest, which costs a millisecond and more each.

    A case is the test's first argument; a tuple, as many as it has. All cases of a part are tried, and those that fail
    are named. With the mark `calls` below this, backward operators are left to `--slow`: what such a test finds out of
    any operator, that of the forward one does. `--only NAME` leaves the others.
    """

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        chosen = [case if isinstance(case, tuple) else (case,) for case in cases]
        if not is_exhaustive and any(mark.name == "calls" for mark in getattr(test, "pytestmark", ())):
            chosen = [case for case in chosen if not is_backward(case[0])]
        chosen = [case for case in chosen if not only or only & {str(each) for each in case}]
        parts = [chosen[start : start + size] for start in range(0, len(chosen), size)]

        @functools.wraps(test)
        def run(part: list[tuple[object, ...]], **fixtures: Any) -> None:
            _try_all(test, part, fixtures)

        taken = [inspect.Parameter("part", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
        count = len(chosen[0]) if chosen else 1
        taken += [*inspect.signature(test).parameters.values()][count:]
        run.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
        ids = [f"{_text(part[0])}..{_text(part[-1])}" for part in parts]
        marked: Callable[..., None] = pytest.mark.parametrize("part", parts, ids=ids)(run)
        return marked

    return decorate


def _text(case: tuple[object, ...]) -> str:
    return "-".join(map(str, case))


def _try_all(test: Callable[..., None], part: list[tuple[object, ...]], fixtures: dict[str, Any]) -> None:
    failures: list[BaseException] = []
    for case in part:
        seeds.begin(f"{test.__module__}.{test.__name__}[{_text(case)}]")
        try:
            test(*case, **fixtures)
        except (Exception, pytest.fail.Exception) as error:
            error.add_note(f"in the case {_text(case)}")
            if isinstance(error, pytest.fail.Exception):  # of which pytest may show the message alone
                error.msg = f"{_text(case)}: {error.msg}"
            failures.append(error)
    if failures:
        raise failures[0] if len(failures) == 1 else BaseExceptionGroup("several cases", failures)
