"""Normalisation over other operators: running statistics updated, layouts of channels, root mean squares."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import opwright
from opwright_core.arrays import layouts
from opwright_core.arrays.dtypes import COMPLEX, as_dtype, float64, opmath, to_real
from opwright_core.plans.operands import check_accepted

Operand = Any
Results = tuple[Operand, Operand, Operand]


def native_batch_norm(
    input: Operand,
    weight: Operand | None,
    bias: Operand | None,
    running_mean: Operand | None,
    running_var: Operand | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Results:
    """Normalise each channel, by its running statistics unless training, which updates those that are given."""
    aten = opwright.ops.aten
    if running_mean is None and running_var is None:
        return aten._native_batch_norm_legit(input, weight, bias, training, momentum, eps)
    if running_mean is None or running_var is None:
        raise RuntimeError("running_mean and running_var must both be given, or neither")
    return _native_batch_norm_legit(input, weight, bias, running_mean, running_var, training, momentum, eps)


def _native_batch_norm_legit(
    input: Operand,
    weight: Operand | None,
    bias: Operand | None,
    running_mean: Operand,
    running_var: Operand,
    training: bool,
    momentum: float,
    eps: float,
) -> Results:
    """Call `native_batch_norm` with running statistics, which training updates."""
    aten = opwright.ops.aten
    parameters = (weight, bias, running_mean, running_var)
    result, mean, rstd, *running = aten._native_batch_norm_legit_functional(input, *parameters, training, momentum, eps)
    if training:
        aten.copy_(running_mean, running[0])
        aten.copy_(running_var, running[1])
    return result, mean, rstd


def _native_batch_norm_legit_no_training(
    input: Operand,
    weight: Operand | None,
    bias: Operand | None,
    running_mean: Operand,
    running_var: Operand,
    momentum: float,
    eps: float,
) -> Results:
    """Call `native_batch_norm` with the running statistics."""
    aten = opwright.ops.aten
    parameters = (weight, bias, running_mean, running_var)
    result, mean, rstd, _, _ = aten._native_batch_norm_legit_functional(input, *parameters, False, momentum, eps)
    return result, mean, rstd


def batch_norm(
    input: Operand,
    weight: Operand | None,
    bias: Operand | None,
    running_mean: Operand | None,
    running_var: Operand | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Operand:
    """Normalise each channel; of nothing comes nothing."""
    aten = opwright.ops.aten
    if layouts.is_empty(input.shape):
        return aten.clone(input)
    parameters = (weight, bias, running_mean, running_var)
    return aten.native_batch_norm(input, *parameters, training, momentum, eps)[0]


def instance_norm(
    input: Operand,
    weight: Operand | None,
    bias: Operand | None,
    running_mean: Operand | None,
    running_var: Operand | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Operand:
    """Normalise each channel of each image: as a batch of one, with as many channels as there were in all images."""
    aten: Any = opwright.ops.aten
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    if len(input.shape) < 2:
        raise IndexError(f"instance_norm expects a batch and channels, but got an input of size {list(input.shape)}")
    batch, channels, *sizes = input.shape
    for each in (weight, bias, running_mean, running_var):
        if each is not None and (each.ndim > 1 or not layouts.same_shape((layouts.count(each.shape),), (channels,))):
            raise RuntimeError(
                f"instance_norm expects {channels} elements in weight, bias and running statistics, one for each "
                f"channel, but got a size of {list(each.shape)}"
            )
    parameters = [
        None if each is None else aten.reshape(aten.expand(each, [batch, channels]), [batch * channels])
        for each in (weight, bias, running_mean, running_var)
    ]
    rows = aten.view(aten.contiguous(input), [1, batch * channels, *sizes])
    result = aten.batch_norm(rows, *parameters, use_input_stats, momentum, eps, cudnn_enabled)
    for running, each in ((running_mean, parameters[2]), (running_var, parameters[3])):
        if running is not None and use_input_stats:
            aten.copy_(running, aten.mean(aten.view(each, [batch, channels]), [0], False))
    return aten.view(result, list(input.shape))


def group_norm(
    input: Operand, num_groups: int, weight: Operand | None, bias: Operand | None, eps: float, cudnn_enabled: bool
) -> Operand:
    """Normalise (N, C, ...) over `num_groups` groups of channels."""
    if len(input.shape) < 2:
        raise IndexError(f"group_norm expects a batch and channels, but got an input of size {list(input.shape)}")
    if num_groups < 1:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    batch, channels, *sizes = input.shape
    aten = opwright.ops.aten
    return aten.native_group_norm(input, weight, bias, batch, channels, prod(sizes), num_groups, eps)[0]


def rms_norm(input: Operand, normalized_shape: Sequence[int], weight: Operand | None, eps: float | None) -> Operand:
    """Divide the last dimensions by the root of their mean square."""
    last, ndim = tuple(normalized_shape), len(input.shape)
    if ndim < len(last):
        raise ValueError(f"Input tensor must have at least {len(last)} dimensions, but got {ndim}")
    if not last or not layouts.same_shape(tuple(input.shape[ndim - len(last) :]), last):
        raise RuntimeError(
            f"Given normalized_shape={list(last)}, expected it to be the last dimensions of the input, "
            f"but got input of size {list(input.shape)}"
        )
    if weight is not None and tuple(weight.shape) != last:
        raise RuntimeError(
            f"Expected weight to be of same shape as normalized_shape, but got weight of shape {list(weight.shape)} "
            f"and normalized_shape = {list(last)}"
        )
    return _fused_rms_norm(input, normalized_shape, weight, eps)[0]


def _fused_rms_norm(
    input: Operand, normalized_shape: Sequence[int], weight: Operand | None, eps: float | None
) -> tuple[Operand, Operand]:
    """Return `rms_norm`, and the reciprocals of the roots; `eps` is the precision computed in unless given."""
    aten = opwright.ops.aten
    given = as_dtype(input.dtype)
    check_accepted("floating complex", given)
    compute = opmath(given)
    if eps is None:
        eps = 2.0**-52 if (to_real(compute) if compute in COMPLEX else compute) is float64 else 2.0**-23
    exact = aten.to(input, compute)
    over = list(range(len(input.shape) - len(normalized_shape), len(input.shape)))
    rrms = aten.rsqrt(aten.add(aten.mean(aten.mul(exact, exact), over, True), eps))
    result = aten.mul(exact, rrms)
    if weight is not None:
        result = aten.mul(result, weight)
    return aten.to(result, given), rrms


def renorm(self: Operand, p: Any, dim: int, maxnorm: Any) -> Operand:
    """Scale the slices along `dim` whose norm is larger than `maxnorm` down to it.

    Raises RuntimeError for a `p` that is not above 0, a `maxnorm` below 0, and fewer than two dimensions.
    """
    _check_renorm(p, maxnorm, self.ndim)
    aten, dtype = opwright.ops.aten, as_dtype(self.dtype)
    kept = layouts.wrap_dim(dim, self.ndim)
    others = [each for each in range(self.ndim) if each != kept]
    wide = opmath(dtype)
    norms = aten.linalg_vector_norm(self, p, others, True, dtype=None if wide == dtype else wide)
    factors = aten.where(norms > maxnorm, maxnorm / (norms + 1e-7), 1)
    return aten.contiguous(aten.mul(self, factors if wide == dtype else aten.to(factors, dtype)))


def _check_renorm(p: Any, maxnorm: Any, rank: int) -> None:
    for name, value in (("p", p), ("maxnorm", maxnorm)):
        if isinstance(value, complex):
            raise RuntimeError(f"renorm: {name} has to be a real number, but it is {value}")
    if not p > 0:
        raise RuntimeError(f"renorm: p has to be above 0, but it is {p}")
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if rank < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {rank} dimensions")


def _batch_norm_with_update(
    input: Operand,
    weight: Operand | None,
    bias: Operand | None,
    running_mean: Operand,
    running_var: Operand,
    momentum: float,
    eps: float,
) -> tuple[Operand, ...]:
    """Normalise each channel and update its running statistics; the last result holds nothing."""
    aten = opwright.ops.aten
    before = aten.clone(running_mean), aten.clone(running_var)  # which are saved, and the updates would change
    found = aten._native_batch_norm_legit_functional(input, weight, bias, *before, True, momentum, eps)
    aten.copy_(running_mean, found[3])
    aten.copy_(running_var, found[4])
    return (*found[:3], aten.new_empty(input, [0], dtype=opwright.uint8))
