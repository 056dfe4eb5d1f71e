"""Calls of `demo_autocast`: dtypes of results in regions of autocast and outside of them."""

from demo_autocast import ops

import opwright
from opwright import bfloat16, float16, float32

x, weight = opwright.ones(2, 3), opwright.full((3, 2), 1 / 3)
short = opwright.full((2,), 3.0, dtype=float16)

assert ops.project(x, weight, None).tolist() == [[1, 1], [1, 1]]
assert ops.length(short).dtype is float16
assert ops.import_(short).dtype is float16

with opwright.autocast("cpu"):
    third = weight.to(bfloat16)[0, 0].item()
    assert ops.project(x, weight, None).tolist() == [[3 * third, 3 * third]] * 2 and third != weight[0, 0].item()
    assert ops.join([short.to(bfloat16), opwright.ones(2)]).dtype is float32
    assert ops.length(short).dtype is float32
    assert ops.total(short).dtype is float32 and ops.total(short, dtype=float16).dtype is float16
    assert ops.import_(short).dtype is float32 and ops.autocast_wrapper(short).dtype is float32
    assert ops.project(x.to(opwright.float64), weight.to(opwright.float64)).dtype is opwright.float64
    try:
        ops.entropy(x, x)
    except RuntimeError as error:
        assert "use entropy_with_logits, which takes what the sigmoid before it would" in str(error)
    else:
        raise AssertionError("entropy is banned")
