"""The programme of PyTorch's dispatcher tutorial, `examples/dispatcher_tutorial`, and what its kernels cast with."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import opwright
from opwright.amp import cached_cast, promote_type

MAIN = Path(__file__).parents[2] / "examples" / "dispatcher_tutorial" / "main.py"


def test_what_it_prints(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, str(MAIN)], capture_output=True, text=True, check=True, cwd=tmp_path)
    printed = done.stdout
    for expected in (
        "  tensor([11., 22.], grad_fn=<MyAddBackward>)\n  gradient: tensor([1., 1.])\n",
        "  myadd on cells\n  tensor([20., 40.])\n",
        "without data:\n  cuda\n",
        "  myadd on the CPU, in float32\n  myadd on the CPU, in bfloat16\n  float32 bfloat16\n",
        "  myops::myround: a backward pass went through it\n",
        "In place, counted: tensor([20., 40.]) version 1\n",
        "  calling myops.myadd.default\n",
        "  calling aten.sin.default\n",
    ):
        assert expected in printed
    table = dict(line.split(": ", 1) for line in printed.partition("The table:\n")[2].splitlines()[1:])
    for key, module, rule in [
        ("CPU", "cpu", "kernel"),
        ("CUDA", "cuda", "kernel"),
        ("PrivateUse1", "cells", "kernel"),
        ("AutogradCPU", "autograd", "autograd kernel"),
        ("AutogradCUDA", "autograd", "autograd kernel"),
        ("Autocast", "autocast", "kernel"),
    ]:
        assert f"myops_{module}.py:" in table[key] and table[key].endswith(f"[{rule}]")


def test_casts_of_an_autocast_kernel() -> None:
    half, single, double = (
        opwright.ones(2, dtype=dtype) for dtype in (opwright.bfloat16, opwright.float32, opwright.float64)
    )
    whole = opwright.ones(2, dtype=opwright.int64)
    found = cached_cast("bfloat16", [single, double, whole, None, 3, (half, single)])
    assert [getattr(value, "dtype", value) for value in found[:5]] == [
        opwright.bfloat16, opwright.float64, opwright.int64, None, 3,
    ]  # fmt: skip
    assert [tensor.dtype for tensor in found[5]] == [opwright.bfloat16] * 2 and found[5][0] is half
    assert cached_cast("bfloat16", single, "cuda") is single
    assert promote_type("bfloat16", half, whole, double, 3.0) == opwright.bfloat16
    assert promote_type("bfloat16", half, [single, half]) == opwright.float32
    assert promote_type("bfloat16", half, single, device_type="cuda") == opwright.bfloat16
    with pytest.raises(RuntimeError, match="float16 is neither of the lower precision bfloat16 nor float32"):
        promote_type("bfloat16", half, half.to(opwright.float16))
    with pytest.raises(RuntimeError, match="float64"):
        promote_type("float64", half)


def test_a_cast_is_recorded() -> None:
    x = opwright.tensor([1.0, 2.0], requires_grad=True)
    (cached_cast("bfloat16", x) * 2).sum().backward()
    assert x.grad is not None and x.grad.dtype == opwright.float32 and x.grad.tolist() == [2, 2]
