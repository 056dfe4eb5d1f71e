"""Shapes of results, and what operands have to look like: rules of `meta`. So C functions need no checks of shapes."""

from typing import Any

from opwright import rules
from opwright_core.plans.plan import Plan
from opwright_core.plans.specs import TensorSpec


def row_of(x: Any) -> Plan:
    """Plan a number for each row: the shape of `x` without its last dimension."""
    return rules.reduce(x, -1, accepts="floating")


def column_of(x: Any) -> Plan:
    """Plan a number for each column: the shape of the sum of all rows."""
    return rules.reduce(x, tuple(range(x.ndim - 1)), accepts="floating") if x.ndim > 1 else rules.like_contiguous(x)


def like_rows(x: Any, grad_y: Any, mean: Any, rstd: Any, weight: Any | None) -> Plan:
    """Plan a result like `x`, row-major. Raises RuntimeError where another operand does not fit to it."""
    if not x.ndim:
        raise RuntimeError("x needs a last dimension, but its shape is ()")
    _same("grad_y", grad_y.shape, x.shape)
    _same("mean", mean.shape, x.shape[:-1])
    _same("rstd", rstd.shape, x.shape[:-1])
    if weight is not None:
        _same("weight", weight.shape, x.shape[-1:])
    return _like(x, grad_y, mean, rstd, weight)


def loss_of_rows(logits: Any, target: Any) -> Plan:
    """Plan a loss for each row. Raises RuntimeError unless each row of logits has a target."""
    if not logits.ndim or logits.shape[-1] == 0:
        raise RuntimeError(f"logits need one class or more, in their last dimension, but got {_text(logits.shape)}")
    _same("target", target.shape, logits.shape[:-1])
    return _with(row_of(logits), logits, target)


def like_logits(logits: Any, target: Any, grad_loss: Any, lse: Any) -> Plan:
    """Plan a result like `logits`, row-major. Raises RuntimeError unless each row has a number of all others."""
    row_of_classes = loss_of_rows(logits, target)
    for name, operand in (("grad_loss", grad_loss), ("lse", lse)):
        _same(name, operand.shape, row_of_classes.shape)
    return _like(logits, target, grad_loss, lse)


def rotary(x: Any, cos: Any, sin: Any) -> Plan:
    """Plan a result like `x`, row-major. Raises RuntimeError unless there is an angle for each position and pair."""
    if x.ndim < 2 or x.shape[-1] % 2:
        raise RuntimeError(f"x of rotary is (..., positions, width), of an even width, but got {_text(x.shape)}")
    for name, operand in (("cos", cos), ("sin", sin)):
        _same(name, operand.shape, (x.shape[-2], x.shape[-1] // 2))
    return _like(x, cos, sin)


def _like(x: Any, *others: Any) -> Plan:
    """Plan a result like `x`, row-major, for a kernel of several operands."""
    return _with(rules.like_contiguous(x), x, *others)


def _with(plan: Plan, *operands: Any) -> Plan:
    """The plan for all operands: those of floats are computed in the dtype that the first one is computed in."""
    spec, compute = plan.spec, plan.compute
    casts = tuple(each is not None and each.dtype.kind == "f" and each.dtype != compute for each in operands)
    spec = TensorSpec(spec.shape, spec.strides, spec.dtype, spec.common, compute, spec.produces, casts, dims=spec.dims)
    return Plan(spec, operands)


def _same(name: str, shape: Any, wanted: Any) -> None:
    if tuple(shape) != tuple(wanted):
        raise RuntimeError(f"{name} has to be of shape {_text(wanted)}, but its shape is {_text(shape)}")


def _text(shape: Any) -> str:
    return f"({', '.join(map(str, shape))})"
