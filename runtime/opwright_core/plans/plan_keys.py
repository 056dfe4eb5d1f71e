"""Keys of plan caches: what a rule may read of a call's arguments, by a letter for each.

`T` is a tensor, `O` one or None, `L` a list of them: shape, strides and dtype of each array. `I` and `F` are ints and
floats in a sequence, or None, `N` a number, with its type, `V` a value that says what it is. `t`, `o`, `l` and `.` are
tensors and values that no rule reads. Of rows whose plans are not kept there are `X`, a value that no key has, and
tensors or None in a list (`Q`, `q`) or a list of tensors or None (`P`, `p`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

__all__ = ["CACHED", "key_function", "leading_tensors", "rest_key"]

CACHED: Final = frozenset("TOLIFNVtol.")  # the letters of which keys are made


def leading_tensors(kinds: str) -> int:
    """Return how many tensors come first where there are no others, at most 3; 0 where there are others."""
    count = len(kinds) - len(kinds.lstrip("T"))
    return count if count <= 3 and not set("TOLtolQqPp").intersection(kinds[count:]) else 0


def key_function(kinds: str) -> Callable[..., Any]:
    """Return a function that makes the key of a call of its arguments, with arrays for tensors."""
    count = leading_tensors(kinds)
    if count == 0:
        return rest_key(kinds)
    rest = rest_key(kinds[count:])

    def key_of(*values: Any) -> Any:
        seen = tuple([part for array in values[:count] for part in (array.shape, array.strides, array.dtype)])
        return (*seen, rest(*values[count:])) if values[count:] else seen

    return key_of


def rest_key(kinds: str) -> Callable[..., Any]:
    """Return a function that makes the part of the key for arguments of these kinds."""
    known = _BY_KINDS.get(kinds)
    if known is not None:
        return known
    if not kinds.strip("V"):
        return _values
    if not kinds.strip("."):
        return _nothing
    parts = [(position, _PARTS[kind]) for position, kind in enumerate(kinds) if kind in _PARTS]
    return lambda *values: tuple([part(values[position]) for position, part in parts])


def _nothing(*values: Any) -> Any:
    return None


def _values(*values: Any) -> Any:
    return values


def _same(value: Any) -> Any:
    return value


def _of_tensor(array: Any) -> Any:
    return None if array is None else (array.shape, array.strides, array.dtype)


def _of_tensors(arrays: Any) -> Any:
    return tuple([(array.shape, array.strides, array.dtype) for array in arrays])


def _of_list(values: Any) -> Any:
    return None if values is None else tuple(values)


def _of_number(value: Any) -> Any:
    return type(value), value


_PARTS: Final[dict[str, Callable[[Any], Any]]] = {
    "T": _of_tensor,
    "O": _of_tensor,
    "L": _of_tensors,
    "I": _of_list,
    "F": _of_list,
    "N": _of_number,
    "V": _same,
}
_BY_KINDS: Final[dict[str, Callable[..., Any]]] = {
    **_PARTS,
    ".": lambda value: None,
    "NN": lambda first, second: (type(first), first, type(second), second),
    "NNN": lambda a, b, c: (type(a), a, type(b), b, type(c), c),
    "IV": lambda values, flag: (None if values is None else tuple(values), flag),
    "IVV": lambda values, flag, other: (None if values is None else tuple(values), flag, other),
    "LV": lambda arrays, value: (tuple([(array.shape, array.strides, array.dtype) for array in arrays]), value),
    "TVT": lambda x, a, y: (x.shape, x.strides, x.dtype, a, y.shape, y.strides, y.dtype),
}
