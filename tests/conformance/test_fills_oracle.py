"""One value written at positions, a mask or a slice, of all pairs of dtypes: as PyTorch converts or refuses it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

import opwright

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
DTYPES = ("float32", "int64", "bool", "uint8", "complex64", "float16")
VALUES = (1 + 2j, 2 + 0j, 3.5, 300, True, -1, float("nan"), 1e3)


def assigned(index: Callable[[Any], Any]) -> Callable[[Any, Any, Any], Any]:
    def write(lib: Any, x: Any, value: Any) -> Any:
        x[index(lib)] = value
        return x

    return write


def mask(lib: Any) -> Any:
    return lib.tensor([True, False, True])


def places(lib: Any) -> Any:
    return lib.tensor([0, 2])


WAYS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "x[mask]": assigned(mask),
    "x[positions]": assigned(places),
    "x[0]": assigned(lambda lib: 0),
    "x[:]": assigned(lambda lib: slice(None)),
    "x[:, mask]": assigned(lambda lib: (slice(None), lib.tensor([True, False]))),
    "x[wrong mask]": assigned(lambda lib: lib.tensor([True, False])),
    "index_put": lambda lib, x, value: x.index_put((mask(lib),), value),
    "index_put_": lambda lib, x, value: x.index_put_((mask(lib),), value),
    "index_put_, accumulate": lambda lib, x, value: x.index_put_((mask(lib),), value, accumulate=True),
    "index_fill": lambda lib, x, value: x.index_fill(0, places(lib), value),
    "index_fill_": lambda lib, x, value: x.index_fill_(0, places(lib), value),
    "masked_fill": lambda lib, x, value: x.masked_fill(mask(lib)[:, None], value),
    "masked_fill_": lambda lib, x, value: x.masked_fill_(mask(lib)[:, None], value),
    "fill_": lambda lib, x, value: x.fill_(value),
}
KINDS: dict[str, Callable[[Any, Any], Any]] = {
    "a number": lambda lib, value: value,
    "a tensor": lambda lib, value: lib.tensor(value),
    "a vector of one": lambda lib, value: lib.tensor([value]),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_values_are_converted_as_pytorch_does(way: str, kind: str) -> None:
    wrong = []
    for dtype, value in product(DTYPES, VALUES):
        found = []
        for lib in (opwright, torch):
            try:
                written = WAYS[way](lib, lib.zeros(3, 2, dtype=getattr(lib, dtype)), KINDS[kind](lib, value))
                found.append(repr(written.tolist()))
            except Exception as error:
                found.append("IndexError" if isinstance(error, IndexError) else "refused")
        if found[0] != found[1]:
            wrong.append((dtype, value, *found))
    assert wrong == []
