"""The binding to PyTorch: operators of a generated package, defined with torch.library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from opwright_bindings.frameworks import import_beside
from opwright_bindings.torch.runtime.arguments import Arguments
from opwright_bindings.torch.runtime.autocasting import register_autocast
from opwright_bindings.torch.runtime.batching import Family
from opwright_bindings.torch.runtime.costs import register_cost
from opwright_bindings.torch.runtime.fakes import fake_kernel_of
from opwright_bindings.torch.runtime.gradients import register_formulas
from opwright_bindings.torch.runtime.kernels import by_device, kernel_of, on_stream
from opwright_bindings.torch.runtime.opaque import register_opaque
from opwright_bindings.torch.runtime.samples import Looping
from opwright_bindings.torch.runtime.sharding import register_sharding
from opwright_bindings.torch.runtime.tangents import refuse_tangents
from opwright_bindings.torch.runtime.writing import register_replacement, register_writing
from opwright_core.dispatch.call.operator import find_operator
from opwright_core.dispatch.registry.forward_rules import ForwardRule

__all__ = ["Binding", "open_binding"]

# Tags that mean in PyTorch what they mean here, by name.
_TAGS = ("pointwise", "reduction", "nondeterministic_seeded", "dynamic_output_shape", "data_dependent_output")


def open_binding(namespace: str, package: str, module: str) -> Binding:
    """Import the generated package that stands beside `module`, and return what gives PyTorch its operators."""
    import_beside(package, module)
    return Binding(namespace)


class Binding:
    """The operators of one namespace in PyTorch. They are there as long as this is."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.library = torch.library.Library(namespace, "FRAGMENT")
        self._arguments: dict[str, Arguments] = {}
        self._rules: dict[str, ForwardRule] = {}

    def define(
        self,
        schema: str,
        *,
        batch: Family | None = None,
        autocast: Mapping[str, str] | None = None,
        functional: str = "",
    ) -> None:
        """Define an operator: its kernels, its fake, its rule for vmap, its shardings, its casts under autocast.

        `functional` is the operator whose results an in-place or out variant writes: it gives the former its gradients,
        and replaces the latter in compiled programs.
        """
        name = schema.partition("(")[0]
        ours = find_operator(f"{self.namespace}::{name}")
        written = bool(ours.signature.written)
        tags = self._tags(ours.tags, schema)
        is_replaced = torch.Tag.out in tags and bool(functional)
        self.library.define(schema, tags=[each for each in tags if not is_replaced or each is not torch.Tag.out])
        overload = self.overload(name)
        arguments = self._arguments[name] = Arguments(ours, overload._schema)
        kernel = kernel_of(arguments)
        self.library.impl(name, kernel, "CPU")
        self.library.impl(name, on_stream(kernel), "CUDA")
        if not arguments.tensors and not arguments.lists:
            self.library.impl(name, by_device(overload, arguments), "BackendSelect")
        torch.library.register_fake(ours.name, fake_kernel_of(arguments), lib=self.library)
        register_cost(overload, arguments)
        found = partial(self.overload, functional) if functional else None
        if found is not None and is_replaced:
            register_replacement(self.library, name, overload, found)
        if written:
            register_writing(self.library, name, overload, None if is_replaced else found)
        if batch is None and arguments.have_lists and not written:
            batch = Looping()
        if batch is not None and arguments.may_have_rules:
            torch.library.register_vmap(ours.name, batch.rule_of(overload, arguments), lib=self.library)
        register_sharding(overload, arguments)
        for device, policy in (autocast or {}).items():
            register_autocast(self.library, name, overload, arguments, device, policy)

    def gradient(
        self,
        name: str,
        kept: Callable[..., tuple[Any, ...]],
        backward: Callable[..., Any],
        *,
        of: Sequence[str],
        outputs: Sequence[int] = (0,),
    ) -> None:
        """Register the gradients of arguments by formulas: `kept` is told the arguments and results of a call, and what
        it returns is given to `backward`, after the gradients of `outputs` and which of `of` need one."""
        rule = partial(self._rules.get, name)
        register_formulas(self.library, self.overload(name), self._arguments[name], kept, backward, of, outputs, rule)

    def opaque_gradient(self, name: str, of: Sequence[str]) -> None:
        """Register the gradients of arguments by an operator of their own, which computes them as Opwright does."""
        rule = partial(self._rules.get, name)
        register_opaque(self.library, self.overload(name), self._arguments[name], of, rule)

    def tangents(self, name: str, rule: ForwardRule | None = None) -> None:
        """Give an operator that has a gradient the rule of its tangents; refuse tangents of one that has none."""
        if rule is None:
            refuse_tangents(self.library, self.overload(name), self._arguments[name])
        else:
            self._rules[name] = rule

    def overload(self, name: str) -> torch._ops.OpOverload:
        """Return PyTorch's operator of that name, `add.Tensor`."""
        base, _, overload = name.partition(".")
        found: torch._ops.OpOverload = getattr(getattr(getattr(torch.ops, self.namespace), base), overload or "default")
        return found

    @staticmethod
    def _tags(ours: Sequence[str], schema: str) -> tuple[torch.Tag, ...]:
        """Return the tags of an operator: `out` and `inplace` tell PyTorch how to make it functional."""
        found = [getattr(torch.Tag, name) for name in _TAGS if name in ours]
        arguments, _, returns = schema.rpartition(") -> ")
        if "!" in returns:
            found.append(torch.Tag.inplace if "(a!) " in arguments.partition(",")[0] else torch.Tag.out)
        return (torch.Tag.pt2_compliant_tag, *found)
