"""Calls of `demo_unbound`: operators are declared, and a call fails with an error that names the operator."""

from demo_unbound import ops

import opwright

x = opwright.ones(2)
for call in (
    lambda: ops.scale(x, x),
    lambda: ops.scale(x, x, out=opwright.ones(2)),
    lambda: x.scale_(x),
    lambda: ops.norm(x),
    lambda: ops.norm(x, out=opwright.ones(2)),
    lambda: ops.plain(x),
):
    try:
        call()
    except NotImplementedError as error:
        assert "demo::" in str(error), error
    else:
        raise AssertionError("there is no kernel")
schema = opwright.ops.demo.scale.out._schema
assert str(schema) == "demo::scale.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)"
