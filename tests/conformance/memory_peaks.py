"""A program: for each call, the most memory that it takes beside its operands, ours and PyTorch's, in bytes.

It is started with a low MALLOC_MMAP_THRESHOLD_, so that what is freed goes back to the system at once.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import opwright

SIDE = 1200
Call = Callable[..., Any]
MATRICES: dict[str, Call] = {
    "add": lambda lib, x, y: lib.add(x, y),
    "add of a transposed": lambda lib, x, y: x.t() + y,
    "add of half": lambda lib, x, y: x.half() + y.half(),
    "x * 2": lambda lib, x, y: x * 2.0,
    "x ** 2.5": lambda lib, x, y: x**2.5,
    "x % 0.3": lambda lib, x, y: x % 0.3,
    "exp": lambda lib, x, y: x.exp(),
    "sigmoid": lambda lib, x, y: x.sigmoid(),
    "erf": lambda lib, x, y: x.erf(),
    "erfinv": lambda lib, x, y: x.erfinv(),
    "lgamma": lambda lib, x, y: x.lgamma(),
    "digamma": lambda lib, x, y: x.digamma(),
    "clamp": lambda lib, x, y: x.clamp(0.2, 0.8),
    "where": lambda lib, x, y: lib.where(x > 0.5, x, y),
    "lerp": lambda lib, x, y: lib.lerp(x, y, 0.3),
    "addcmul": lambda lib, x, y: lib.addcmul(x, y, y),
    "isclose": lambda lib, x, y: lib.isclose(x, y),
    "to(float64)": lambda lib, x, y: x.to(lib.float64),
    "clone": lambda lib, x, y: x.clone(),
    "contiguous": lambda lib, x, y: x.t().contiguous(),
    "cat": lambda lib, x, y: lib.cat([x, y]),
    "roll": lambda lib, x, y: x.roll(1, 0),
    "flip": lambda lib, x, y: x.flip(0),
    "tril": lambda lib, x, y: x.tril(),
    "sum": lambda lib, x, y: x.sum(),
    "nansum": lambda lib, x, y: x.nansum(),
    "mean(-1)": lambda lib, x, y: x.mean(-1),
    "prod(-1)": lambda lib, x, y: x.prod(-1),
    "amax(-1)": lambda lib, x, y: x.amax(-1),
    "argmax(-1)": lambda lib, x, y: x.argmax(-1),
    "count_nonzero": lambda lib, x, y: x.count_nonzero(),
    "var": lambda lib, x, y: x.var(),
    "var(-1)": lambda lib, x, y: x.var(-1),
    "std(0)": lambda lib, x, y: x.std(0),
    "norm": lambda lib, x, y: x.norm(),
    "logsumexp": lambda lib, x, y: x.logsumexp(-1),
    "cumsum": lambda lib, x, y: x.cumsum(-1),
    "median": lambda lib, x, y: x.median(),
    "median(-1)": lambda lib, x, y: x.median(-1),
    "kthvalue": lambda lib, x, y: x.kthvalue(5),
    "topk": lambda lib, x, y: x.topk(5),
    "sort": lambda lib, x, y: x.sort(),
    "softmax": lambda lib, x, y: x.softmax(-1),
    "log_softmax": lambda lib, x, y: x.log_softmax(-1),
    "layer_norm": lambda lib, x, y: lib.nn.functional.layer_norm(x, (SIDE,)),
    "group_norm": lambda lib, x, y: lib.nn.functional.group_norm(x, 4),
    "batch_norm": lambda lib, x, y: lib.nn.functional.batch_norm(x, None, None, training=True),
    "gelu": lambda lib, x, y: lib.nn.functional.gelu(x),
    "silu": lambda lib, x, y: lib.nn.functional.silu(x),
    "mish": lambda lib, x, y: lib.nn.functional.mish(x),
    "elu": lambda lib, x, y: lib.nn.functional.elu(x),
    "softplus": lambda lib, x, y: lib.nn.functional.softplus(x),
    "mse_loss": lambda lib, x, y: lib.nn.functional.mse_loss(x, y),
    "huber_loss": lambda lib, x, y: lib.nn.functional.huber_loss(x, y),
    "binary_cross_entropy": lambda lib, x, y: lib.nn.functional.binary_cross_entropy(x, y),
    "matmul": lambda lib, x, y: x @ y,
}
IMAGES: dict[str, Call] = {
    "conv2d": lambda lib, x, w: lib.nn.functional.conv2d(x, w, padding=1),
    "max_pool2d": lambda lib, x, w: lib.nn.functional.max_pool2d(x, 2),
    "avg_pool2d": lambda lib, x, w: lib.nn.functional.avg_pool2d(x, 2),
    "interpolate": lambda lib, x, w: lib.nn.functional.interpolate(x, scale_factor=2, mode="bilinear"),
}


def peaks() -> Iterator[tuple[str, int, int, int]]:
    """Yield the name of a call, its peak, PyTorch's, and the size of its results."""
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    matrices = [rng.random((SIDE, SIDE), dtype=np.float32) for _ in range(2)]
    images = [rng.random(shape, dtype=np.float32) for shape in ((16, 16, 64, 64), (16, 16, 3, 3))]
    for calls, arrays in ((MATRICES, matrices), (IMAGES, images)):
        for name, call in calls.items():
            ours, size = peak(call, opwright, [opwright.from_numpy(array) for array in arrays])
            theirs, _ = peak(call, torch, [torch.from_numpy(array) for array in arrays])
            yield name, ours, theirs, size


def peak(call: Call, library: Any, operands: list[Any]) -> tuple[int, int]:
    call(library, *operands)  # what a first call loads does not count
    gc.collect()
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")
    before = resident("VmRSS")
    result = call(library, *operands)
    results = result if isinstance(result, tuple | list) else [result]
    return resident("VmHWM") - before, sum(each.numel() * each.element_size() for each in results)


def resident(field: str) -> int:
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field))


if __name__ == "__main__":
    print(json.dumps(list(peaks())))
