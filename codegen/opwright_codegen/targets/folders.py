"""The `__init__.py` of each folder of a package: what its modules hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["TEMPLATE", "context"]

TEMPLATE = "folder.py.j2"
_SHIMS = """
`NAME` handles every call: it makes a plan of the result, and calls the kernel of the schema with arrays. `NAME_dense`
handles calls in which every tensor is dense: row-major, with elements and dimensions, of a dtype that computes in
itself. The library's own result is what the plan would say there, so that no plan is made. """
_HELD: Final[Mapping[str, str]] = {
    "kernels_cpu": f"""Kernels for CPU: Tensors in, the arrays of NumPy to the kernel, Tensors out.
{_SHIMS}`NAME_arrays`
handles calls with plain arrays alone. Both leave all other calls to `NAME`.
""",
    "kernels_cuda": f"""Kernels for CUDA: Tensors in, the arrays of CuPy to the kernel, Tensors out.
{_SHIMS}It
leaves what it does not know to `NAME`.
""",
    "fakes": "Fake kernels that `metas` does not give: of views, of operators without tensors or with several devices.",
    "metas": "What results look like: a function for each operator that has a rule, which kernels and fakes call.",
    "composites": "Kernels that are expressions over other operators.",
    "functions": "Functions of Python modules that call operators under other names and with other signatures.",
    "batching": "Families of batching rules; `RULES` says which operator belongs to which.",
    "autocast": "How regions of autocast cast the tensors of operators.",
    "autograd": "What records calls for a backward pass: a Node class for each differentiable operator, and rows.",
    "forward": "Tangents of results, from forward formulas; `RULES` says which operator they are for.",
    "native": "Kernels in CUDA, as Python calls them: `cuda`.",
}


def context(folder: str) -> dict[str, object]:
    """Return what the template shows: the docstring."""
    return {"doc": _HELD[folder]}
