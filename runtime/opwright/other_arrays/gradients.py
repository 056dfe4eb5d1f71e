"""Calls that a framework has to see, for gradients or a program that it traces: the package's binding takes them."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from typing import Any

from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.call.packets import Packet
from opwright_core.errors import ArgumentError
from opwright_core.inputs.kinds import Kind

__all__ = ["function_of"]

_WHY = {
    "torch": (
        "requires grad, has a tangent or is traced",
        "call it under torch.no_grad(), pass x.detach(), or have the package generated with bindings = ['torch']",
    ),
    "jax": ("is traced", "have the package generated with bindings = ['jax'], or call it outside of JAX's transforms"),
}


def function_of(kind: Kind, callee: Operator | Packet) -> Any:
    """Return the framework's own function for an operator, or for all of one name. Raises ArgumentError."""
    name = callee.packet_name if isinstance(callee, Operator) else callee.name
    namespace, _, base = name.partition("::")
    operators = [callee] if isinstance(callee, Operator) else list(callee.operators.values())
    module = next(filter(None, (_binding(each.home.module, kind.binding) for each in operators if each.home)), None)
    if module is not None and module.binding.namespace == namespace:
        if kind.binding == "jax":
            found = getattr(module, base, None)
        else:
            found = getattr(getattr(sys.modules["torch"].ops, namespace), base, None)
            if isinstance(callee, Operator):
                found = getattr(found, callee.overload or "default", None)
        if found is not None:
            return found
    what, hint = _WHY[kind.binding]
    raise ArgumentError(
        f"{name}() got an array of {kind.name} that {what}, and no binding gives it to {kind.name}: {hint}"
    )


@functools.cache
def _binding(home: str, framework: str) -> Any:
    """Return the module beside the package of `home` that gives its operators to the framework, or None."""
    parts = home.split(".")
    for end in range(1, len(parts)):
        name = f"{'.'.join(parts[:end])}_{framework}"
        if importlib.util.find_spec(name) is not None:
            return importlib.import_module(name)
    return None
