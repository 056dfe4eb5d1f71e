"""Autograd formulas of users: operators that may have one, and the wrapper that records calls for it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from opwright.autograd.recorders import configure_recording
from opwright.library.custom_ops.code import UNRECORDED, OperatorCode, code_of, takes_all_as_given
from opwright.library.custom_ops.recording import OperatorContext, by_position, context_of, counting, finish, keep
from opwright.metadata.tags import Tag
from opwright_core.arrays.devices import Device
from opwright_core.core import fast
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.registry.kernel_kinds import LazyWrapper, Wrapper
from opwright_core.user_kernels.returns import place_of

__all__ = ["Formula", "check_differentiable", "check_functions"]

Function = Callable[..., Any]


def check_differentiable(operator: Operator) -> None:
    """Raise RuntimeError for an operator that cannot have a formula."""
    signature = operator.signature
    name = f"{operator.name}{operator.declaration}"
    if Tag.out in operator.tags:
        raise RuntimeError(
            f"cannot register an autograd formula for {name}: it has the tag out, and Out variants do not support "
            "autograd"
        )
    is_view = any(alias is not None for alias in signature.aliases)
    if signature.written:
        reason = "it writes to arguments"
    elif not signature.returns:
        reason = "it returns nothing"
    elif is_view and (len(signature.tensors) != 1 or signature.returns != ("Tensor",)):
        reason = "it returns views, and has more than one Tensor to be a view of, or several results"
    else:
        return
    raise RuntimeError(
        f"cannot register an autograd formula for the non-functional operator {name}: {reason}. Write a functional "
        "operator, and register a formula for that"
    )


def check_functions(
    operator: Operator, backward: Function, setup_context: Function | None, jvp: Function | None
) -> None:
    """Raise TypeError for functions that could not be called as formulas are."""
    signature = operator.signature
    keywords = [
        "ctx",
        "inputs",
        *(["keyword_only_inputs"] if signature.positional < len(signature.names) else []),
        "output",
    ]
    called: list[tuple[str, Function | None, list[str], list[str]]] = [
        ("setup_context", setup_context, [], keywords),
        ("backward", backward, ["ctx", *(["grad"] * len(signature.returns))], []),
        ("jvp", jvp, ["ctx", *[f"{name}_tangent" for name in signature.names[: signature.positional]]], []),
    ]
    for role, function, positional, named in called:
        if function is None and role != "backward":
            continue
        if not callable(function):
            raise TypeError(f"{role} of {operator.name} must be a function, got {type(function).__name__} {function!r}")
        try:
            shown = inspect.signature(function)
        except ValueError:  # a builtin that does not say
            continue
        try:
            shown.bind(*positional, **dict.fromkeys(named))
        except TypeError as error:
            raise TypeError(
                f"{role} of {operator.name} is called as {role}({', '.join(positional + named)}), but takes {shown}: "
                f"{error}\nIt is {place_of(function)}"
            ) from None


class Formula(LazyWrapper):
    """A formula as the kernel of an Autograd key; its wrapper is rendered when a recorded call needs it."""

    __slots__ = ("_arrays", "_backward", "_code", "_operator", "_returns_arrays", "_setup_context")

    def __init__(
        self,
        operator: Operator,
        backward: Function,
        setup_context: Function | None,
        arrays: tuple[int, ...] = (),
        returns_arrays: bool = False,
    ) -> None:
        self.loaded = None
        self._operator = operator
        self._backward = backward
        self._setup_context = setup_context
        self._arrays = arrays
        self._returns_arrays = returns_arrays
        self._code: OperatorCode | None = None

    def load(self) -> None:
        """Render the wrapper. Must not be called with the lock held."""
        code = self._code = code_of(self._operator.declaration, self._arrays, self._returns_arrays)
        context = context_of(self._operator, self._backward)
        signature = self._operator.signature
        by_place = by_position(self._setup_context, signature.positional < len(signature.names))
        setup_context = counting(self._operator, by_place)
        made = code.recorded_by(context, setup_context)
        if fast is not None and takes_all_as_given(self._operator) and 0 < len(signature.names) <= fast.MOST_ARGUMENTS:
            made = _compiled(made, self._operator, context, setup_context)
        self.loaded = Wrapper(made, True)

    def __repr__(self) -> str:
        return f"{self._backward!r}"


def _compiled(
    made: Callable[[Function], Function],
    operator: Operator,
    context: type[OperatorContext],
    setup_context: Function | None,
) -> Callable[[Function], Function]:
    """Return what has the compiled core record calls, where that is common."""
    configure_recording()
    total = len(operator.signature.names)
    tensors = sum(1 << argument.position for argument in operator.signature.tensors)

    def make(below: Function) -> Function:
        found: Function = fast.UserRecorder(
            made(below), below, context, setup_context, keep, finish, UNRECORDED, Device("cpu"), total, tensors
        )
        return found

    return make
