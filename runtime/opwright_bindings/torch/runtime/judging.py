"""Operators of PyTorch as subjects of the gate: each one declared as an operator of ours, whose kernels call it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import torch

from opwright.library import Library
from opwright.metadata.tags import Tag
from opwright_bindings.torch.runtime.calls import function_of, overload_named
from opwright_bindings.torch.runtime.judged_gradients import has_gradients, recorded
from opwright_core.dispatch.call.operator import Operator, find_operator

__all__ = ["known_operator", "torch_subjects"]

_LIBRARIES: Final[list[Library]] = []
_KNOWN: Final[list[Any]] = []
_PREFIX: Final = "torch_"


def torch_subjects(target: str) -> Iterator[tuple[str, Operator, str]]:
    """Yield the operators of `NAMESPACE`, `NAMESPACE::NAME` or `NAMESPACE::NAME.OVERLOAD` in PyTorch's registry: name,
    one of ours that calls it, and how a program does. Raises ValueError where there is none."""
    namespace, _, base = target.partition("::")
    schemas = {(each.name, each.overload_name): str(each) for each in torch._C._jit_get_all_schemas()}
    names = sorted(name for name in torch._C._dispatch_get_all_op_names() if name.startswith(f"{namespace}::"))
    library = Library(f"{_PREFIX}{namespace}", "FRAGMENT")
    _LIBRARIES.append(library)
    count = 0
    for name in names:
        if base and target not in (name, f"{name}.default", name.partition(".")[0]):
            continue
        count += 1
        parts = name.partition(".")
        schema = schemas.get((parts[0], parts[2]))
        if schema is None:
            continue
        operator = _declared(library, namespace, name, schema)
        if operator is not None:  # (some have types that ours do not have)
            overload = f"{parts[0].partition('::')[2]}.{parts[2] or 'default'}"
            yield f"torch:{name}", operator, f"torch.ops.{namespace}.{overload}"
    if not count:
        raise ValueError(f"PyTorch has no operator {target}: import the module that registers it")


def known_operator() -> str:
    """Define a custom operator in PyTorch, for what its first call loads; return its name."""
    if not _KNOWN:
        known: Any = torch.library.custom_op("opwright_gate::known", _twice, mutates_args=())
        known.register_fake(torch.empty_like)
        _KNOWN.append(known)
    return "opwright_gate::known"


def _twice(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


def _declared(library: Library, namespace: str, name: str, schema: str) -> Operator | None:
    """Return our operator of this schema, None where ours have no such types."""
    local = name.partition("::")[2]
    text = re.sub(rf"^{re.escape(namespace)}::", "", schema)
    try:
        given = [each.name for each in overload_named(name).tags]
        library.define(text, tags=[getattr(Tag, each) for each in given if hasattr(Tag, each)])
        function, operator = function_of(name), find_operator(f"{_PREFIX}{namespace}::{local}")
        for key in ("CPU", "Meta"):
            library.impl(local, _with_all(operator, function), key)
        if has_gradients(name) and not operator.signature.written:
            library.impl(local, _with_all(operator, recorded(name, function)), "Autograd")
    except Exception:
        return None
    return operator


def _with_all(operator: Operator, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the kernel that gives a function all arguments in order: a call leaves out what is default."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        return function(*operator.signature.bind(args, kwargs))

    return kernel
