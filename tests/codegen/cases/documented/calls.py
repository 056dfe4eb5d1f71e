"""Calls of `demo_documented`: texts of functions, methods, variants and overloads."""

from demo_documented import ops

import opwright

text = ops.hypotenuse.__doc__
assert text.startswith(r"Return the hypotenuse of each pair: `\sqrt{a^2 + b^2}`.")
assert '>>> hypotenuse(3, """4""")' in text
assert "The result is written to `self`, which is returned." in ops.hypotenuse_.__doc__
assert opwright.Tensor.hypotenuse.__doc__.startswith("Return the hypotenuse")
assert 'Say "it"' in opwright.Tensor.shout.__doc__ and '"Times"' in ops.shout.__doc__

x, y, out = opwright.tensor([3, 5]), opwright.tensor([4, 12]), opwright.empty(2)
assert ops.hypotenuse(x, y).tolist() == x.hypotenuse(y).tolist() == [5, 13]
assert ops.hypotenuse(x, y, out=out) is out and out.tolist() == [5, 13]
assert out.hypotenuse_(opwright.tensor([12.0, 84.0])) is out and out.tolist() == [13, 85]
assert x.shout("loud").tolist() == [3, 5] and x.shout(2).tolist() == ops.shout(x, 2).tolist() == [6, 10]
assert ops.undocumented(x).tolist() == [3, 5]
