"""Examples: calls that an operator takes, where drawing finds none."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["example", "examples_of"]

_EXAMPLES: Final[dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]]] = {}


def example(name: str, *args: Any, **kwargs: Any) -> None:
    """Say that an operator takes a call, of arrays, Tensors and numbers: the gate derives its calls from it, in other
    layouts, sizes, values and dtypes. `name` is qualified, `"mylib::rotary"`."""
    _EXAMPLES.setdefault(name.removesuffix(".default"), []).append((args, kwargs))


def examples_of(name: str) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Return the calls that are known of an operator."""
    return _EXAMPLES.get(name, [])
