"""A kernel is a plain function on arrays: Opwright does the rest."""

import numpy as np
from numpy.typing import NDArray


def clip_norm(rows: NDArray[np.floating], limit: float) -> NDArray[np.floating]:
    """Scale each row down to `limit`, where its length exceeds it."""
    length = np.linalg.norm(rows, axis=-1, keepdims=True)
    return (rows * np.minimum(1, limit / np.maximum(length, np.finfo(rows.dtype).tiny))).astype(rows.dtype)
