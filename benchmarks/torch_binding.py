"""Operators given to PyTorch: calls and recorded calls, beside an operator written by hand with `torch.library`."""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from opwright_codegen.cli import main

from .measure import Figure, ratio

SCHEMA = """
- func: measured::axpy(Tensor x, Tensor y, float alpha=1.0) -> Tensor
  meta: pointwise(x, y, kind="int_to_float")
  dispatch: {CPU: "xp.add(xp.multiply(x, alpha), y)"}
"""
DERIVATIVES = """
- name: measured::axpy(Tensor x, Tensor y, float alpha=1.0) -> Tensor
  x: grad * alpha
  y: grad
"""
SETTINGS = """
[tool.opwright]
schemas = ["ops.yaml"]
derivatives = "derivatives.yaml"
output = "measured_ops"
bindings = ["torch"]
"""


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        ours, peer = _generated(Path(folder)), _by_hand()
        x, y = torch.ones(4), torch.ones(4)
        yield ratio("a call of an operator given to PyTorch", lambda: ours(x, y, 2.0), lambda: peer(x, y, 2.0), 2.0)
        w = torch.ones(4, requires_grad=True)
        yield ratio("the same, recorded", lambda: ours(w, y, 2.0), lambda: peer(w, y, 2.0), 2.0)
        yield ratio(
            "forward and backward",
            lambda: ours(w, y, 2.0).sum().backward(),
            lambda: peer(w, y, 2.0).sum().backward(),
            2.0,
            rounds=100,
        )


def _generated(folder: Path) -> Any:
    for name, text in (("ops.yaml", SCHEMA), ("derivatives.yaml", DERIVATIVES), ("pyproject.toml", SETTINGS)):
        (folder / name).write_text(text)
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        main(["generate"])
    sys.path.insert(0, str(folder))
    importlib.import_module("measured_ops_torch")
    found = torch.ops.measured.axpy
    found(torch.ones(1), torch.ones(1))  # loads its kernel
    return found


def _by_hand() -> Any:
    @torch.library.custom_op("measured_by_hand::axpy", mutates_args=())
    def axpy(x: torch.Tensor, y: torch.Tensor, alpha: float = 1.0) -> torch.Tensor:
        return torch.from_numpy(np.add(np.multiply(x.detach().numpy(), alpha), y.detach().numpy()))

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.alpha = inputs[2]

    def backward(ctx: Any, grad: Any) -> Any:
        needs = ctx.needs_input_grad
        return grad * ctx.alpha if needs[0] else None, grad if needs[1] else None, None

    axpy.register_autograd(backward, setup_context=setup_context)
    return axpy
