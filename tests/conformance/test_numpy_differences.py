"""Functions of ours that NumPy has by the same name: they give what NumPy's give, but for docs/differences.yaml."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from excuses import Table

import opwright
from opwright.errors import DispatchError

pytestmark = pytest.mark.once  # what differs does so by declaration, in both modes

KNOWN = Table.of("test_numpy_differences.KNOWN")
LEFT_OUT = ("empty_like", "copy")  # memory that nobody wrote; the operator, which writes to an argument
FLOATS = np.array([[0.5, -1.25, 2.0], [0.75, 1.5, -0.25]])
OTHERS = np.array([[1.5, 2.5, -1.0], [0.5, 2.0, 3.0]])
EDGES = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0])
SAMPLES: dict[str, tuple[Any, ...]] = {
    "floats": (FLOATS, OTHERS),
    "integers": ((4 * FLOATS).astype(np.int64), (4 * OTHERS).astype(np.int64)),
    "bytes": ((40 * abs(FLOATS)).astype(np.uint8), (40 * abs(OTHERS)).astype(np.uint8)),
    "bools": (FLOATS > 0, OTHERS > 1),
    "complex numbers": (FLOATS + 1j * OTHERS, OTHERS - 1j * FLOATS),
    "vectors": (np.array([3.0, 1.0, 2.0, 2.0]), np.array([1.0, 4.0, 2.0, 0.5])),
    "edges": (EDGES, np.array([0.0, 1.0, 0.0, 2.0, 1.0, np.inf])),
    "a dimension": (FLOATS, 0),
    "a number": (FLOATS, 2),
    "positions": (FLOATS, [1, 0]),
}  # fmt: skip


def functions() -> list[str]:
    """The names that both have, of operators; of several names for one function of NumPy one."""
    found = {}
    for name in sorted(set(dir(np)) & set(dir(opwright)) - {*LEFT_OUT}):
        function = getattr(np, name)
        if callable(function) and not isinstance(function, type) and hasattr(opwright.ops.aten, name):
            found[id(function)] = name
    return sorted(found.values())


def given(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """What a call gives, or its error."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(*arguments)
        except Exception as error:
            return error


def difference(ours: Any, theirs: Any) -> str | None:
    if isinstance(ours, tuple | list) or isinstance(theirs, tuple | list):
        if not (isinstance(ours, tuple | list) and isinstance(theirs, tuple | list)):
            return f"{'several results' if isinstance(ours, tuple | list) else 'one result'}"
        if len(ours) != len(theirs):
            return f"{len(ours)} results, not {len(theirs)}"
        return next(filter(None, map(difference, ours, theirs)), None)
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.shape != theirs.shape:
        return f"shape {ours.shape}, not {theirs.shape}"
    if ours.dtype != theirs.dtype:
        return f"{ours.dtype}, not {theirs.dtype}"
    return None if np.allclose(ours, theirs, equal_nan=True) else "values"


def problems(name: str) -> Iterator[str]:
    """What differs: of calls that NumPy takes, results, and refusals of dtypes and shapes."""
    for kind, arguments in SAMPLES.items():
        for count in (1, 2) if isinstance(arguments[1], np.ndarray) else (2,):
            theirs = given(getattr(np, name), arguments[:count])
            if isinstance(theirs, Exception):
                continue
            ours = given(getattr(opwright, name), arguments[:count])
            if isinstance(ours, Exception):
                if count == 1 and isinstance(ours, DispatchError | RuntimeError):
                    yield f"{kind}: refused"
            elif (text := difference(ours, theirs)) is not None:
                yield f"{kind}: {text}"


def test_functions_give_what_numpys_give() -> None:
    names = functions()
    assert len(names) > 150
    found = [(name, text) for name in names for text in problems(name)]
    assert [each for each in found if not KNOWN.covers(*each)] == []
