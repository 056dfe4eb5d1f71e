"""The six operators on NumPy's arrays, and on CuPy's where there is a GPU, beside the same formulas written out."""

from types import ModuleType
from typing import Any

import numpy as np
from everywhere_ops import ops


def written_out(x: Any) -> dict[str, Any]:
    """What NumPy says."""
    first, others = x[:1], x[1:]
    square = np.sin((others - first) / 2) ** 2 + np.cos(first) * np.cos(others) * np.sin((first - others) / 2) ** 2
    padded = np.pad(x, ((0, 0), (2, 2)))
    return {
        "soft_threshold": np.sign(x) * np.maximum(np.abs(x) - 0.3, 0),
        "haversine": 2 * 6371 * np.arcsin(np.sqrt(square)),
        "squared_distances": ((x[:, None] - others) ** 2).sum(-1),
        "standardize": (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5),
        "peak": np.abs(x).max(0),
        "moving_mean": sum(padded[:, start : start + x.shape[1]] for start in range(5)) / 5,
    }


def found(x: Any) -> dict[str, Any]:
    """What the operators say of an array, in arrays of the same library."""
    first, others = x[:1], x[1:]
    return {
        "soft_threshold": ops.soft_threshold(x, limit=0.3),
        "haversine": ops.haversine(first, first, others, others),
        "squared_distances": ops.squared_distances(x, others),
        "standardize": ops.standardize(x),
        "peak": ops.peak(x, 0),
        "moving_mean": ops.moving_mean(x, 2),
    }


def compare(library: ModuleType) -> None:
    x = np.random.default_rng(0).uniform(-1, 1, (20, 8))
    for name, value in found(library.asarray(x)).items():
        assert isinstance(value, library.ndarray)
        on_host = value if library is np else library.asnumpy(value)
        print(f"{name}, {library.__name__}: {'equal' if np.allclose(on_host, written_out(x)[name]) else 'different'}")


compare(np)
try:
    import cupy
except ImportError:
    print("CuPy is not installed: pip install cupy-cuda13x")
else:
    if cupy.cuda.is_available():
        compare(cupy)
    else:
        print("CuPy finds no GPU")
