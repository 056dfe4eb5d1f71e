"""Memory that tensors without data share: views of another dtype, and rows that do not meet."""

from __future__ import annotations

import pytest

import opwright
from opwright.fake import FakeTensorMode
from opwright.symbolic import ShapeEnv


def test_strides_over_memory_of_another_dtype() -> None:
    x = opwright.zeros(4, dtype=opwright.float32, device="meta")
    assert x.view(opwright.int16).as_strided((2, 2), (4, 1)).stride() == (4, 1)
    with FakeTensorMode():
        assert opwright.zeros(4).view(opwright.float16).as_strided((8,), (1,)).shape == (8,)


def test_parts_of_symbolic_tensors_meet_where_they_may() -> None:
    mode = FakeTensorMode(shape_env=ShapeEnv())
    x = mode.from_tensor(opwright.ones(5, 3))
    x[0].add_(x[1])
    x[1:3].mul_(x[3:5])
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        x.view(-1)[1:].add_(x.view(-1)[:-1])
