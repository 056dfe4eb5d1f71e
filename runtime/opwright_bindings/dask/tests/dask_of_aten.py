"""Arrays in random pieces, and the table of ATen's samples on the path."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[4]
sys.path.append(str(ROOT / "tests" / "conformance"))  # which has the table of samples


def chunked(array: Any, random: Random) -> Any:
    """The array in random pieces, each dimension for itself."""
    chunks = []
    for size in array.shape:
        cuts = sorted(random.sample(range(1, size), min(size - 1, random.randrange(3)))) if size > 1 else []
        chunks.append(tuple(np.diff([0, *cuts, size]).tolist()))
    import dask.array as da

    return da.from_array(array, chunks=tuple(chunks))
