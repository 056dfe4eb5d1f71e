"""Operators for Dask: what modules that `bindings = ["dask"]` writes import."""

from __future__ import annotations

from opwright_bindings.frameworks import FrameworkMissing

try:
    import dask.array as _array  # noqa: F401
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "dask":
        raise
    raise FrameworkMissing("Dask", "dask[array]") from None

from opwright.dimensions.families import Along, Elementwise, Everything, Folded, Leading, Product, Reducing
from opwright.dimensions.windows import At, Windows
from opwright_bindings.dask.runtime.binding import Binding, Function, open_binding
from opwright_bindings.dask.runtime.costs import annotate_costs

__all__ = [
    "Along",
    "At",
    "Binding",
    "Elementwise",
    "Everything",
    "Folded",
    "Function",
    "Leading",
    "Product",
    "Reducing",
    "Windows",
    "annotate_costs",
    "open_binding",
]
