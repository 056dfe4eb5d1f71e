"""Operators planted for the gate: defined, and noted with the cause that the gate is to name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import opwright
from opwright.library import custom_op
from opwright_gate.references import reference

__all__ = ["CAUSES", "KEPT", "like", "plant"]

CAUSES: dict[str, tuple[str, str]] = {}  # by name: the class of fault, its cause
KEPT: list[Any] = []


def like(x: Any, *_: Any, **__: Any) -> Any:
    """The fake of most: row-major, as the first argument is, whose layout nobody keeps."""
    return opwright.empty(x.shape, dtype=x.dtype)


def plant(
    namespace: str,
    cause: str = "",
    kind: str = "",
    *,
    fake: Callable[..., Any] | None = like,
    ref: Callable[..., Any] | None = None,
    mutates: Any = (),
    schema: str | None = None,
    backward: Callable[..., Any] | None = None,
    setup: Callable[..., Any] | None = None,
    **options: Any,
) -> Callable[[Any], Any]:
    """Define a function as an operator of the namespace, by its own name."""

    def define(function: Any) -> Any:
        name = f"{namespace}::{function.__name__.lstrip('_')}"
        op = custom_op(name, function, mutates_args=mutates, schema=schema, **options)
        if fake is not None:
            op.register_fake(fake)
        if ref is not None:
            reference(name, ref)
        if backward is not None:
            op.register_autograd(backward, setup_context=setup or save_all)
        CAUSES[name] = kind, cause
        KEPT.append(op)
        return op

    return define


def save_all(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*[each for each in inputs if isinstance(each, opwright.Tensor)])
    ctx.rest = [each for each in inputs if not isinstance(each, opwright.Tensor)]
