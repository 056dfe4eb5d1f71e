"""`cost`: what our operators cost in a function of JAX. XLA says of what it only calls that its cost is unknown, -1."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from opwright.cost.model import Cost
from opwright.cost.parts import cost as cost_of_function
from opwright.fake.arrays import META_PLACE, meta_array, wrap_meta
from opwright_bindings.jax.runtime.primitive import PRIMITIVE
from opwright_core.arrays.dtypes import as_dtype
from opwright_core.arrays.layouts import contiguous_strides
from opwright_core.tensors.tensor import Tensor

__all__ = ["cost"]


def cost(function: Callable[..., Any], /, *args: Any) -> Cost:
    """Return what the operators of Opwright cost that a function of JAX calls, in gradients and batches, too; a scan
    calls them for each step. The rest is what `jax.jit(function).lower(*args).cost_analysis()` says."""
    found = Cost()
    for times, equation in _calls(jax.make_jaxpr(function)(*args).jaxpr, 1):
        one = cost_of_function(equation.params["program"].run, [_without_data(each.aval) for each in equation.invars])
        found += Cost(times * one.flops, times * one.transcendentals, times * one.read, times * one.written)
    return replace(found, source="parts")


def _calls(jaxpr: Any, times: int) -> Iterator[tuple[int, Any]]:
    """Yield the equations of our primitive, in programs within programs, too, with how often they are computed."""
    for equation in jaxpr.eqns:
        if equation.primitive is PRIMITIVE:
            yield times, equation
        length = equation.params.get("length", 1) if equation.primitive.name == "scan" else 1
        for inner in jax.tree.leaves(list(equation.params.values()), is_leaf=lambda each: hasattr(each, "eqns")):
            if (own := getattr(inner, "jaxpr", inner)) is not None and hasattr(own, "eqns"):
                yield from _calls(own, times * length)


def _without_data(aval: Any) -> Tensor:
    shape = tuple(map(int, aval.shape))
    return wrap_meta(meta_array(shape, contiguous_strides(shape), as_dtype(np.dtype(aval.dtype)), META_PLACE))
