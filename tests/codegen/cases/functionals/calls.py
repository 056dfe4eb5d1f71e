"""Calls of `demo_functionals`: variants without writes return what the operator would have written."""

from demo_functionals import ops

import opwright


def ones() -> opwright.Tensor:
    return opwright.ones(2)


x = ones()
assert ops.scale(x, 3).tolist() == [3, 3] and x.tolist() == [1, 1]
out = opwright.empty(2)
assert ops.scale(x, 3, out=out) is out and out.tolist() == [3, 3] and x.tolist() == [1, 1]
assert ops.scale_(x, 3) is x and x.tolist() == [3, 3]
assert ops.scale(opwright.ones(2, device="meta"), 3).device.type == "meta"

mean, scale = opwright.zeros(2), ones()
above, new_mean, new_scale = ops.normalize_functional(ones(), mean, scale, momentum=0.5)
assert above.tolist() == new_mean.tolist() == [0.5, 0.5] and new_scale.tolist() == [1, 1] and mean.tolist() == [0, 0]
assert ops.normalize(ones(), mean, momentum=0.5, out=out) is out and out.tolist() == mean.tolist() == [0.5, 0.5]

stack = ones()
assert ops.push_functional(stack, ones()).tolist() == [2, 2] and stack.tolist() == [1, 1]
assert ops.push(stack, ones()) is None and stack.tolist() == [2, 2]

several = [ones(), ones()]
assert [each.tolist() for each in ops.add_each(several, [ones(), stack])] == [[2, 2], [3, 3]]
assert [each.tolist() for each in several] == [[1, 1], [1, 1]]
outs = [opwright.empty(2), opwright.empty(2)]
assert ops.add_each(several, [ones(), stack], out=outs) is None and outs[1].tolist() == [3, 3]
assert ops.add_each_(several, [ones(), stack]) is None and several[0].tolist() == [2, 2]

shifted = ops.shift_functional(ones(), None, [ones()], 4)
assert shifted[0].tolist() == [5, 5] and shifted[1] is None and shifted[2][0].tolist() == [5, 5]
assert ops.shift(stack, None, [], 1) is None and stack.tolist() == [3, 3]
