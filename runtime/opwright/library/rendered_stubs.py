"""The stub of an operator that a Library defines, rendered once it was called often enough to repay that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.compiled import signature_keys

__all__ = ["rendered_stub"]


def rendered_stub(operator: Operator) -> Callable[..., Any]:
    """Return a stub of an operator that a Library defines, whose calls were bound by the runtime until then."""
    from opwright.library.custom_ops import code  # which imports libraries

    stub: Any = code.code_of(operator.declaration).stub_of(operator)
    stub.__name__ = stub.__qualname__ = operator.base
    signature = operator.signature
    for name, default in (stub.__kwdefaults__ or {}).items():
        if type(default) is float or default is None:
            stub.__kwdefaults__[name] = signature.defaults[signature.positions[name]]  # adapters know it by identity
    return signature_keys.stub(stub, operator)
