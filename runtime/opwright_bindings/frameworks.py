"""What modules of bindings begin with: the package beside them, and the error of a framework that is not installed."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

__all__ = ["FrameworkMissing", "import_beside"]


class FrameworkMissing(ImportError):
    """An error: a framework that operators are given to is not installed."""

    def __init__(self, framework: str, distribution: str) -> None:
        super().__init__(
            f"{framework} is not installed, and this module gives it operators: pip install {distribution}"
        )


def import_beside(package: str, module: str) -> ModuleType:
    """Import the generated package that stands beside the module of that name."""
    parent = module.rpartition(".")[0]
    return import_module(f"{parent}.{package}" if parent else package)
