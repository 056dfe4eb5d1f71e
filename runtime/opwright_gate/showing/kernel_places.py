"""The functions that compute an operator, and where they stand."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from opwright.autograd.recorders import Recorder
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.registry.kernel_kinds import Lazy, LazyWrapper, Shim
from opwright_core.keys import DispatchKey
from opwright_core.texts.row_texts import is_expression, row_text

__all__ = ["formulas_of", "kernels_of", "place_of"]

_KEYS = (DispatchKey.CPU, DispatchKey.CompositeImplicitAutograd, DispatchKey.CompositeExplicitAutograd)


def kernels_of(operator: Operator) -> Iterator[tuple[str, str, str]]:
    """Yield for keys of the CPU and for composites the key, the kernel as text, and where its function stands; of what
    is generated, no place: the declaration is it."""
    for key in _KEYS:
        found = operator.registrations.get(key)
        kernel = found[-1].kernel if found else None
        if isinstance(kernel, Lazy) and kernel.loaded is None:
            kernel.load()
        loaded = kernel.loaded if isinstance(kernel, Lazy) else kernel
        row = loaded.row if isinstance(loaded, Shim) else None
        if row is not None:
            place = "" if is_expression(row) else place_of(row.function)
            yield key.name, row_text(row, operator.signature.names), place
        elif kernel is not None:
            function = getattr(loaded, "function", None)
            yield key.name, "", "" if isinstance(kernel, Lazy) else place_of(function)


def place_of(function: Any) -> str:
    """Return the file and line of a function: in the current folder, else in the package that has it."""
    if not isinstance(function, FunctionType):
        return ""
    function = inspect.unwrap(function)  # what `np.errstate` decorates
    file, line = function.__code__.co_filename, function.__code__.co_firstlineno
    whole, here = os.path.realpath(file), os.path.realpath(os.getcwd())
    if not os.path.isfile(whole):
        return ""
    if whole.startswith(here + os.sep) and "site-packages" not in whole:
        return f"{os.path.relpath(whole, here)}:{line}"
    module = sys.modules.get(function.__module__)
    depth = function.__module__.count(".") + (0 if hasattr(module, "__path__") else 1)
    return f"{'/'.join(whole.split(os.sep)[-max(depth, 1) :])}:{line}"


def formulas_of(operator: Operator) -> dict[str, str]:
    """Return the formulas of gradients that a generated package has, by the argument."""
    for key, found in operator.registrations.items():
        kernel = found[-1].kernel if found else None
        if isinstance(key, DispatchKey) and key.name.startswith("Autograd") and isinstance(kernel, LazyWrapper):
            if kernel.loaded is None:
                kernel.load()
            node = getattr(kernel.loaded and kernel.loaded.make, "node", None)
            if isinstance(getattr(kernel.loaded, "make", None), Recorder) and node is not None:
                names = [operator.signature.names[place] for place in node.operands]
                return {name: text for name, text in zip(names, getattr(node, "formulas", ()), strict=False) if text}
    return {}
