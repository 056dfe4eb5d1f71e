"""`SchemaCheckMode`: every operator of a block checked against its declaration, and what they did listed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from opwright.python_dispatch import TorchDispatchMode
from opwright_core.dispatch.call.operator import Operator
from opwright_core.errors import ContractError
from opwright_gate.checking.calls import Call
from opwright_gate.checking.declared import Declared
from opwright_gate.checking.observing import observe
from opwright_gate.checking.schema import undeclared

__all__ = ["Aliasing", "Mutation", "SchemaCheckMode"]


class Mutation(NamedTuple):
    """An operator's write to an argument."""

    op_name: str
    arg_name: str


class Aliasing(NamedTuple):
    """An operator's result, `output_0`, lies in the memory of an argument."""

    op_name: str
    arg_name: str
    output_number: str


class SchemaCheckMode(TorchDispatchMode):
    """A block in which operators that write or share memory otherwise than declared raise ContractError.

    `ops` are the names of those called, in order; `mutated` and `aliasing` what they did. Semantics:
    `torch._subclasses.schema_check_mode.SchemaCheckMode`, whose name for an argument `self` is `input`.
    """

    def __init__(self) -> None:
        self.ops: list[str] = []
        self.mutated: list[Mutation] = []
        self.aliasing: list[Aliasing] = []

    def reset_cache(self) -> None:
        """Forget what was called."""
        self.ops.clear()
        self.mutated.clear()
        self.aliasing.clear()

    def __torch_dispatch__(
        self,
        func: Operator,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call the operator, and look at what it does."""
        call = Call(func, func.signature.bind(tuple(args), dict(kwargs or {})))
        name = f"{func.namespace}::{func.base}"
        self.ops.append(name)
        observed = observe(call, call)
        problem = next(undeclared(observed, Declared(func)), None)
        if problem is not None:
            raise ContractError(problem)
        names = ["input" if each == "self" else each for each in func.signature.names]
        self.mutated += dict.fromkeys(Mutation(name, names[each.position]) for each in observed.written)
        self.aliasing += dict.fromkeys(
            Aliasing(name, names[operand.position], f"output_{result.position}") for result, operand in observed.views
        )
        return observed.result
