"""Operators for xarray: what modules that `bindings = ["xarray"]` writes import."""

from __future__ import annotations

from opwright_bindings.frameworks import FrameworkMissing

try:
    import xarray as _xarray  # noqa: F401
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "xarray":
        raise
    raise FrameworkMissing("xarray", "xarray") from None

from opwright_bindings.xarray.runtime.binding import Binding, Function, open_binding

__all__ = ["Binding", "Function", "open_binding"]
