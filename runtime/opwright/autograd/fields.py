"""Fields of generated Node classes: the saved values of a call, declared in the body of the class.

    class MulBackward0(Recorded, operands=(0, 1)):
        other = saved_tensor(1, needed_by=(0,))
        self = saved_tensor(0, needed_by=(1,))

Numbers are positions of arguments, or of results. Each field is a slot, and what `recorder` makes fills it.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from opwright.autograd.collecting import adopt_node
from opwright_core import gradient_codes

if TYPE_CHECKING:
    from opwright.autograd.nodes import Node

__all__ = [
    "Field", "NodeType", "Way", "kept_argument", "kept_counts", "kept_numel", "kept_result_value", "kept_shape",
    "kept_storage_offset", "kept_stride", "kept_value", "recorded_if", "saved_result", "saved_tensor",
]  # fmt: skip


class Way(IntEnum):
    """The ways of saving a value."""

    ARGUMENT = gradient_codes.SAVE_VALUE
    SAVED = gradient_codes.SAVE_TENSOR
    RESULT = gradient_codes.SAVE_RESULT  # one whose history is the node
    OTHER = gradient_codes.SAVE_OTHER  # one without a history
    SHAPE = gradient_codes.SAVE_SHAPE
    NUMEL = gradient_codes.SAVE_COUNT
    STRIDE = gradient_codes.SAVE_STRIDES
    # what only Python saves
    STORAGE_OFFSET = 7
    COUNTS = 8
    VALUE = 9
    RESULT_VALUE = 10


class Field(NamedTuple):
    """A field: how it is kept, of which argument or result, the operands whose gradients need it (none: any's), and for
    a value what computes it."""

    way: Way
    position: int = 0
    needed_by: tuple[int, ...] = ()
    compute: Callable[[Any], Any] | None = None


class _Condition(NamedTuple):
    holds: Callable[..., bool]


def kept_argument(position: int) -> Any:
    """Keep an argument as it is."""
    return Field(Way.ARGUMENT, position)


def saved_tensor(position: int, *, needed_by: tuple[int, ...] = ()) -> Any:
    """Save a tensor or a list of them; where operands are said that it is `needed_by`, only if one gets a gradient."""
    return Field(Way.SAVED, position, needed_by)


def saved_result(number: int = 0) -> Any:
    """Save a result."""
    return Field(Way.RESULT, number)


def kept_shape(position: int) -> Any:
    """Keep the shape of a tensor."""
    return Field(Way.SHAPE, position)


def kept_numel(position: int) -> Any:
    """Keep how many elements a tensor has."""
    return Field(Way.NUMEL, position)


def kept_stride(position: int) -> Any:
    """Keep the strides of a tensor."""
    return Field(Way.STRIDE, position)


def kept_storage_offset(position: int) -> Any:
    """Keep where a tensor begins in its memory."""
    return Field(Way.STORAGE_OFFSET, position)


def kept_counts() -> Any:
    """Keep how many tensors each operand has that is a list, None for a tensor: edges alone do not tell."""
    return Field(Way.COUNTS)


def kept_value(position: int) -> Callable[[Callable[[Any], Any]], Any]:
    """Keep what a function computes of an argument; None for an optional tensor that is not given."""
    return lambda compute: Field(Way.VALUE, position, (), compute)


def kept_result_value(number: int = 0) -> Callable[[Callable[[Any], Any]], Any]:
    """Keep what a function computes of a result."""
    return lambda compute: Field(Way.RESULT_VALUE, number, (), compute)


def recorded_if(holds: Callable[..., bool]) -> Any:
    """Record a call where a function of its arguments says so, and no other."""
    return _Condition(holds)


class SavedAttribute:
    """The attribute `_saved_NAME` of generated nodes: what the call saved so. Raises RuntimeError where it was freed.

    (One for each slot, for a `__getattr__` would make it slow to read any attribute of any node.)
    """

    __slots__ = ("_slot",)

    def __init__(self, slot: str) -> None:
        self._slot = slot

    def __get__(self, node: Node | None, owner: type[Node]) -> Any:
        from opwright.autograd.saved import look_up

        return self if node is None else look_up(node, self._slot)


class NodeType(type):
    """The class of classes of generated nodes: makes slots of fields.

    `operands`: positions of the arguments that get gradients. `refused`: of tensors that may require none.
    `results`: of the results that have the node as their history, where there are several results.
    `shown`: the name that nodes go by, if not that of their class.
    """

    fields: dict[str, Field]
    is_recorded: Callable[..., bool] | None
    operands: tuple[int, ...]
    refused: tuple[int, ...]
    results: tuple[int, ...]

    def __new__(
        mcls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        operands: tuple[int, ...] = (),
        refused: tuple[int, ...] = (),
        results: tuple[int, ...] = (),
        shown: str = "",
    ) -> NodeType:
        """Return the class: with slots for its fields, and the names of those that a backward pass frees."""
        fields = {key: _of_results(value, results) for key, value in namespace.items() if type(value) is Field}
        conditions = [key for key, value in namespace.items() if type(value) is _Condition]
        own = {key: value for key, value in namespace.items() if key not in fields and key not in conditions}
        own.setdefault("__slots__", tuple(fields))
        if fields:
            own["saved"] = tuple([key for key, field in fields.items() if field.way in _FREED])
        if shown:
            own["shown"] = shown
        made = super().__new__(mcls, name, bases, own)
        made.fields, made.operands, made.refused, made.results = fields, operands, refused, results
        made.is_recorded = namespace[conditions[0]].holds if conditions else None
        if any(isinstance(base, NodeType) for base in bases):
            adopt_node(made)  # it counts slots, so before they have second names
        made._add_attributes()
        return made

    def _add_attributes(cls) -> None:
        """Give the class `_saved_NAME` for each of its slots, and second names of these, by position: kernels
        for many classes fill them by those. (A slot `NAME_` avoids the name of one that all nodes have.)"""
        for slot in cls.__dict__["__slots__"]:
            setattr(cls, f"_saved_{slot.removesuffix('_')}", SavedAttribute(slot))
        for slot, (way, position, *_) in cls.fields.items():
            prefix = "_kept" if way <= Way.SAVED else "_result" if way <= Way.OTHER else "_fact"
            setattr(cls, f"{prefix}{position}", cls.__dict__[slot])


_FREED: Final = (Way.SAVED, Way.RESULT, Way.OTHER)


def _of_results(field: Field, results: tuple[int, ...]) -> Field:
    """Return the field; a result without a history, where there are several, is saved as an argument is."""
    is_other = field.way is Way.RESULT and results and field.position not in results
    return field._replace(way=Way.OTHER) if is_other else field
