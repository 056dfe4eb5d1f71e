"""Views whose base took other memory: where they lie is said by the memory that they keep."""

from __future__ import annotations

import pytest

import opwright


@pytest.mark.parametrize("sizes", [(8,), (100_000,), (5_000, 90_000), (3,), (0,)])
def test_offsets_stay(sizes: tuple[int, ...]) -> None:
    base = opwright.arange(6).clone()
    views = [base[2:], base[:], base[3], base.view(2, 3)[1], base[2:][1:]]
    for size in sizes:
        base.resize_(size)
    assert [each.storage_offset() for each in views] == [2, 0, 3, 3, 3]
    assert views[0][1:].storage_offset() == views[0].detach()[1:].storage_offset() == 3


@pytest.mark.parametrize(
    "index", [opwright.tensor(False), (False, slice(None)), [], opwright.tensor([], dtype=opwright.int64)]
)
def test_an_assignment_to_nothing_is_a_write(index: object) -> None:
    x = opwright.zeros(3, 3)
    x[index] = 5
    assert (x._version, x.sum().item()) == (1, 0)
    x[False] = 5  # PyTorch calls nothing for it
    assert x._version == 1
