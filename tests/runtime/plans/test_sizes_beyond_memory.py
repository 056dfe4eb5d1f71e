"""Sizes of a user's choosing that no memory is enough for: an error at once, before anything loops."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# In a process of its own, with a limit of memory. Each call is refused by an error that says why, and fills no memory.
PROGRAM = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
import opwright as ow
import opwright.nn.functional as F

image, row, solid, two = ow.ones(1, 1, 2, 2), ow.ones(1, 1, 4), ow.ones(1, 1, 2, 2, 2), ow.tensor([0, 1])
long = ow.ones(1).expand(2**40)
most, many = 2**31 - 1, 2**36
calls = {
    **{f"{mode} {sizes}": lambda mode=mode, sizes=sizes: F.interpolate(image, size=sizes, mode=mode)
       for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area") for sizes in ([2, most], [most, 2])},
    "antialias": lambda: F.interpolate(image, size=[2, most], mode="bilinear", antialias=True),
    "linear": lambda: F.interpolate(row, size=most, mode="linear"),
    "trilinear": lambda: F.interpolate(solid, size=[2, 2, most], mode="trilinear"),
    "scale_factor": lambda: F.interpolate(image, scale_factor=1e9, mode="bilinear"),
    "adaptive_avg_pool2d": lambda: F.adaptive_avg_pool2d(image, [2, most]),
    "adaptive_max_pool2d": lambda: F.adaptive_max_pool2d(image, [2, most]),
    "repeat": lambda: image.repeat(1, 1, 1, many),
    "repeat of all": lambda: image.repeat(1, 1, 1, 2**62),
    "repeat_interleave": lambda: image.repeat_interleave(many),
    "repeat_interleave of a tensor": lambda: ow.repeat_interleave(ow.tensor([many, 1])),
    "tile": lambda: image.tile(many),
    "arange": lambda: ow.arange(many), "arange of steps": lambda: ow.arange(0, 1, 1e-12),
    "linspace": lambda: ow.linspace(0, 1, many), "logspace": lambda: ow.logspace(0, 1, many),
    "one_hot": lambda: F.one_hot(ow.tensor([many])), "bincount": lambda: ow.bincount(ow.tensor([many])),
    "minlength": lambda: ow.bincount(two, minlength=many), "histc": lambda: ow.histc(image, bins=many),
    "pad": lambda: F.pad(image, (0, many)), "replicate": lambda: F.pad(image, (0, many, 0, 0), mode="replicate"),
    "unfold": lambda: F.unfold(image, 2, padding=2**20),
    "fold": lambda: F.fold(ow.ones(1, 4, (2**20 - 1)).expand(1, 4, 2**20 - 1), [2**20, 2**20], 2),
    "eye": lambda: ow.eye(2**20), "zeros": lambda: ow.zeros(many), "randperm": lambda: ow.randperm(many),
    "tril_indices": lambda: ow.tril_indices(2**20, 2**20), "vander": lambda: ow.vander(two, many),
    "cartesian_prod": lambda: ow.cartesian_prod(*[ow.arange(2)] * 40), "hann_window": lambda: ow.hann_window(many),
    "fft": lambda: ow.fft.fft(image, many), "diag": lambda: ow.diag(two, 2**20), "kron": lambda: ow.kron(long, two),
    "multinomial": lambda: ow.multinomial(ow.ones(2), many, replacement=True), "clone": lambda: long.clone(),
    "conv_transpose2d": lambda: F.conv_transpose2d(image, ow.ones(1, 1, 1, 1), stride=2**20),
    "split": lambda: long.split(1), "unbind": lambda: long.unbind(), "chunk": lambda: long.chunk(2**39),
    "tensor_split": lambda: image.tensor_split(2**33), "hsplit": lambda: long.hsplit(2**39),
    "unsafe_split": lambda: ow.unsafe_split(long, 1), "unsafe_chunk": lambda: ow.unsafe_chunk(long, 2**39),
    "chunks of nothing": lambda: ow.ones(0).chunk(2**40), "list": lambda: list(long), "tolist": lambda: long.tolist(),
    "tolist of rows": lambda: ow.ones(1).expand(2**20, 2**20).tolist(),
    "mvlgamma": lambda: ow.mvlgamma(ow.ones(2), 2**36),
}
for name, call in calls.items():
    print(name, flush=True)
    try:
        call()
    except MemoryError:
        pass
    except (RuntimeError, ValueError) as error:
        assert "overflow" in str(error) or "must" in str(error) or "ize" in str(error), (name, error)
    else:
        raise AssertionError(f"{name} was possible")
    (peak,) = (int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))  # in KiB
    assert peak < 2**20, f"{name} filled memory before it was refused"
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
def test_each_is_refused_at_once() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300, env=os.environ)
    assert done.returncode == 0, done.stdout[-300:] + done.stderr[-2000:]
