"""Immutable lists and dicts: what the arguments of nodes are made of, so that `users` stay right."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["immutable_dict", "immutable_list"]

_HINT = "arguments of nodes cannot be changed in place: assign node.args or node.kwargs, which keeps `users` right"


def _refuse(self: Any, *args: object, **kwargs: object) -> NoReturn:
    raise TypeError(f"{type(self).__name__} cannot be changed: {_HINT}")


class immutable_list(list[Any]):
    """A list that cannot be changed. It equals a list of the same items."""

    append = clear = extend = insert = pop = remove = reverse = sort = _refuse
    __delitem__ = __iadd__ = __imul__ = __setitem__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return immutable_list, (list(self),)


class immutable_dict(dict[Any, Any]):
    """A dict that cannot be changed. It equals a dict of the same items."""

    clear = pop = popitem = setdefault = update = _refuse
    __delitem__ = __ior__ = __setitem__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return immutable_dict, (dict(self),)
