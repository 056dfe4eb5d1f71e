"""The duties of a handler of wrappers: views share their base's storage, writes return the argument."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opwright.context_managers.keys import exclude_keys
from opwright_core.arrays.storage import Extra, set_array, storage_of
from opwright_core.keys import META, PYTHON, VIEW
from opwright_core.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["link_views", "return_and_correct_aliasing", "written_arguments"]


def return_and_correct_aliasing(func: Operator, args: Any, kwargs: Any, out: Any) -> Any:
    """Return what a wrapper's `__torch_dispatch__` should for `out`, its result of `func(*args, **kwargs)`.

    A result that is a view of a wrapper shares that one's storage, version and base. An operator that writes returns
    the argument it wrote, and one that changes its argument's shape in place changes the wrapper's. Semantics:
    `torch.utils._python_dispatch.return_and_correct_aliasing`.
    """
    args, kwargs = tuple(args), kwargs or {}
    link_views(func, args, kwargs, out)
    if "inplace_view" in func.tags:
        with exclude_keys("Python"):  # the wrapper has no data: only what it looks like changes
            func(*args, **kwargs)
    return written_arguments(func, args, kwargs, out)


def link_views(operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
    """Make wrappers among the results views of the wrappers that they alias by declaration: of the same storage, and
    at the position in it that the operator gives a view."""
    signature = operator.signature
    viewed = [None if position in signature.written else position for position in signature.aliases]
    results = result if isinstance(result, tuple) else (result,)
    positions: Any = None
    for number, (position, each) in enumerate(zip(viewed, results, strict=False)):
        base: Any = None if position is None else _argument(operator, args, kwargs, position)
        for index, view in enumerate(each if isinstance(each, list) else (each,)):
            if not _is_unlinked(view, base):
                continue
            _share_storage(view, base)
            if view.keys & META:
                if positions is None:
                    with exclude_keys("Python"):  # wrappers have no data: their fake kernel says where views lie
                        positions = operator(*args, **kwargs)
                place = positions[number] if isinstance(positions, tuple) else positions
                place = place[index] if isinstance(place, list) else place
                if place.shape == view.shape and place.dtype == view.dtype:
                    set_array(view, place.array)


def _is_unlinked(view: Any, base: Any) -> bool:
    if not isinstance(view, Tensor) or not isinstance(base, Tensor) or view is base:
        return False
    return bool(view.keys & base.keys & PYTHON) and view._base is None


def _share_storage(view: Tensor, base: Tensor) -> None:
    grad = None if view.extra is None else view.extra.grad
    view.extra = Extra(storage_of(base), base if base._base is None else base._base)
    view.extra.grad = grad
    view.keys |= VIEW


def written_arguments(operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
    """Return the result with the written arguments themselves, where the declaration returns them."""
    signature = operator.signature
    returned = [position if position in signature.written else None for position in signature.aliases]
    if all(position is None for position in returned):
        return result
    found = [None if position is None else _argument(operator, args, kwargs, position) for position in returned]
    if len(found) == 1:
        return found[0]
    return tuple(own if own is not None else given for own, given in zip(found, result, strict=True))


def _argument(operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any], position: int) -> Any:
    return args[position] if position < len(args) else kwargs.get(operator.signature.names[position])
