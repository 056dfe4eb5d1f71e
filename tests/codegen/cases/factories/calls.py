"""Calls of `demo_factories`: the device decides which kernel runs; defaults of every kind."""

import inspect
import math

from demo_factories import ops

import opwright

made = ops.full_like_size([2, 2], 3, dtype=opwright.int32)
assert made.tolist() == [[3, 3], [3, 3]] and made.dtype is opwright.int32 and made.device.type == "cpu"
assert ops.full_like_size([1], 1.5, dtype=opwright.float64, device="meta").device.type == "meta"
assert opwright.allclose(ops.defaults(opwright.ones(2)), opwright.full((2,), 1 + 1e-05))
assert ops.defaults(opwright.ones(2), eps=1.0, low=None, mask=[False, False], size=[1, 2]).tolist() == [2, 2]
assert ops.version() == "1"

defaults = {each.name: each.default_value for each in opwright.ops.demo.defaults.default._schema.arguments}
assert defaults["size"] == [1, 1] and defaults["eps"] == 1e-05 and defaults["top"] == math.inf
assert defaults["mode"] == "it's" and defaults["quoted"] == 'say "so"' and defaults["mask"] == [True, False]
assert inspect.signature(ops.version).parameters == {}
