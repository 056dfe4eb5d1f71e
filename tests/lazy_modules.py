"""Modules that calls load late, loaded at once: for programs that watch what a process reaches."""

from __future__ import annotations

import importlib
import pkgutil

import numpy as np

__all__ = ["LEFT_OUT", "load_what_is_lazy"]

LEFT_OUT = (
    "opwright_bindings", "opwright_gate.torch_references", "opwright.__main__", "opwright.facade_stub",
    "opwright_aten.kernels_cuda",
)  # fmt: skip


def load_what_is_lazy() -> None:
    """Import each module that a call could load late, and look up the kernels in C: their files are opened now."""
    import opwright
    import opwright_aten
    import opwright_core
    import opwright_kernels

    for package in (opwright, opwright_core, opwright_kernels, opwright_aten):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.startswith(LEFT_OUT):
                importlib.import_module(module.name)
    opwright.exp(np.ones((2, 3))), opwright.sum(opwright.ones(2, 2) @ opwright.ones(2, requires_grad=True)).backward()
