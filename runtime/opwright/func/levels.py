"""The interpreters of derivatives: at their level the kernels of Autograd run, and what these call goes on below.

Note [Levels] of `opwright.levels.interpreter` says how. A tensor of such a level has an edge of its own, a tangent of
its own, and counts writes for itself, so that a derivative can be taken of a computation that takes derivatives.
"""

from __future__ import annotations

import functools
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, Final

from opwright.autograd.function import check_setup_context
from opwright.autograd.function_outputs import is_returned
from opwright.autograd.tangents import Level, current_level
from opwright.context_managers.blocks import modes_or_none
from opwright.levels.inside import CapturedStorage, InsideArray, capture, is_inside, put_inside
from opwright.levels.interpreter import Handler, Interpreter
from opwright.levels.mode_kernels import mapped, tensor_positions, values_at
from opwright_core.arrays.storage import storage_of
from opwright_core.keys import (
    ADINPLACEORVIEW,
    AUTOGRAD,
    BACK_MODE,
    FRONT_MODE,
    FUNCTIONALIZE,
    GRAD,
    INFERENCE,
    NO_GRAD,
    PYTHON,
    TANGENT,
    VIEW,
)
from opwright_core.state import MODES, NO_MODES, Modes, active_modes, set_modes
from opwright_core.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["Differentiation", "ForwardDifferentiation", "enter_dual_level"]

# What is true of a level alone, of included and of allowed bits.
_INCLUDED: Final = NO_GRAD | INFERENCE | TANGENT
_ALLOWED: Final = GRAD | VIEW | TANGENT | AUTOGRAD | ADINPLACEORVIEW
# What handles calls with values alone: handlers see no tensors of a level.
_OF_VALUES: Final = FRONT_MODE | PYTHON | FUNCTIONALIZE


class Differentiation(Interpreter):
    """A level at which calls are recorded: that of `grad`, `vjp`, and what is made of them."""

    __slots__ = ()
    name: ClassVar[str] = "grad"
    shown_as: ClassVar[str] = "GradTrackingTensor"
    _sees_tangents: ClassVar[bool] = False

    @classmethod
    def handler_of(cls, operator: Operator) -> Handler:
        """Return what runs the kernels of Autograd on the arguments, as tensors of the level."""
        written, table = operator.signature.written, operator.table
        plain, lists = tensor_positions(operator)
        take = put_inside if operator.name == "aten::lift_fresh" else capture  # (a tensor that was just made)

        def handler(self: Differentiation, *args: Any) -> Any:
            for position in written:
                mapped(args[position], lambda tensor: self._check_is_own(tensor, operator))
            lifted = list(args)
            keys = 0
            for position in plain:
                value = args[position]
                if value is not None:
                    array = value.array
                    if type(array) is not InsideArray or array.level is not self:
                        value = lifted[position] = take(value, self)
                    keys |= value.keys
            for position in lists:
                if args[position] is not None:
                    lifted[position] = [None if value is None else self._own(value) for value in args[position]]
                    for value in lifted[position]:
                        keys |= 0 if value is None else value.keys
            modes = active_modes()
            assert modes is not None  # the level is on
            keys = (keys | modes.include) & modes.mask
            return (table.get(keys) or operator.resolve(keys))(*lifted)

        return handler

    def call_function(self, function: Any, modes: Modes, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call an `autograd.Function` on tensors of the level: it is recorded here, and called below in turn."""
        check_setup_context(function)

        def forward(*given: Any, **named: Any) -> Any:
            now = active_modes()
            assert now is not None  # the level is on
            values = [values_at(self, value) for value in given]
            try:
                set_modes(self.below(now))
                result = function.apply(*values, **named)
            finally:
                set_modes(now)
            pairs = [pair for pair in zip(values, given, strict=True) if isinstance(pair[0], Tensor)]

            def inside(tensor: Tensor) -> Tensor:
                own = next((each for value, each in pairs if is_returned(tensor, value)), None)
                return put_inside(tensor, self) if own is None else own

            return mapped(result, inside)

        return function.call(forward, tuple([mapped(value, self._own) for value in args]), kwargs)

    def lift(self, value: Any) -> Any:
        """Return the tensor of this level that has a tensor as its value and is a constant here. A tensor of this level
        and what is no tensor stay as they are."""
        if not isinstance(value, Tensor) or (isinstance(array := value.array, InsideArray) and array.level is self):
            return value
        return put_inside(value, self)

    def _own(self, tensor: Tensor) -> Tensor:
        """Return the tensor of this level, which must not be written to if it was captured."""
        return tensor if is_inside(tensor, self) else capture(tensor, self)

    def _check_is_own(self, tensor: Tensor, operator: Operator) -> None:
        if not is_inside(tensor, self) or type(storage_of(tensor)) is CapturedStorage:
            raise RuntimeError(
                f"During a grad (vjp, jvp, grad, etc) transform, {operator.name} would mutate a captured Tensor, one "
                "that the function neither was given nor made: that is not supported. Give the function this Tensor as "
                "an argument, and return what it becomes"
            )

    def _modes_within(self, outer: Modes) -> Modes:
        include = outer.include & ~_INCLUDED | FRONT_MODE
        mask = outer.mask | _ALLOWED | FRONT_MODE
        if self._sees_tangents:
            return Modes(include | TANGENT | outer.include & NO_GRAD, mask & (outer.mask | ~(GRAD | VIEW)), self)
        return Modes(include, mask & ~TANGENT, self)

    def handled_in(self, modes: Modes) -> Modes:
        """Return the modes in which kernels of Autograd serve the calls of these modes."""
        made = Modes(modes.include | BACK_MODE, modes.mask & ~_OF_VALUES, self)
        self.handled_memo = modes, made
        return made

    def _modes_below(self, modes: Modes) -> Modes | None:
        outer = self.outer or NO_MODES
        include = modes.include & ~(_INCLUDED | FRONT_MODE | BACK_MODE) | outer.include & (_INCLUDED | FRONT_MODE)
        restored = _ALLOWED | _OF_VALUES
        mask = modes.mask & ~restored | outer.mask & restored
        return modes_or_none(include, mask, outer.top)


class ForwardDifferentiation(Differentiation):
    """A level at which tangents go through calls: that of `jvp`, and of what is made of it."""

    __slots__ = ("dual",)
    dual: Level
    name: ClassVar[str] = "jvp"
    _sees_tangents: ClassVar[bool] = True
    _variables: ClassVar[tuple[ContextVar[Any], ...]] = (MODES, current_level)

    def __init__(self, number: int = 0) -> None:
        super().__init__()
        self.dual = Level(number, self)

    def _switch_on(self) -> Interpreter:
        super()._switch_on()
        current_level.set(self.dual)
        return self

    def _switched_off(self) -> None:
        self.dual.close()
        self.dual.interpreter = self.dual.leave = None
        super()._switched_off()


def enter_dual_level(number: int) -> None:
    """Enter a level of forward mode within others, which `exit_dual_level` leaves."""
    level = ForwardDifferentiation(number)
    level.dual.leave = functools.partial(level.__exit__, None, None, None)
    level.__enter__()
