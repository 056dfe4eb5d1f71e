"""The arguments of one operator as PyTorch passes them, made ours: all of them, in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from opwright_bindings.torch.runtime.values import our_value
from opwright_core.dispatch.call.operator import Operator

__all__ = ["Arguments", "Declared"]


class Declared:
    """The arguments that a schema declares. PyTorch leaves out those that are at their defaults: they are filled in."""

    __slots__ = ("_defaults", "_positions", "names")

    def __init__(self, schema: torch.FunctionSchema) -> None:
        self.names = [each.name for each in schema.arguments]
        self._positions = {name: position for position, name in enumerate(self.names)}
        self._defaults = tuple([each.default_value for each in schema.arguments])

    def filled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Return all arguments, as PyTorch has them."""
        values = [*args, *self._defaults[len(args) :]]
        for name, value in kwargs.items():
            values[self._positions[name]] = value
        return values


class Arguments(Declared):
    """The arguments of an operator of ours.

    `tensors` are the positions of tensors, `lists` those of lists of them; `written` of those of both that are
    written to.
    `have_lists`: lists of tensors are taken or returned, which PyTorch's own loop over samples does not know.
    `may_have_rules`: PyTorch registers no rule for `vmap` where tensors are given by keyword.
    """

    __slots__ = (
        "_converters",
        "have_lists",
        "lists",
        "may_have_rules",
        "operator",
        "tensors",
        "written",
    )

    def __init__(self, operator: Operator, schema: torch.FunctionSchema) -> None:
        super().__init__(schema)
        self.operator = operator
        given = [str(each.real_type) for each in schema.arguments]
        self.tensors = tuple(
            [position for position, each in enumerate(given) if each in ("Tensor", "Optional[Tensor]")]
        )
        self.lists = tuple([position for position, each in enumerate(given) if "List[" in each and "Tensor" in each])
        tensors = {*self.tensors, *self.lists}
        is_write = [bool(each.alias_info and each.alias_info.is_write) for each in schema.arguments]
        self.written = tuple([position for position in sorted(tensors) if is_write[position]])
        self.have_lists = bool(self.lists) or any("List[" in str(each.type) for each in schema.returns)
        self.may_have_rules = not any(schema.arguments[position].kwarg_only for position in tensors)
        self._converters = tuple(
            [
                (position, _converter(operator, position, each))
                for position, each in enumerate(given)
                if position not in tensors
            ]
        )

    def ours(self, values: list[Any], tensor: Callable[[Any], Any], number: Callable[[Any], Any] | None = None) -> None:
        """Make arguments ours, in their positions: tensors by `tensor`, and numbers by `number` first."""
        for position in self.tensors:
            if values[position] is not None:
                values[position] = tensor(values[position])
        for position in self.lists:
            if values[position] is not None:
                values[position] = [None if each is None else tensor(each) for each in values[position]]
        for position, convert in self._converters:
            value = values[position]
            if number is not None:
                value = [number(each) for each in value] if isinstance(value, (list, tuple)) else number(value)
            values[position] = convert(value)


def _converter(operator: Operator, position: int, type_name: str) -> Callable[[Any], Any]:
    theirs = our_value(type_name)

    def convert(value: Any) -> Any:
        return operator.convert(position, value if theirs is None else theirs(value))

    return convert
