"""The six operators on Dask's arrays, block by block, beside the same ones on whole arrays of NumPy."""

import dask.array as da
import everywhere_ops_dask as in_blocks
import numpy as np
from everywhere_ops import ops

random = np.random.default_rng(0)
rows = random.uniform(0.1, 1, (60, 8))
CALLS = [
    ("soft_threshold", (rows,), {"limit": 0.3}),
    ("haversine", (rows, rows[0], rows[:, :1], rows), {}),
    ("squared_distances", (rows, rows[:20]), {}),
    ("standardize", (rows,), {}),
    ("peak", (rows, 0), {}),
    ("moving_mean", (rows, 2), {}),
]

for name, arguments, options in CALLS:
    whole = getattr(ops, name)(*arguments, **options)
    blocks = [da.from_array(each, chunks=7) if isinstance(each, np.ndarray) else each for each in arguments]
    found = getattr(in_blocks, name)(*blocks, **options).compute()
    print(f"{name}: {'equal' if np.allclose(found, whole, rtol=1e-12) else 'different'}")
