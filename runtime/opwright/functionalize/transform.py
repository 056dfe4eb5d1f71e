"""`functionalize`: a function that makes new tensors instead of writing to those that it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from opwright.functionalize.interpreter import Functionalization
from opwright.names.lazy_docstrings import wraps
from opwright.pytree import tree_leaves, tree_map
from opwright_core.tensors.tensor import Tensor

__all__ = ["functionalize"]

Function = Callable[..., Any]
P = ParamSpec("P")
R = TypeVar("R")


def functionalize(func: Callable[P, R], *, remove: str = "mutations") -> Callable[P, R]:
    """Return a function that gives what `func` gives, and calls no operator that writes, nor, with
    `remove="mutations_and_views"`, one that makes a view. What `func` writes to its arguments, or to other tensors from
    outside, is written to them at the end, each by one `copy_`.

    Raises RuntimeError for another `remove`. Semantics: `torch.func.functionalize`.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove='mutations'\n     remove='mutations_and_views'\n"
        )

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        level = Functionalization(remove == "mutations_and_views")
        with level:
            given = tree_leaves((args, kwargs))
            level.adopt_all([each for each in given if isinstance(each, Tensor)])
            inner_args, inner_kwargs = tree_map(lambda each: _entering(each, level), (args, kwargs))
            result = func(*inner_args, **inner_kwargs)
            answer = tree_map(lambda each: _leaving(each, level), result)
        level.write_back()
        level.forget()
        return answer

    return wrapper


def _entering(value: Any, level: Functionalization) -> Any:
    return level.inner(value) if isinstance(value, Tensor) else value


def _leaving(value: Any, level: Functionalization) -> Any:
    return level.value(value) if isinstance(value, Tensor) and level.is_own(value) else value
