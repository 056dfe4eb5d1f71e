"""Operators for Dask: what modules that `bindings = ["dask"]` writes import."""

from __future__ import annotations

from opwright.doors.frameworks import FrameworkMissing

try:
    import dask.array as _array  # noqa: F401
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "dask":
        raise
    raise FrameworkMissing("Dask", "dask[array]") from None

from opwright.doors.dask.door import Door, Function, open_door
from opwright.doors.dask.families import Along, Elementwise, Everything, Folded, Leading, Product, Reducing
from opwright.doors.dask.spans import At, Windows

__all__ = [
    "Along",
    "At",
    "Door",
    "Elementwise",
    "Everything",
    "Folded",
    "Function",
    "Leading",
    "Product",
    "Reducing",
    "Windows",
    "open_door",
]
