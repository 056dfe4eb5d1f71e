"""What a handler of wrappers owes the declaration: views share their base's storage, writes return the argument."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opwright.keys import PYTHON, VIEW
from opwright.python_dispatch.handlers import written_arguments
from opwright.state import exclude_keys
from opwright.storage import Extra, storage_of
from opwright.tensor import Tensor

if TYPE_CHECKING:
    from opwright.dispatcher import Operator

__all__ = ["return_and_correct_aliasing"]


def return_and_correct_aliasing(func: Operator, args: Any, kwargs: Any, out: Any) -> Any:
    """What a wrapper's `__torch_dispatch__` should return for `out`, its result of `func(*args, **kwargs)`.

    A result that is a view of a wrapper shares that one's storage, version and base. An operator that writes returns
    the argument it wrote, and one that changes its argument's shape in place changes the wrapper's. Semantics:
    `torch.utils._python_dispatch.return_and_correct_aliasing`.
    """
    args, kwargs = tuple(args), kwargs or {}
    signature = func.signature
    results = out if isinstance(out, tuple) else (out,)
    for position, result in zip(signature.aliases, results, strict=False):
        if position is not None and position not in signature.written:
            base = args[position] if position < len(args) else kwargs.get(signature.names[position])
            for each in result if isinstance(result, list) else (result,):
                _make_view(each, base)
    if "inplace_view" in func.tags:
        with exclude_keys("Python"):  # the wrapper has no data: only what it looks like changes
            func(*args, **kwargs)
    return written_arguments(func, args, kwargs, out)


def _make_view(view: Any, base: Any) -> None:
    wrappers = isinstance(view, Tensor) and isinstance(base, Tensor) and view is not base
    if not wrappers or not view.keys & base.keys & PYTHON:
        return
    root = base if base._base is None else base._base
    grad = None if view.extra is None else view.extra.grad
    view.extra = Extra(storage_of(base), root)
    view.extra.grad = grad
    view.keys |= VIEW
