"""Programs over custom operators that write to their arguments: see custom_op_programs.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from custom_op_programs import Side, program

if TYPE_CHECKING:
    from opwright import Tensor


def _doubled(side: Side) -> Any:
    def f(x: Tensor) -> None:
        side.array(x)[...] *= 2

    return side.op(f, mutates_args={"x"})


@program
def versions(side: Side) -> Any:
    def f(x: Tensor, ys: list[Tensor], z: Tensor | None, kept: Tensor) -> Tensor:
        side.array(x)[...] += 1
        return kept + 1

    op = side.op(f, mutates_args={"x", "ys", "z"})
    x, y, kept = side.tensor(1, 2), side.tensor(3), side.tensor(5)
    result = op(x, [y, y], None, kept)
    return result, x, x._version, y._version > 0, kept._version


@program
def writes_are_found_in_the_backward(side: Side) -> Any:
    op, x = _doubled(side), side.tensor(1.0, grad=True)
    middle = x * 1
    y = (middle * middle).sum()
    op(middle.detach())
    return side.error(y.backward)


@program
def writes_without_recording(side: Side) -> Any:
    op, x = _doubled(side), side.tensor(1.0, 2.0, grad=True)
    with side.lib.no_grad():
        op(x)
    return x, x.is_leaf, x.requires_grad


@program
def out_operators(side: Side) -> Any:
    def f(x: Tensor, *, out: Tensor) -> Tensor:
        side.array(out)[...] = side.array(x) + 1
        return out

    op = side.op(f, mutates_args={"out"}, tags=side.lib.Tag.out)
    out = side.tensor(0.0, 0.0)
    found = op(side.tensor(1.0, 2.0), out=out)
    leaf = side.tensor(1.0, 2.0, grad=True)
    return (
        found is out,
        out,
        out._version,
        [
            side.error(lambda: op(leaf, out=out)),
            side.error(lambda: op.register_autograd(lambda ctx, g: g)),
        ],
    )


@program
def in_place_operators(side: Side) -> Any:
    def f(x: Tensor, factor: float) -> Tensor:
        side.array(x)[...] *= factor
        return x

    op = side.op(f, mutates_args={"x"}, tags=side.lib.Tag.inplace)
    x = side.tensor(1.0, 2.0)
    found = op(x, 3)
    meta = side.lib.ones(3, device="meta")
    return found is x, x, x._version, op(meta, 2.0) is meta


@program
def tags_that_cannot_be(side: Side) -> Any:
    def f(x: Tensor, *, out: Tensor) -> Tensor:
        return out

    def g(x: Tensor) -> Tensor:
        return x.clone()

    tags = side.lib.Tag
    return [
        side.error(lambda: side.op(g, "a", tags=tags.inplace)),
        side.error(lambda: side.op(g, "b", tags=tags.out)),
        bool(side.error(lambda: side.op(f, "c", mutates_args={"out"}, tags=(tags.inplace, tags.out)))),
    ]
