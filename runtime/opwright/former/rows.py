"""Rows of packages that former generators made: texts, of which the rows of today are made."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

__all__ = ["rows_of_texts"]

_UFUNC: Final = re.compile(r"ufunc (\w+)\(([-\d, ]+)\) (\w+)( in place)?")


def rows_of_texts(rows: Mapping[str, Sequence[tuple[Any, ...]]]) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows, with a word for each part of a text: `CPU+dense; ufunc add(0, 1) fc in place; -Autograd`."""
    return {
        part: [(*row[:2], *[word for each in row[2:] for word in _words(each)]) for row in of_part]
        for part, of_part in rows.items()
    }


def _words(kernels: str | tuple[str, ...]) -> Iterator[str | tuple[Any, ...]]:
    for text in kernels.split("; ") if isinstance(kernels, str) else ():
        found = _UFUNC.fullmatch(text)
        if found is None:
            yield text
        else:
            yield "ufunc", found[1], tuple(map(int, found[2].split(", "))), found[3], found[4] is not None
    if isinstance(kernels, tuple):
        yield kernels
