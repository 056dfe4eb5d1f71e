"""One call of an operator under PyTorch and under us, its gradients and tangents under PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from differentiating import as_tuple, call_named, flattened, named_arguments, overload, tensors_of
from excuses import Table
from oracle import copied, numpy_of, to_opwright, to_torch
from sampling import COMPLEX128, FLOAT64, Sample, make

import opwright
from opwright_codegen.derivatives.derivative import Differentiability


def _begins_below(array: np.ndarray, dim: int) -> bool:
    """Whether the exponential of what is first is less than a thousandth of what follows."""
    real = np.atleast_1d(array.real).astype(FLOAT64)
    return bool((real - real.take([0], dim) > 6.9).any()) if real.size else False


# Samples whose tangents differ on purpose, and why.
DIFFERENT_TANGENTS = Table.of(
    "differentiating_once.DIFFERENT_TANGENTS",
    negative_eps=lambda one: len(one.args) > 1 and one.args[1] is not None and one.args[1] < 0,
    empty=lambda one: not one.args[0].size,
    complex_numbers=lambda one: one.args[0].dtype == COMPLEX128,
    product=lambda one: one.args[4] == "prod",
    transposed=lambda one: one.kwargs.get("transpose", False),
    begins_below=lambda one: _begins_below(one.args[0], one.args[1]),
)


class Case:
    """One call under PyTorch and under us: arguments, results, and cotangents of those that can have gradients."""

    def __init__(self, name: str, entry: Differentiability, sample: Sample) -> None:
        self.entry = entry
        self.schema = entry.operator.schema
        self.arrays = named_arguments(self.schema, sample)
        self.mine = {key: to_opwright(copied(value)) for key, value in self.arrays.items()}
        self.results = as_tuple(call_named(overload(opwright, name), self.schema, self.mine))
        self.theirs = {key: to_torch(copied(value)) for key, value in self.arrays.items()}
        self.leaves = {}
        known = {key for derivative in entry.derivatives if derivative.reason is None for key in derivative.inputs}
        for key in sorted(known):
            for number, tensor in enumerate(tensors_of(self.theirs[key])):
                if tensor.is_floating_point() or tensor.is_complex():
                    self.leaves[key, number] = tensor.requires_grad_()
        self.name = name

    def their_gradients(self, cotangents: dict[int, np.ndarray]) -> dict[tuple[str, int], Any]:
        results = as_tuple(call_named(overload(torch, self.name), self.schema, self.theirs))
        flat = flattened(results)
        for ours, theirs in zip(flattened(self.results), flat, strict=True):
            if not np.allclose(ours.array, numpy_of(theirs), equal_nan=True):
                raise ValueError("another of several results")  # such as eigenvectors of another sign
        chosen = [(number, result) for number, result in enumerate(flat) if number in cotangents]
        chosen = [(number, result) for number, result in chosen if result.requires_grad]
        if not chosen or not self.leaves:
            return {}
        given = [torch.from_numpy(np.ascontiguousarray(cotangents[number])).reshape(r.shape) for number, r in chosen]
        found = torch.autograd.grad([r for _, r in chosen], list(self.leaves.values()), given, allow_unused=True)
        return dict(zip(self.leaves, found, strict=True))


def tangent_of(value: Any) -> Any:
    """Numbers of the argument's shape; None where it has no tangent."""
    if isinstance(value, list):
        found = [tangent_of(each) for each in value]
        return None if any(each is None for each in found) else found
    if not isinstance(value, np.ndarray) or value.dtype not in (FLOAT64, COMPLEX128):
        return None
    return make(value.shape, value.dtype, seed=5)


def dual(value: Any, tangent: Any) -> Any:
    if tangent is None:
        return value
    if isinstance(value, list):
        return [dual(*each) for each in zip(value, tangent, strict=True)]
    return torch.autograd.forward_ad.make_dual(value.detach(), torch.from_numpy(tangent))
