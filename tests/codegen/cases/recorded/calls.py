"""Calls of `demo_recorded`: each form of derivative gives the gradient that its kernel has."""

from demo_recorded import ops

import opwright


def leaf(*values: float) -> opwright.Tensor:
    return opwright.tensor(list(values), dtype=opwright.float64, requires_grad=True)


def gradients(result: opwright.Tensor, *leaves: opwright.Tensor) -> list[object]:
    """Return the gradients of the sum of a result, as lists."""
    found = opwright.autograd.grad(result.sum(), leaves, allow_unused=True)
    return [None if each is None else each.tolist() for each in found]


x, y = leaf(1.0, 2.0), leaf(3.0, 5.0)
assert gradients(ops.mul(x, y), x, y) == [[3, 5], [1, 2]]
assert gradients(ops.mul_(x * 1, y), x, y) == [[3, 5], [1, 2]]
assert opwright.allclose(opwright.autograd.grad(ops.exp(x).sum(), x)[0], opwright.exp(x.detach()))
assert opwright.allclose(opwright.autograd.grad(ops.exp_(x * 1).sum(), x)[0], opwright.exp(x.detach()))
assert opwright.autograd.gradgradcheck(ops.mul, (x, y)) and opwright.autograd.gradgradcheck(ops.exp, (x,))
assert not ops.less(x, y).requires_grad and ops.less(x, y).tolist() == [True, True]
assert gradients(ops.less_(x * 1, y), x) == [[0, 0]]

bias, mask = leaf(1.0), opwright.tensor([2.0, 4.0], dtype=opwright.float64)
assert ops.scale(x, 3.0, bias, None, mask).tolist() == [3 + 2, 6 + 4]
assert gradients(ops.scale(x, 3.0, bias, None, mask), x, bias) == [[3, 3], [6]]
assert gradients(ops.scale(x, 3.0, y), x, y) == [[3, 3], [1, 1]]
try:
    ops.scale(x, 3.0, bias, noise=leaf(1.0, 1.0)).sum().backward()
except RuntimeError as error:
    assert "noise" in str(error), error
else:
    raise AssertionError("the derivative of noise is not declared")

weights = opwright.arange(1, 6)
assert gradients(ops.join([x, y], bias) * weights, x, y, bias) == [[1, 2], [3, 4], [5]]
assert gradients(ops.join([x, y.detach()]), x) == [[1, 1]]
values, places = ops.pick(x, [None, opwright.tensor([1])])
assert values.tolist() == [2] and not places.requires_grad and gradients(values, x) == [[0, 1]]
wide = leaf(4.0)
low, high = ops.halves(wide)
assert gradients(low + 2 * high, wide) == [[0.5 + 2 * high.item()]] and gradients(ops.halves(wide)[0], wide) == [[0.5]]
both = leaf(1.0, 2.0)
first, second = ops.pieces(both, 1)
assert gradients(first * 2 + second * 3, both) == [[2, 3]] and gradients(ops.pieces(both, 1)[1], both) == [[0, 1]]

rolled = ops.shift(both, 1)
assert rolled.tolist() == [2, 1] and gradients(rolled * opwright.tensor([1.0, 5.0]), both) == [[5, 1]]
assert ops.cast(x).requires_grad and gradients(ops.cast(x), x) == [[1, 1]]
assert not ops.cast(x, opwright.int64).requires_grad and ops.cast(x, opwright.int64).tolist() == [1, 2]
