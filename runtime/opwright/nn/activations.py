"""Activations: `inplace=True` writes the result into `input`. All take Tensors or plain arrays."""

from __future__ import annotations

import warnings

from numpy.typing import DTypeLike

import opwright
from opwright.nn.annotations import A

__all__ = [
    "celu",
    "celu_",
    "elu",
    "elu_",
    "glu",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "leaky_relu",
    "leaky_relu_",
    "log_softmax",
    "mish",
    "relu",
    "relu6",
    "relu_",
    "rrelu",
    "rrelu_",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
]


def relu(input: A, inplace: bool = False) -> A:
    """Return max(0, input)."""
    return opwright.relu_(input) if inplace else opwright.relu(input)


def relu6(input: A, inplace: bool = False) -> A:
    """Return min(max(0, input), 6)."""
    return opwright.relu6_(input) if inplace else opwright.relu6(input)


def hardtanh(input: A, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> A:
    """Return `input` held within [min_val, max_val]. Raises ValueError if the bounds are in the wrong order."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if inplace:
        return opwright.hardtanh_(input, min_val, max_val)
    return opwright.hardtanh(input, min_val, max_val)


def elu(input: A, alpha: float = 1.0, inplace: bool = False) -> A:
    """Return `input`; below zero alpha * (exp(input) - 1)."""
    return opwright.elu_(input, alpha) if inplace else opwright.elu(input, alpha)


def selu(input: A, inplace: bool = False) -> A:
    """Return `elu` scaled so that layers keep mean 0 and variance 1."""
    return opwright.selu_(input) if inplace else opwright.selu(input)


def celu(input: A, alpha: float = 1.0, inplace: bool = False) -> A:
    """Return `elu` with a slope at zero of 1 for every alpha."""
    return opwright.celu_(input, alpha) if inplace else opwright.celu(input, alpha)


def leaky_relu(input: A, negative_slope: float = 0.01, inplace: bool = False) -> A:
    """Return `input`; below zero negative_slope * input."""
    return opwright.leaky_relu_(input, negative_slope) if inplace else opwright.leaky_relu(input, negative_slope)


def rrelu(input: A, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False) -> A:
    """Return `leaky_relu` with slopes drawn from [lower, upper) when training, with their mean else."""
    if inplace:
        return opwright.rrelu_(input, lower, upper, training)
    return opwright.rrelu(input, lower, upper, training)


def silu(input: A, inplace: bool = False) -> A:
    """Return input * sigmoid(input)."""
    return opwright.silu_(input) if inplace else opwright.silu(input)


def mish(input: A, inplace: bool = False) -> A:
    """Return input * tanh(softplus(input))."""
    return opwright.mish_(input) if inplace else opwright.mish(input)


def hardsigmoid(input: A, inplace: bool = False) -> A:
    """Return relu6(input + 3) / 6."""
    return opwright.hardsigmoid_(input) if inplace else opwright.hardsigmoid(input)


def hardswish(input: A, inplace: bool = False) -> A:
    """Return input * hardsigmoid(input)."""
    return opwright.hardswish_(input) if inplace else opwright.hardswish(input)


def tanhshrink(input: A) -> A:
    """Return input - tanh(input)."""
    return opwright.sub(input, opwright.tanh(input))


def softsign(input: A) -> A:
    """Return input / (1 + |input|)."""
    return opwright.div(input, opwright.add(opwright.abs(input), 1))


def threshold(input: A, threshold: float, value: float, inplace: bool = False) -> A:
    """Return `value` where `input` is not above the threshold."""
    if inplace:
        return opwright.threshold_(input, threshold, value)
    return opwright.threshold(input, threshold, value)


def glu(input: A, dim: int = -1) -> A:
    """Return the first half along `dim`, times the sigmoid of the second."""
    return opwright.glu(input, dim)


def sigmoid(input: A) -> A:
    """Return 1 / (1 + exp(-input))."""
    return opwright.sigmoid(input)


def tanh(input: A) -> A:
    """Return the hyperbolic tangent."""
    return opwright.tanh(input)


def softmax(input: A, dim: int | None = None, _stacklevel: int = 3, dtype: DTypeLike | None = None) -> A:
    """Return exp(input) over its sum along `dim`; computed in `dtype` if there is one."""
    return opwright.softmax(input, _dim("softmax", input, dim, _stacklevel), dtype)


def softmin(input: A, dim: int | None = None, _stacklevel: int = 3, dtype: DTypeLike | None = None) -> A:
    """Return `softmax` of -input."""
    return opwright.softmax(opwright.neg(input), _dim("softmin", input, dim, _stacklevel), dtype)


def log_softmax(input: A, dim: int | None = None, _stacklevel: int = 3, dtype: DTypeLike | None = None) -> A:
    """Return log(softmax(input)), without taking the logarithm of what has underflowed."""
    return opwright.log_softmax(input, _dim("log_softmax", input, dim, _stacklevel), dtype)


def _dim(name: str, input: A, dim: int | None, stacklevel: int) -> int:
    if dim is not None:
        return dim
    warnings.warn(f"Implicit dimension choice for {name} has been deprecated; pass dim", stacklevel=stacklevel)
    return 0 if len(input.shape) in (0, 1, 3) else 1


# In place


def relu_(input: A) -> A:
    """Write `relu` into `input`."""
    return opwright.relu_(input)


def elu_(input: A, alpha: float = 1.0) -> A:
    """Write `elu` into `input`."""
    return opwright.elu_(input, alpha)


def selu_(input: A) -> A:
    """Write `selu` into `input`."""
    return opwright.selu_(input)


def celu_(input: A, alpha: float = 1.0) -> A:
    """Write `celu` into `input`."""
    return opwright.celu_(input, alpha)


def leaky_relu_(input: A, negative_slope: float = 0.01) -> A:
    """Write `leaky_relu` into `input`."""
    return opwright.leaky_relu_(input, negative_slope)


def rrelu_(input: A, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> A:
    """Write `rrelu` into `input`."""
    return opwright.rrelu_(input, lower, upper, training)


def hardtanh_(input: A, min_val: float = -1.0, max_val: float = 1.0) -> A:
    """Write `hardtanh` into `input`."""
    return opwright.hardtanh_(input, min_val, max_val)


def threshold_(input: A, threshold: float, value: float) -> A:
    """Write `threshold` into `input`."""
    return opwright.threshold_(input, threshold, value)
