"""The interpreters of derivatives: at their level the kernels of Autograd run, and what these call goes on below.

Note [Levels] of `opwright.levels.interpreter` says how. A tensor of such a level has an edge of its own, a tangent of
its own, and counts writes for itself, so that a derivative can be taken of a computation that takes derivatives.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, Final

from opwright.autograd.tangents import Level, current_level
from opwright.keys import (
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
from opwright.levels.inside import is_inside, put_inside
from opwright.levels.interpreter import Interpreter, Serve
from opwright.levels.kernels import mapped
from opwright.state import MODES, Modes, reset_modes, set_modes
from opwright.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright.dispatch.operator import Operator

__all__ = ["Differentiation", "ForwardDifferentiation"]

# What is true of a level alone, of included and of allowed bits.
_INCLUDED: Final = NO_GRAD | INFERENCE | TANGENT
_ALLOWED: Final = GRAD | VIEW | TANGENT | AUTOGRAD | ADINPLACEORVIEW
# What serves calls with values alone: handlers see no tensors of a level.
_OF_VALUES: Final = FRONT_MODE | PYTHON | FUNCTIONALIZE


class Differentiation(Interpreter):
    """A level at which calls are recorded: that of `grad`, `vjp`, and what is made of them."""

    __slots__ = ("_at",)
    name: ClassVar[str] = "grad"
    _is_recorded: ClassVar[bool] = True
    _sees_tangents: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self._at: tuple[Modes | None, Modes | None] = (None, None)

    @classmethod
    def serving(cls, operator: Operator) -> Serve:
        """Return what runs the kernels of Autograd on the arguments, as tensors of the level."""
        written = operator.signature.written

        def serve(self: Differentiation, modes: Modes, *args: Any) -> Any:
            for place in written:
                mapped(args[place], lambda tensor: self._check_is_own(tensor, operator))
            lifted = [mapped(value, self.lift) for value in args]
            token = set_modes(self.modes_at(modes))
            try:
                return operator.call(*lifted)
            finally:
                reset_modes(token)

        return serve

    def lift(self, tensor: Tensor) -> Tensor:
        """Return the tensor of this level: itself, or one that has it as its value and is a constant here."""
        return tensor if is_inside(tensor, self) else put_inside(tensor, self, keys=BACK_MODE)

    def _check_is_own(self, tensor: Tensor, operator: Operator) -> None:
        if not is_inside(tensor, self):
            raise RuntimeError(
                f"During a grad (vjp, jvp, grad, etc) transform, {operator.name} would write to a captured Tensor, one "
                "that the function neither was given nor made: that is not supported. Give the function this Tensor as "
                "an argument, and return what it becomes"
            )

    def _modes_within(self, outer: Modes) -> Modes:
        include = outer.include & ~_INCLUDED | FRONT_MODE
        mask = outer.mask | _ALLOWED
        if self._sees_tangents:
            return Modes(include | TANGENT | outer.include & NO_GRAD, mask & (outer.mask | ~(GRAD | VIEW)), self)
        return Modes(include, mask & ~TANGENT, self)

    def modes_at(self, modes: Modes) -> Modes:
        """Return the modes in which calls of these modes are served on tensors of the level."""
        before, made = self._at
        if before is not modes or made is None:
            made = Modes(modes.include | BACK_MODE, modes.mask & ~_OF_VALUES, self)
            self._at = modes, made
        return made

    def _modes_below(self, modes: Modes) -> Modes | None:
        outer = self.outer or _NOTHING
        include = modes.include & ~(_INCLUDED | FRONT_MODE | BACK_MODE) | outer.include & (_INCLUDED | FRONT_MODE)
        restored = _ALLOWED | _OF_VALUES
        mask = modes.mask & ~restored | outer.mask & restored
        if not include and mask == -1 and outer.top is None:
            return None
        return Modes(include, mask, outer.top)


class ForwardDifferentiation(Differentiation):
    """A level at which tangents go through calls: that of `jvp`, and of what is made of it."""

    __slots__ = ("dual",)
    name: ClassVar[str] = "jvp"
    _sees_tangents: ClassVar[bool] = True
    _variables: ClassVar[tuple[ContextVar[Any], ...]] = (MODES, current_level)

    def __init__(self) -> None:
        super().__init__()
        self.dual = Level()

    def _switch_on(self) -> Interpreter:
        super()._switch_on()
        current_level.set(self.dual)
        return self

    def _switched_off(self) -> None:
        self.dual.close()
        super()._switched_off()


_NOTHING: Final = Modes(0, -1)
