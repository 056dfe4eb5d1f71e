"""The classes of results that have names: `isinstance(opwright.max(x, 0), opwright.return_types.max)`.

Names of `torch.return_types`: `max`, and `max_out` for what is written to `out=`.
"""

from __future__ import annotations

from abc import ABCMeta
from functools import cache
from typing import Any

from opwright.namespaces import ops
from opwright_core.dispatch.registry.tables import registry

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    """Return the class of the results of an operator. Raises AttributeError where it has no names for them."""
    found = None if name.startswith("_") else _class(name)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}: no results of this operator have names")
    return found


@cache
def _class(name: str) -> type | None:
    base = name.removesuffix("_out")
    if not hasattr(ops.aten, base):
        return None
    named: list[Any] = [
        operator.result
        for operator in list(registry.operators.values())
        if operator.namespace == "aten"
        and operator.base == base
        and operator.result is not None
        and bool(operator.signature.written) == name.endswith("_out")
    ]
    if len(named) < 2:
        return next(iter(named), None)
    made = ABCMeta(name, (tuple,), {"__module__": __name__, "__doc__": f"The results of all operators `{base}`."})
    for each in named:
        made.register(each)
    return made
