"""Interpreters: transforms that are on, in a stack that the modes of a thread or task hold.

Note [Levels]
The modes name the innermost interpreter, `top`, and each interpreter keeps the modes that were on when it was entered,
`outer`: they name the next one. So the stack is immutable, and is left as any other mode is.

While the stack is not empty, every call has the key FrontMode, whose kernel hands the call to `top`. A tensor of its
level is `inside` it: it shows the metadata of its value, a tensor of a level further out. An interpreter computes on
values in the modes that `below` gives: those of the moment, but with the next interpreter as `top`. So each call goes
through the stack from the innermost to the outermost, and reaches kernels with values of no level. Tensors of other
levels are to an interpreter what ordinary tensors are: constants.

An interpreter that differentiates runs the kernels of Autograd on the tensors of its level itself. They carry the key
BackMode instead of their backend: its kernel takes the values out, and goes on below. What was switched on and off
about recording within the transform is true of its level; below is true what was so where it was entered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from opwright.context_managers.blocks import Block, modes_or_none
from opwright.levels.inside import InsideArray, value_of
from opwright_core.keys import FRONT_MODE
from opwright_core.state import MODES, NO_MODES, Modes, active_modes, set_modes
from opwright_core.tensors.tensor import Tensor

if TYPE_CHECKING:
    from contextvars import ContextVar

    from opwright_core.dispatch.call.operator import Operator

__all__ = ["Handler", "Interpreter"]

# What handles an operator for one kind of interpreter: (the interpreter, *arguments), in the modes `handled_in`.
Handler = Callable[..., Any]
Memo = tuple[Modes | None, Modes | None]


class Interpreter(Block):
    """A transform that is on within its block: subclasses say how they handle an operator.

    `level` counts from 1, the outermost. An interpreter is entered once.
    """

    __slots__ = ("below_memo", "handled_memo", "is_open", "level", "outer")
    name: ClassVar[str] = "transform"  # as errors call it
    shown_as: ClassVar[str] = "Tensor"  # as its tensors are shown
    _variables: ClassVar[tuple[ContextVar[Any], ...]] = (MODES,)

    def __init__(self) -> None:
        self._outer = None
        self.is_open = False
        self.level = 0
        self.outer: Modes | None = None
        # The last modes given to `below` and to `handled_in`, and those returned: calls compare before they ask.
        self.below_memo: Memo = (None, None)
        self.handled_memo: Memo = (None, None)

    @classmethod
    def handler_of(cls, operator: Operator) -> Handler:
        """Return what handles an operator's calls: a function of the interpreter and all arguments."""
        raise NotImplementedError

    def call_function(self, function: Any, modes: Modes, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call an `autograd.Function`, whose `apply` was called in these modes."""
        raise NotImplementedError

    def read(self, tensor: Tensor, what: str) -> Tensor:
        """Return the value that the data of a tensor of this level is read from; `what` wants it. Raises RuntimeError
        where a tensor stands for several."""
        return value_of(tensor)

    def out_of(self, value: Any) -> Any:
        """Return the value of a tensor of this level; anything else as it is."""
        if isinstance(value, Tensor) and isinstance(array := value.array, InsideArray) and array.level is self:
            return array.value
        return value

    def _switch_on(self) -> Interpreter:
        if self.is_open:
            raise RuntimeError(f"{self!r} was entered already")
        outer = self.outer = active_modes()
        self.level = 1 if outer is None or outer.top is None else outer.top.level + 1
        self.is_open = True
        set_modes(self._modes_within(outer or NO_MODES))
        return self

    def _switched_off(self) -> None:
        self.is_open = False
        self.below_memo = self.handled_memo = None, None  # these name this interpreter: no cycles for the collector

    def _modes_within(self, outer: Modes) -> Modes:
        return Modes(outer.include | FRONT_MODE, outer.mask | FRONT_MODE, self)

    def below(self, modes: Modes) -> Modes | None:
        """Return the modes of the calls that handle one of these modes."""
        before, made = self.below_memo
        if before is not modes:
            made = self._modes_below(modes)
            self.below_memo = modes, made
        return made

    def handled_in(self, modes: Modes) -> Modes | None:
        """Return the modes in which handlers serve the calls of these modes."""
        self.handled_memo = self.below_memo = modes, self._modes_below(modes)
        return self.handled_memo[1]

    def _modes_below(self, modes: Modes) -> Modes | None:
        outer = self.outer
        if outer is not None and outer.top is not None:
            return Modes(modes.include, modes.mask, outer.top)
        return modes_or_none(modes.include & ~FRONT_MODE, modes.mask, None)

    def __repr__(self) -> str:
        return f"<{self.name} at level {self.level}>"
