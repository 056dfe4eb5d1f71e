"""Type variables of the transforms, and the type of what `vjp` returns: for type checkers."""

from __future__ import annotations

from typing import Any, ParamSpec, Protocol, TypeVar, TypeVarTuple

__all__ = ["Aux", "First", "P", "Pullback", "Result", "Ts"]

# A gradient has the structure of its argument: the first, unless `argnums` says otherwise.
P = ParamSpec("P")
Ts = TypeVarTuple("Ts")
First = TypeVar("First")
Result = TypeVar("Result")
Aux = TypeVar("Aux")


class Pullback(Protocol[*Ts]):
    """The function that `vjp` returns, for type checkers."""

    def __call__(self, *cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> tuple[*Ts]: ...
