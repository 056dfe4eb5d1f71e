"""The rules of `meta:` formulas: `opwright_core.rules`, and those of ATen's families, each loaded when first named."""

from typing import TYPE_CHECKING, Any

from opwright_core import rules as _rules

if TYPE_CHECKING:
    from opwright_core.rules import *  # noqa: F403


def __getattr__(name: str) -> Any:
    return getattr(_rules, name)


def __dir__() -> list[str]:
    return dir(_rules)
