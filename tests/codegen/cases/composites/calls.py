"""Calls of `demo_composites`: values of each kernel, of variants, and which key has which kernel."""

from demo_composites import ops

import opwright

x, y = opwright.tensor([1.0, 2.0]), opwright.tensor([3.0, 4.0])

assert ops.fourfold(x).tolist() == x.fourfold().tolist() == [4, 8]
assert ops.both(x, y).tolist() == 6  # the kernel of AutogradCPU
with opwright.inference_mode():
    below = opwright.tensor([1.0, 2.0])
    assert ops.both(below, y).tolist() == [2, 4] and ops.both(below, y, swap=True).tolist() == [6, 8]
assert ops.tenfold(x).tolist() == [10, 20]

out, other = opwright.empty(2), opwright.empty(2)
assert ops.halves(x, out=out) is out and out.tolist() == [4, 8]
assert ops.halves(x, n=3, out=out) is out
changed = x.clone()
assert ops.halves_(changed) is changed and changed.tolist() == [4, 8] and hasattr(changed, "halves_")
assert ops.tenfold(x, out=out) is out and out.tolist() == [10, 20]

first, second = pair = ops.pair(x)
assert pair.first is first and first.tolist() == [4, 8] and pair.second is second and second.tolist() == [10, 20]
named = ops.pair(x, first=out, second=other)
assert named[0] is out and named[1] is other and out.tolist() == [4, 8] and other.tolist() == [10, 20]

assert [each.tolist() for each in ops.pieces(x)] == [[10, 20]]
assert ops.pieces(x, out=[out]) is None and out.tolist() == [10, 20]
each = [x.clone()]
assert ops.each_(each) is None and each[0].tolist() == [10, 20]
assert ops.ramp(3, dtype=opwright.float64).tolist() == [0, 1, 2]
out = opwright.empty(0, dtype=opwright.int64)
assert ops.ramp(3, out=out) is out and out.tolist() == [0, 1, 2]
