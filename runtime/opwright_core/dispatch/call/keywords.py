"""The names by which the functions take their arguments: those of the schemas, `input` for `self`, and NumPy's.

PyTorch's Python functions take the same (`torch/csrc/utils/python_arg_parser.cpp`); its operators, `torch.ops`, do not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from opwright_core.errors import ArgumentError

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["NOT_GIVEN", "given_by_name", "meant", "other_names", "outs_by_name", "translated", "unknown_name"]


class _NotGiven:
    """The value of a parameter that the caller left out."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "..."


NOT_GIVEN: Final[Any] = _NotGiven()
# What each name may stand for, the first that the operator has.
_MEANT: Final[Mapping[str, tuple[str, ...]]] = {
    "input": ("self",),
    "x": ("self", "input"),
    "a": ("self", "input"),
    "x1": ("self", "input"),
    "x2": ("other",),
    "axis": ("dim",),
    "keepdims": ("keepdim",),
}
other_names: Final = frozenset(_MEANT)


def meant(name: str, declared: Collection[str]) -> str | None:
    """Return the declared name that another name stands for, if it does."""
    return next((found for found in _MEANT.get(name, ()) if found in declared), None)


def translated(function: str, declared: Collection[str], named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments by their declared names.

    Raises ArgumentError for one that is given by two names; names that stand for nothing stay as they are.
    """
    found: dict[str, Any] = {}
    names: dict[str, str] = {}
    for name, value in named.items():
        target = name if name in declared else meant(name, declared) or name
        if target in found:
            raise ArgumentError(f"{function}(): '{names[target]}' and '{name}' are one argument, which is given twice")
        found[target] = value
        names[target] = name
    return found


def outs_by_name(function: str, overloads: Iterable[Operator], named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments with a tuple of `out` by the names of an overload that writes several results.

    They are as they were where no overload does. Raises ArgumentError for another number of results.
    """
    for operator in tuple(overloads):
        signature = operator.signature
        names = [
            signature.names[position] for position in sorted(signature.written) if position >= signature.positional
        ]
        if len(names) < 2:
            continue
        outs = named["out"]
        if len(outs) != len(names):
            raise ArgumentError(
                f"{function}(): out is a tuple of {len(names)} tensors, ({', '.join(names)}), got {len(outs)}"
            )
        others = {name: value for name, value in named.items() if name != "out"}
        return others | dict(zip(names, outs, strict=True))
    return dict(named)


def given_by_name(function: Callable[..., Any], values: Iterable[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call by names alone: the values of the function's parameters, but those that were left out or are their
    defaults, and what it was given by names of no parameter."""
    code: Any = function.__code__
    count = code.co_argcount
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    names = code.co_varnames[: count + code.co_kwonlyargcount]
    given = {
        name: value
        for name, value, default in zip(names, values, defaults, strict=True)
        if value is not NOT_GIVEN and value is not default
    }
    return given | dict(named)


def unknown_name(name: str, declared: Iterable[str], *, has_others: bool) -> str:
    """Say of a name that an operator has no argument of, with the one that is likely meant. `has_others`: the
    call takes other names, too."""
    known = [*declared]
    wanted = meant(name, known)
    if wanted is None:
        candidates = [*known, *(other for other in _MEANT if has_others and meant(other, known))]
        import difflib  # few programs have such an error

        wanted = next(iter(difflib.get_close_matches(name, candidates, 1)), None)
    hint = "" if wanted is None else f"; did you mean '{wanted}'?"
    return f"has no argument '{name}'{hint}"
