"""Operators of PyTorch as subjects of the gate: each one declared as an operator of ours, whose kernels call it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import torch

from opwright.bindings.torch.calls import function_of
from opwright.library import Library
from opwright_core.dispatch.call.operator import Operator, find_operator

__all__ = ["torch_subjects"]

_LIBRARIES: Final[list[Library]] = []
_PREFIX: Final = "torch_"


def torch_subjects(target: str) -> Iterator[tuple[str, Operator, str]]:
    """Yield the operators of `NAMESPACE` or `NAMESPACE::NAME` in PyTorch's registry: name, one of ours that calls it,
    and how a program does. Raises ValueError where there is none."""
    namespace, _, base = target.partition("::")
    schemas = {(each.name, each.overload_name): str(each) for each in torch._C._jit_get_all_schemas()}
    names = sorted(name for name in torch._C._dispatch_get_all_op_names() if name.startswith(f"{namespace}::"))
    library = Library(f"{_PREFIX}{namespace}", "FRAGMENT")
    _LIBRARIES.append(library)
    count = 0
    for name in names:
        if base and name.partition(".")[0] != f"{namespace}::{base}" and name != target:
            continue
        parts = name.partition(".")
        schema = schemas.get((parts[0], parts[2]))
        if schema is None:
            continue
        operator = _declared(library, namespace, name, schema)
        if operator is not None:
            count += 1
            yield f"torch:{name}", operator, f'function_of("{name}")'
    if not count:
        raise ValueError(f"PyTorch has no operator {target}: import the module that registers it")


def _declared(library: Library, namespace: str, name: str, schema: str) -> Operator | None:
    """Return our operator of this schema, None where ours have no such types."""
    local = name.partition("::")[2]
    text = re.sub(rf"^{re.escape(namespace)}::", "", schema)
    try:
        library.define(text)
        function = function_of(name)
        for key in ("CPU", "Meta"):
            library.impl(local, function, key)
    except Exception:
        return None
    return find_operator(f"{_PREFIX}{namespace}::{local}")
