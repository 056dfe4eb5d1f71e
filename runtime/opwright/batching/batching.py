"""The interpreter of `vmap`, and what rules ask of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

from opwright.levels.inside import InsideArray
from opwright.levels.interpreter import Handler, Interpreter
from opwright.levels.mode_kernels import mapped
from opwright.namespaces import aten
from opwright_core.arrays.devices import shape_of
from opwright_core.keys import ADINPLACEORVIEW, AUTOGRAD, BACKENDS, BATCHED, FRONT_MODE, NONDENSE
from opwright_core.state import NO_MODES, Modes, active_modes, set_modes
from opwright_core.tensors.tensor import Tensor, new_tensor

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["Batching", "Randomness"]

Randomness = Literal["error", "different", "same"]
_SHOWN: Final = BACKENDS | AUTOGRAD | ADINPLACEORVIEW
_NO_DATA: Final = {
    ".item()": (
        "vmap: It looks like you're calling .item() on a Tensor. A batched tensor has a number for each sample: write "
        "what you do with the number with operators on the tensor"
    ),
    "bool()": (
        "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. Samples may take "
        "different ways: compute both, and choose with opwright.where"
    ),
}


class Batching(Interpreter):
    """A `vmap` that is on: its batched tensors stand for `size` samples each."""

    __slots__ = ("_within", "randomness", "size")
    name: ClassVar[str] = "vmap"
    shown_as: ClassVar[str] = "BatchedTensor"

    def __init__(self, size: int, randomness: Randomness = "error") -> None:
        super().__init__()
        self.size = size
        self.randomness = randomness
        self._within: tuple[Modes | None, Modes | None] = (None, None)

    @classmethod
    def handler_of(cls, operator: Operator) -> Handler:
        """Return what handles an operator's calls by its rule."""
        from opwright.batching.rule_lookup import handler_of

        return handler_of(operator)

    def call_function(self, function: Any, modes: Modes, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call an `autograd.Function` for all samples, by its own rule."""
        from opwright.batching.functions import call_batched

        try:  # (Note [Interrupted blocks])
            set_modes(self.below(modes))
            return call_batched(self, function, args, kwargs)
        finally:
            set_modes(modes)

    def read(self, tensor: Tensor, what: str) -> Tensor:
        """Refuse: each sample has data of its own. Raises RuntimeError."""
        raise RuntimeError(
            _NO_DATA.get(what)
            or f"vmap: {what} of a batched tensor is not possible: it stands for {self.size} samples, each with data "
            "of its own. Return it, and look at what vmap gives"
        )

    def _switched_off(self) -> None:
        super()._switched_off()
        self._within = None, None

    def within(self) -> Modes:
        """Return the modes of calls at this level, from those below it that are on."""
        modes = active_modes()
        before, made = self._within
        if before is not modes or made is None:
            made = self._modes_within(modes or NO_MODES)
            self._within = modes, made
        return made

    # What rules ask

    def is_batched(self, value: object) -> bool:
        """Whether the value is a tensor of this level."""
        return isinstance(value, Tensor) and type(value.array) is InsideArray and value.array.level is self

    def front(self, tensor: Any) -> Any:
        """Return the value of a batched tensor, its batch dimension first; None for any other."""
        array = tensor.array
        if type(array) is not InsideArray or array.level is not self:
            return None
        value = array.value
        return value if array.dim == 0 else aten["movedim.int"](value, array.dim, 0)

    def expanded(self, tensor: Any) -> Any:
        """Return the value of a batched tensor, its batch dimension first; for another the same for each sample."""
        found = self.front(tensor)
        return self.repeated(tensor) if found is None else found

    def repeated(self, value: Tensor) -> Any:
        """Return the same value for each sample, as a view."""
        return aten["expand.default"](value, [self.size, *value.shape])

    def batched(self, value: Any) -> Any:
        """Return a value whose first dimension is the batch as a tensor of this level; in lists and tuples too."""
        return self.put(value, 0) if type(value) is Tensor else mapped(value, lambda each: self.put(each, 0))

    def put(self, value: Any, dim: int | None) -> Any:
        """Return a value whose dimension `dim` is the batch as a tensor of this level; itself for None."""
        if dim is None:
            return value
        array = InsideArray()
        array.value = value
        array.level = self
        array.dim = dim
        made = new_tensor()
        made.array = array
        made.keys = value.keys & _SHOWN | BATCHED | FRONT_MODE | NONDENSE  # (a sample may have any strides)
        made.edge = None
        made.extra = None
        return made

    def rank(self, tensor: Tensor) -> int:
        """Return the number of dimensions of a sample."""
        return len(shape_of(tensor.array))

    def any_batched(self, values: Sequence[Any]) -> bool:
        """Whether there is a tensor of this level among the values, in lists too."""
        return any(self.any_batched(each) if type(each) is list else self.is_batched(each) for each in values)
