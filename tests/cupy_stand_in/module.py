"""The module that stands for `cupy`: every name is one of CuPy's, made when it is first asked for."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import cupy
import numpy as np
from cupy._sorting.search import _where_ufunc

from . import functions
from .loops import REDUCTIONS
from .ufuncs import UFunc

_WHERE = UFunc("where", _where_ufunc, np.where)


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """`cupy.where`: the condition is an array of CuPy's."""
    if x is None and y is None:
        return condition.nonzero()
    return _WHERE(condition.astype("?", copy=False), x, y)


class StandIn(ModuleType):
    """A module of CuPy's, or `cupy` itself. AttributeError for a name that CuPy lacks, or that NumPy cannot model."""

    def __init__(self, own: ModuleType, numpy: Any, path: str = "") -> None:
        super().__init__(own.__name__)
        self._own, self._numpy, self._path = own, numpy, path

    def __getattr__(self, name: str) -> Any:
        path = f"{self._path}{name}"
        if name.startswith("__") or not hasattr(self._own, name):
            raise AttributeError(f"module {self._own.__name__!r} has no attribute {name!r}")
        made = self._made(name, path, getattr(self._own, name), getattr(self._numpy, name, None))
        setattr(self, name, made)
        return made

    def _made(self, name: str, path: str, own: Any, compute: Any) -> Any:
        if path in functions.MODELS:
            return functions.MODELS[path]
        if path in functions.OWN:
            return functions.of_own(own)
        if isinstance(own, ModuleType):
            return StandIn(own, compute, f"{path}.")
        if isinstance(own, type) or not callable(own):
            return own
        if path in REDUCTIONS:
            return functions.of_method(path, own)
        if compute is None:
            raise AttributeError(f"the stand-in has no model of cupy.{path}")
        return UFunc(name, own, compute) if isinstance(own, cupy.ufunc) else functions.of_numpy(path, own, compute)


CUPY = StandIn(cupy, np)
CUPY.where = where  # type: ignore[attr-defined]
