"""PyTorch's operators as references of the gate: values, what results look like, and how they are declared."""

from __future__ import annotations

import re
from typing import Final

from opwright.library import Library
from opwright_bindings.torch.runtime.calls import function_of, overload_named
from opwright_bindings.torch.runtime.derivatives import TorchDerivatives, TorchLooks, whole_lists
from opwright_core.dispatch.call.operator import Operator, find_operator
from opwright_gate.references import Reference, of_tensors

__all__ = ["torch_reference"]

_LIBRARIES: Final[dict[str, Library]] = {}


def torch_reference(name: str) -> Reference | None:
    """Return PyTorch's operator of a name as a reference; None where it has none that ours can be compared with."""
    try:
        overload = overload_named(name)
        declaration = _declared(name, str(overload._schema))
    except (AttributeError, RuntimeError, ValueError, TypeError):
        return None
    types, function = declaration.signature.types, function_of(name)
    call = of_tensors(lambda *values: function(*whole_lists(types, values)), sorted(declaration.signature.written))
    return Reference(
        call,
        "PyTorch",
        is_widened=False,
        declaration=declaration,
        looks=TorchLooks(overload, types),
        derivatives=TorchDerivatives(overload),
    )


def _declared(name: str, schema: str) -> Operator:
    """Return an operator of ours that is declared as PyTorch's is."""
    namespace, _, local = name.partition("::")
    of_torch = f"torch_reference_{namespace}"
    library = _LIBRARIES.setdefault(namespace, Library(of_torch, "FRAGMENT"))
    library.define(re.sub(rf"^{re.escape(namespace)}::", "", schema))
    return find_operator(f"{of_torch}::{local}")
