"""Costs of functions, by the operators that they call for tensors without data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opwright.autograd.differentiate import backward
from opwright.cost.counting import FlopCounterMode, fakes
from opwright.cost.deriving import tensors_of_results
from opwright.cost.model import Cost
from opwright.fake.arrays import wrap_meta
from opwright.fake.modes import FakeTensorMode
from opwright_core.tensors.tensor import Tensor

__all__ = ["cost", "gradient_cost"]


def cost(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Cost:
    """Return what a call costs: of an operator, or of a function over operators, by what it calls. Of arrays and
    Tensors shapes, strides and dtypes are asked, nothing is computed.

    Raises what the function raises for fake tensors, DataDependentOutputError where it needs values.
    """
    mode, counter = FakeTensorMode(), FlopCounterMode(display=False)
    args, kwargs = fakes((args, kwargs), mode)
    with mode, counter:
        function(*args, **kwargs)
    return counter.total


def gradient_cost(
    function: Callable[..., Any], /, *args: Any, wanted: Sequence[int] | None = None, **kwargs: Any
) -> Cost:
    """Return what the backward pass of a call costs, as the rules of derivatives say: the gradients of the tensors at
    the positions `wanted`, of all that are floating-point or complex by default."""
    mode, counter = FakeTensorMode(), FlopCounterMode(display=False)
    args, kwargs = fakes((args, kwargs), mode)
    floats = [n for n, each in enumerate(args) if isinstance(each, Tensor) and each.array.dtype.kind in "fc"]
    for position in floats if wanted is None else wanted:
        args[position].requires_grad_()
    with mode:
        result = function(*args, **kwargs)
        roots = [each for each in tensors_of_results(result) if each.requires_grad]
        given = [wrap_meta(each.array).detach() for each in roots]
        with counter:
            backward(roots, given)
    return counter.total
