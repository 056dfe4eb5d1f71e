"""Arguments as an inferred schema has them, and what the tags `inplace` and `out` ask of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from opwright.library.schema_inference.error_positions import inference_error
from opwright.metadata.tags import Tag

__all__ = ["Argument", "tagged_returns"]


class Argument(NamedTuple):
    """A parameter as the schema has it, with the text of its default, or ''."""

    name: str
    type: str
    default: str
    kwarg_only: bool
    is_mutated: bool

    def text(self, position: int) -> str:
        shown = f"Tensor(a{position}!){self.type.removeprefix('Tensor')}" if self.is_mutated else self.type
        return f"{shown} {self.name}{self.default}"


def tagged_returns(function: Callable[..., Any], tags: tuple[Tag, ...], arguments: list[Argument], returns: str) -> str:
    """Return the returns with the aliases that `inplace` and `out` say; the rules of these tags held."""
    if Tag.inplace not in tags and Tag.out not in tags:
        return returns
    mutated = [position for position, argument in enumerate(arguments) if argument.is_mutated]
    where, problem = "", ""
    if Tag.inplace in tags and Tag.out in tags:
        problem = "the tags inplace and out are mutually exclusive"
    elif Tag.inplace in tags:
        where, problem = _inplace_problem(arguments, mutated, returns)
    else:
        where, problem = _out_problem(arguments, mutated, returns)
    if problem:
        raise inference_error(function, where, "tags", problem, _TAG_RULES)
    aliases = [f"Tensor(a{position}!)" for position in mutated]
    return aliases[0] if len(aliases) == 1 else f"({', '.join(aliases)})"


_TAG_RULES: Final = (
    "an inplace operator writes to its first positional argument, a Tensor, alone, and returns it; an out operator "
    "writes to keyword-only Tensors, and returns them all in their order"
)


def _inplace_problem(arguments: list[Argument], mutated: list[int], returns: str) -> tuple[str, str]:
    """Return what is wrong, and at which parameter; nothing if the texts are empty."""
    if not arguments or arguments[0].kwarg_only:
        return "", "the tag inplace requires a positional Tensor argument"
    first = arguments[0]
    if first.type != "Tensor":
        return first.name, f"the tag inplace requires the first positional argument to be a Tensor, not {first.type}"
    if mutated != [0]:
        names = ", ".join(arguments[position].name for position in mutated)
        return "", f"the tag inplace requires mutates_args to be exactly ('{first.name}',), not ({names})"
    return ("", "") if returns == "Tensor" else ("return", "the tag inplace requires the return annotation Tensor")


def _out_problem(arguments: list[Argument], mutated: list[int], returns: str) -> tuple[str, str]:
    if not mutated:
        return "", "the tag out requires at least one mutable keyword-only Tensor argument"
    for position in mutated:
        argument = arguments[position]
        if not argument.kwarg_only:
            return (
                argument.name,
                f"the tag out requires mutable arguments to be keyword-only, and '{argument.name}' is not",
            )
        if argument.type != "Tensor":
            return (
                argument.name,
                f"the tag out supports mutable arguments of type Tensor alone, not {argument.type}",
            )
    if returns != _out_returns(len(mutated)):
        wanted = "Tensor" if len(mutated) == 1 else f"tuple[{', '.join(['Tensor'] * len(mutated))}]"
        return "return", f"the tag out requires the return annotation to match the mutable arguments: {wanted}"
    return "", ""


def _out_returns(count: int) -> str:
    return "Tensor" if count == 1 else f"({', '.join(['Tensor'] * count)})"
