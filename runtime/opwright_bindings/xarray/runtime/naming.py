"""Names of dimensions in place of their positions: `dim="time"` for an argument `int dim`."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from opwright_core.dispatch.call.operator import Operator

__all__ = ["with_positions"]

_INTS = ("int", "SymInt")


def with_positions(
    operators: Sequence[Operator], args: Sequence[Any], kwargs: Mapping[str, Any], dims: Sequence[Hashable]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return arguments with positions in `dims` for names. Raises ValueError for a name that is not among `dims`.

    Only arguments of type int, or a list of int, of one of the operators are changed.
    """
    packet = operators[0].name.partition(".")[0]

    def position(name: str, argument: str) -> int:
        if name in dims:
            return list(dims).index(name)
        have = ", ".join(map(repr, dims)) or "none"
        raise ValueError(
            f"{packet}: argument {argument!r} names the dimension {name!r}, and the dimensions of the array are {have}"
        )

    def changed(value: Any, key: int | str) -> Any:
        names = [value] if isinstance(value, str) else value if isinstance(value, (list, tuple)) else []
        if not any(isinstance(each, str) for each in names) or not (types := _types(operators, key)):
            return value
        argument = key if isinstance(key, str) else next(iter(types))
        found = [position(each, argument) if isinstance(each, str) else each for each in names]
        return found if isinstance(value, (list, tuple)) or all("[" in each for each in types.values()) else found[0]

    return (
        tuple([changed(value, place) for place, value in enumerate(args)]),
        {name: changed(value, name) for name, value in kwargs.items()},
    )


def _types(operators: Sequence[Operator], key: int | str) -> dict[str, str]:
    """Return the types that an argument has, by place or name, where it is an int or a list of int; by its names."""
    found: dict[str, str] = {}
    for each in operators:
        signature = each.signature
        place = signature.positions.get(key, -1) if isinstance(key, str) else key
        if 0 <= place < len(signature.names) and signature.types[place].startswith(_INTS):
            text = signature.types[place]
            found[signature.names[place]] = min(found.get(signature.names[place], text), text, key=len)
    return found
