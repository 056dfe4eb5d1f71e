"""Tensors on CuPy's own arrays over memory that nobody owns: what looks at metadata alone needs no driver."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("cupy", reason="needs CuPy: pip install --group cuda-tests")

# Other tests may have put the stand-in in CuPy's place, so that this runs in a process of its own: a line for each
# question.
PROGRAM = """
import cupy, numpy as np, opwright as o
pointer = cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(1 << 20, 1 << 20, None, 0), 0)

def tensor(*shape, dtype="float32", strides=None):
    return o.as_tensor(cupy.ndarray(shape, dtype, pointer, strides))

def told(what, ask):
    try:
        print(what, "|", ask())
    except Exception as error:
        print(what, "|", type(error).__name__, " ".join(str(error).split()))

x = tensor(2, 3)
told("device", lambda: (x.device, x.is_cuda, x.get_device(), x.dtype, x.shape, x.stride(), x.numel()))
told("pointer", lambda: (x.data_ptr() == 1 << 20, x[1].data_ptr() - x.data_ptr(), x[1].storage_offset()))
told("views", lambda: [each.stride() for each in (
     x.t(), x[0], x[:, 1:], x.view(3, 2), x.unsqueeze(1), x.expand(4, 2, 3),
     x.as_strided((2, 2), (1, 1)), x.permute(1, 0), x.flatten(), x.narrow(1, 0, 2), x.diagonal(), x.view(o.int32))])
told("base", lambda: (x.t()._base is x, x.t().is_contiguous(), x.detach().data_ptr() == x.data_ptr()))
told("view error", lambda: x.view(4))
told("stride error", lambda: x.t().view(6))
told("slice", lambda: (x[:0].stride(), x[:0].shape))
told("bfloat16", lambda: (tensor(2, dtype="bfloat16").dtype, tensor(2, dtype="bfloat16").element_size()))
told("structured", lambda: o.as_tensor(cupy.ndarray((2,), np.dtype([("a", "f4")]), pointer)))
told("matrix", lambda: x @ x)
told("shapes", lambda: x.t() + tensor(2, 4))
told("mixed", lambda: x + o.ones(2, 3))
told("out", lambda: o.add(x, x, out=o.ones(2, 3)))
told("numpy", lambda: x.numpy())
told("asarray", lambda: np.asarray(x))
told("requires_grad", lambda: (x.detach().requires_grad_().requires_grad, tensor(2, dtype="int32").requires_grad_()))
told("index error", lambda: x[5])
told("dim error", lambda: x.sum(3))
told("fake", lambda: o.fake.FakeTensorMode().from_tensor(x).device)
told("driver", lambda: x + 1)
"""

EXPECTED = {
    "device": "(device(type='cuda', index=0), True, 0, dtype('float32'), opwright.Size([2, 3]), (3, 1), 6)",
    "pointer": "(True, 12, 3)",
    "views": "[(1, 3), (1,), (3, 1), (2, 1), (3, 3, 1), (0, 3, 1), (1, 1), (1, 3), (1,), (3, 1), (4,), (3, 1)]",
    "base": "(True, False, True)",
    "slice": "((3, 1), opwright.Size([0, 3]))",
    "bfloat16": "(dtype(bfloat16), 2)",
    "structured": "TypeError can't convert cupy.ndarray of type",
    "view error": "RuntimeError shape '[4]' is invalid for input of size 6",
    "stride error": "RuntimeError view size is not compatible",
    "matrix": "RuntimeError",
    "shapes": "RuntimeError The size of tensor a (2) must match the size of tensor b (4)",
    "mixed": "RuntimeError Expected all tensors to be on the same device, but found at least two devices, cuda:0",
    "out": "RuntimeError Expected out tensor to have device cuda:0, but got cpu instead",
    "numpy": "TypeError can't convert cuda:0 device type tensor to numpy",
    "asarray": "TypeError can't convert cuda:0 device type tensor to numpy",
    "requires_grad": "RuntimeError only Tensors of floating point dtype can require gradients",
    "index error": "IndexError",
    "dim error": "IndexError",
    "fake": "cuda:0",
}


@pytest.fixture(scope="module")
def answers() -> dict[str, str]:
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return dict(line.split(" | ", 1) for line in done.stdout.splitlines())


@pytest.mark.parametrize("what", EXPECTED)
def test_metadata_needs_no_driver(answers: dict[str, str], what: str) -> None:
    assert answers[what].startswith(EXPECTED[what])


def test_a_kernel_needs_one(answers: dict[str, str]) -> None:
    assert "CUDARuntimeError" in answers["driver"]
