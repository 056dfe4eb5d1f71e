"""Kernels of the case, on arrays."""

from __future__ import annotations

from typing import Any

import numpy as np


def scale(self: Any, from_: Any, bias: Any, noise: Any, mask: Any) -> Any:
    result = self * from_ if noise is None else self * from_ + noise
    return result if bias is None else result + (bias if mask is None else bias * mask)


def join(tensors: Any, last: Any, shape: Any) -> Any:
    return np.concatenate([*tensors] if last is None else [*tensors, last], shape)


def pick(self: Any, indices: Any) -> Any:
    places = np.arange(self.shape[0])[indices[-1]]
    return self[places], places


def halves(self: Any) -> Any:
    return self / 2, np.exp(self)


def pieces(self: Any, size: Any) -> Any:
    return [self[at : at + size].copy() for at in range(0, self.shape[0], size)]


def shift(self: Any, dim: Any) -> Any:
    return self[:: -1 if dim % 2 else 1]


def cast(self: Any, dtype: Any) -> Any:
    return self.copy() if dtype is None else self.astype(dtype)
