"""Calls with a dimension before the named ones of `gufunc`: a kernel that takes none is not as its rule says."""

from __future__ import annotations

from typing import Any

import numpy as np

from opwright.autograd import no_grad
from opwright.creation.construction import from_numpy
from opwright.fake import FakeTensorMode
from opwright.metadata.tags import Tag
from opwright.native_kernels.generalized_ufuncs import takes_batches
from opwright_core.errors import ContractError
from opwright_core.tensors.tensor import Tensor
from opwright_gate.checking.calls import Call, results_of

__all__ = ["check_batched"]


def check_batched(call: Call) -> None:
    """Raise ContractError if `gufunc` plans a batch of two equal samples, and the kernel fails or computes another
    result with it."""
    operator = call.operator
    is_random = Tag.nondeterministic_seeded in operator.tags
    if is_random or operator.signature.written or not takes_batches(operator) or not _is_planned(_batch(call)):
        return
    with no_grad():
        wanted = [each.tensor.numpy(force=True) for each in results_of(operator, call.copied()())]
        try:
            found = [each.tensor.numpy(force=True) for each in results_of(operator, _batch(call)())]
        except Exception as error:
            raise ContractError(_said(call, f"its kernel raises {type(error).__name__}: {error}")) from error
    for got, want in zip(found, wanted, strict=True):
        if not np.allclose(got, np.broadcast_to(want, got.shape), rtol=1e-3, equal_nan=True):
            raise ContractError(_said(call, "its kernel mixes the samples"))


def _batch(call: Call) -> Call:
    def twice(tensor: Tensor) -> Any:
        return from_numpy(np.stack([tensor.numpy(force=True)] * 2))

    return call.converted(twice)


def _is_planned(batch: Call) -> bool:
    mode = FakeTensorMode()
    with no_grad():
        try:
            with mode:
                batch.converted(mode.from_tensor)()
        except Exception:  # sizes that are told by other means
            return False
    return True


def _said(call: Call, problem: str) -> str:
    shapes = " and ".join(f"{each.name} of shape {tuple(each.tensor.shape)}" for each in _batch(call).operands)
    operator = call.operator
    return (
        f"{operator.name}: `gufunc` plans dimensions before the named ones, and with them, {shapes}, {problem}\n"
        "hint: write batched=False in `meta`, or a kernel that takes such dimensions\n"
        f"Declaration: {operator.name}{operator.declaration}"
    )
