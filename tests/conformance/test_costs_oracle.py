"""Operations of products, convolutions and attention, with gradients: PyTorch's FlopCounterMode counts the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import opwright
from opwright.utils.flop_counter import FlopCounterMode

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
pytestmark = [pytest.mark.oracle, pytest.mark.once]

PROGRAMS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "mm": (lambda o, a, b: o.mm(a, b), [(3, 4), (4, 5)]),
    "addmm": (lambda o, c, a, b: o.addmm(c, a, b), [(5,), (3, 4), (4, 5)]),
    "bmm": (lambda o, a, b: o.bmm(a, b), [(2, 3, 4), (2, 4, 5)]),
    "baddbmm": (lambda o, c, a, b: o.baddbmm(c, a, b), [(2, 3, 5), (2, 3, 4), (2, 4, 5)]),
    "matmul": (lambda o, a, b: a @ b, [(7, 3, 4), (4, 5)]),
    "linear": (lambda o, x, w, b: o.nn.functional.linear(x, w, b), [(2, 7, 4), (5, 4), (5,)]),
    "conv1d": (lambda o, x, w: o.nn.functional.conv1d(x, w), [(2, 4, 9), (6, 4, 3)]),
    "conv2d": (lambda o, x, w, b: o.nn.functional.conv2d(x, w, b, 2, 1), [(2, 4, 9, 8), (6, 4, 3, 3), (6,)]),
    "conv3d": (lambda o, x, w: o.nn.functional.conv3d(x, w), [(2, 4, 5, 6, 7), (6, 4, 3, 2, 1)]),
    "transposed": (lambda o, x, w: o.nn.functional.conv_transpose2d(x, w, None, 2), [(2, 4, 5, 6), (4, 3, 3, 2)]),
    "attention": (
        lambda o, q, k, v: o.nn.functional.scaled_dot_product_attention(q, k, v),
        [(2, 4, 8, 16), (2, 4, 9, 16), (2, 4, 9, 12)],
    ),
}


def counted(library: Any, mode: Any, program: Any, shapes: Any, backward: bool) -> int:
    """The operations that PyTorch counts: those of products and convolutions."""
    arrays = [library.ones(*shape, requires_grad=backward) for shape in shapes]
    with mode(display=False) as counter:
        result = program(library, *arrays)
        if backward:
            result.sum().backward()
    counts = {
        str(name).replace("aten.", "aten::"): count for name, count in counter.get_flop_counts()["Global"].items()
    }
    kinds = ("aten::convolution", "aten::mm", "aten::bmm", "aten::addmm", "aten::baddbmm", "aten::matmul")
    return sum(count for name, count in counts.items() if name.startswith(kinds))


def test_products_convolutions_and_attention() -> None:
    from torch.utils.flop_counter import FlopCounterMode as Theirs

    for name, (program, shapes) in PROGRAMS.items():
        for backward in (False, True):
            ours, theirs = (
                counted(library, mode, program, shapes, backward)
                for library, mode in ((opwright, FlopCounterMode), (torch, Theirs))
            )
            assert ours == theirs > 0, (name, backward)


def test_groups_are_counted_once_for_each() -> None:
    """PyTorch counts the gradient of a grouped weight as if there were no groups."""

    def program(library: Any, x: Any, w: Any) -> Any:
        return library.nn.functional.conv2d(x, w, None, 1, 1, 1, 2)

    shapes = [(2, 4, 5, 6), (6, 2, 3, 3)]
    assert counted(opwright, FlopCounterMode, program, shapes, True) == 3 * counted(
        opwright, FlopCounterMode, program, shapes, False
    )
