"""The functions that lower packages call in higher ones (late binding): a typed table that `opwright.providers` fills.

The first call imports that, and then the package that provides the function: imports from below would be circular, and
would load packages that the program does not need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any, Protocol, TypeAlias

from opwright_core.errors import ContractError
from opwright_core.names.late_imports import import_late

__all__ = ["Fakes", "Gradients", "Handlers", "Hooks", "Levels", "Operators", "Tools", "Traces", "hooks"]

Function = Callable[..., Any]
# What the questions are about: classes of rooms that the ground does not know.
KernelRow: TypeAlias = Any
KeySet: TypeAlias = Any
Operator: TypeAlias = Any
Signature: TypeAlias = Any


class Operators(Protocol):
    """The functions of `opwright.backends` that lower packages call: what arrays and plans ask of operators, and do
    with them."""

    def wrong_result(self, problem: str, what: str) -> ContractError: ...
    def name_row(self, error: Exception, row: KernelRow) -> None: ...


class Fakes(Protocol):
    """The functions of `opwright.fake` that lower packages call: tensors without data, and the kernels that run on
    them."""

    def rule_kernel(self, operator: Operator, meta: Function) -> tuple[Function, Function | None]: ...
    def mixed(self, operator: Operator) -> Function: ...
    def in_mode(self, function: Function) -> Function: ...
    def check_fake_kernel(self, operator: Operator, function: Function) -> Function: ...


class Gradients(Protocol):
    """The functions of `opwright.autograd` that lower packages call: wrappers of kernels."""

    def making(self, kernel: Function) -> Function: ...
    def checking(self, kernel: Function, written: Iterable[int]) -> Function: ...
    def differentiating(self, operator: Operator, below: Function) -> Function: ...
    def regenerating(self, kernel: Function, below: Function, signature: Signature) -> Function: ...
    def noting(self, kernel: Function) -> Function: ...
    def warn_in_backward(self, operator: Operator, below: Function) -> Function: ...
    def inplace_or_view(self, operator: Operator, below: Function) -> Function: ...
    def count_writes(self, operator: Operator, below: Function) -> Function: ...


class Handlers(Protocol):
    """The function of `opwright.python_dispatch` that lower packages call: calls that go to handlers."""

    def call_handlers(
        self, operator: Operator, keyset: KeySet, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any: ...


class Levels(Protocol):
    """The functions of `opwright.levels` that lower packages call: what handles calls while a transform is on."""

    def front_of(self, operator: Operator) -> Function: ...
    def back_of(self, operator: Operator) -> Function: ...


class Traces(Protocol):
    """The functions of `opwright.fx` that lower packages call: what handles the key Tracer."""

    def record(self, operator: Operator, keyset: KeySet, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...


class Tools(Protocol):
    """The function of packages around the whole that lower packages call: all is loaded."""

    def load_whole(self) -> None: ...


@dataclass(slots=True)
class Hooks:
    """The table: for each package, the function that loads it and returns its provider."""

    operators: Callable[[], Operators]
    fakes: Callable[[], Fakes]
    gradients: Callable[[], Gradients]
    handlers: Callable[[], Handlers]
    levels: Callable[[], Levels]
    transforms: Callable[[], Any]  # which the library alone asks
    traces: Callable[[], Traces]
    tools: Callable[[], Tools]


def _first(room: str) -> Callable[[], Any]:
    def ask() -> Any:
        import_late("opwright.providers")
        return getattr(hooks, room)()

    return ask


hooks = Hooks(*(_first(each.name) for each in fields(Hooks)))
