"""PyTorch's operators beside ours of the same name: values, what results look like, how they are declared."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import torch

from opwright.bindings.torch.calls import function_of, overload_named, theirs_of
from opwright.bindings.torch.derivatives import TorchDerivatives, tensors_in
from opwright.bindings.torch.values import our_dtype
from opwright.library import Library
from opwright_core.dispatch.call.operator import Operator, find_operator

__all__ = ["TorchReference", "torch_reference"]

_LIBRARIES: Final[dict[str, Library]] = {}


class TorchReference(NamedTuple):
    """An operator of PyTorch: a function of Tensors of ours, what its results look like, its derivatives, and an
    operator that is declared as it is."""

    function: Callable[..., Any]
    looks: _Looks
    derivatives: TorchDerivatives
    declaration: Operator


def torch_reference(name: str) -> TorchReference | None:
    """Return PyTorch's operator of a name; None where it has none that ours can be compared with."""
    try:
        overload = overload_named(name)
        declaration = _declared(name, str(overload._schema))
    except (AttributeError, RuntimeError, ValueError, TypeError):
        return None
    types, function = declaration.signature.types, function_of(name)
    return TorchReference(
        lambda *values: function(*_whole(types, values)),
        _Looks(overload, types),
        TorchDerivatives(overload),
        declaration,
    )


def _whole(types: Sequence[str], values: Sequence[Any]) -> list[Any]:
    """Return arguments with as many numbers as `int[2]` has, where one stands for all."""
    counts = [re.search(r"int\[(\d)\]", text, re.IGNORECASE) for text in types]
    return [
        value * int(count[1]) if count is not None and isinstance(value, list) and len(value) == 1 else value
        for count, value in zip(counts, values, strict=True)
    ]


class _Looks:
    """Shape, strides and dtype of the results of one operator, on Tensors of ours."""

    def __init__(self, overload: torch._ops.OpOverload, types: Sequence[str]) -> None:
        self._overload = overload
        self._types = types
        self._positional = sum(not each.kwarg_only for each in overload._schema.arguments)

    def __call__(self, *values: Any) -> list[tuple[tuple[int, ...], tuple[int, ...], Any]]:
        """Return what PyTorch's results look like. Raises what it raises."""
        given = [theirs_of(each) for each in _whole(self._types, values)]
        names = [each.name for each in self._overload._schema.arguments[self._positional :]]
        with torch.no_grad():
            keywords = dict(zip(names, given[self._positional :], strict=True))
            found = self._overload(*given[: self._positional], **keywords)
        return [(tuple(each.shape), tuple(each.stride()), our_dtype(each.dtype)) for each in tensors_in(found)]


def _declared(name: str, schema: str) -> Operator:
    """Return an operator of ours that is declared as PyTorch's is."""
    namespace, _, local = name.partition("::")
    of_torch = f"torch_reference_{namespace}"
    library = _LIBRARIES.setdefault(namespace, Library(of_torch, "FRAGMENT"))
    library.define(re.sub(rf"^{re.escape(namespace)}::", "", schema))
    return find_operator(f"{of_torch}::{local}")
