"""Operands whose sizes would only fit by accident: PyTorch refuses them, and so does the operator."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import opwright

torch: Any = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
pytestmark = [pytest.mark.oracle, pytest.mark.once]

SIZES: list[tuple[int, ...] | None] = [None, (), (1,), (2,), (3,), (4,), (2, 1), (1, 2)]
IMAGES = ((3, 2, 4), (3, 2), (1, 1, 4))


def array(shape: tuple[int, ...] | None) -> Any:
    return None if shape is None else np.ones(shape, np.float32)


def parameters() -> Iterator[tuple[str, list[Any]]]:
    """Yield calls with parameters of sizes that fit, and of others."""
    for image, size in itertools.product(IMAGES, SIZES):
        x, some = array(image), array(size)
        for others in ((some, None, None, None), (None, some, None, None)):
            yield "instance_norm", [x, *others, True, 0.1, 1e-5, False]
            yield "batch_norm", [x, *others, True, 0.1, 1e-5, False]
        yield "group_norm", [x, 1, some, None, 1e-5, False]
        yield "layer_norm", [x, list(image[1:]), some, None, 1e-5, False]
        yield "rms_norm", [x, list(image[1:]), some, None]
        if size is not None:
            yield "instance_norm", [x, None, None, some, some, False, 0.1, 1e-5, False]
            yield "batch_norm", [x, None, None, some, some, False, 0.1, 1e-5, False]
            yield "prelu", [x, some]
        yield "nll_loss", [array((3, 4)), np.array([0, 1, 1]), some, 1, -100]
        yield "linear", [array((3, 2)), array((4, 2)), some]


def segments() -> Iterator[tuple[str, list[Any]]]:
    """Yield calls with lengths and offsets of segments, which add up or do not."""
    for lengths in itertools.product((0, 1, 2, 3), repeat=2):
        for shape, given in (((3, 2), lengths), ((3,), lengths), ((2, 3), (lengths, (1, 2)))):
            yield "segment_reduce", [array(shape), "sum", np.array(given), None, len(np.shape(given)) - 1, False]
    yield "segment_reduce", [array((3,)), "sum", np.array([4, -1]), None, 0, False]
    for offsets in ([0, 2, 3], [0, 1, 2], [0, 2, 1, 3], [0, 3, 0]):
        yield "segment_reduce", [array((3, 2)), "mean", None, np.array(offsets), 0, False]


def outcome(library: Any, name: str, args: list[Any]) -> Any:
    values = [library.from_numpy(each.copy()) if isinstance(each, np.ndarray) else each for each in args]
    try:
        if name == "segment_reduce":
            data, reduce, lengths, offsets, axis, unsafe = values
            named = {"lengths": lengths, "offsets": offsets, "axis": axis, "unsafe": unsafe}
            return library.ops.aten.segment_reduce(data, reduce, **named).numpy()
        return getattr(library.ops.aten, name)(*values).numpy()
    except (RuntimeError, IndexError, ValueError):
        return None


@pytest.mark.parametrize("calls", [parameters, segments])
def test_sizes_that_pytorch_refuses_are_refused(calls: Any) -> None:
    for name, args in calls():
        wanted, found = outcome(torch, name, args), outcome(opwright, name, args)
        what = (name, [each.shape if isinstance(each, np.ndarray) else each for each in args])
        assert (wanted is None) == (found is None), what
        assert wanted is None or np.allclose(wanted, found, rtol=1e-5, atol=1e-5, equal_nan=True), what
