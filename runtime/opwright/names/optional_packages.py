"""Packages that only some functions need: extras of the distribution, named in one line if they are missing."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Final

__all__ = ["ExtraMissing", "require"]

# By package: the functions that need it, and the distribution that has it.
_EXTRAS: Final = {
    "opwright_codegen": ("schemas and formulas are read by the generator", "opwright-codegen"),
    "opwright_gate": ("operators are checked by opwright_gate", "opwright"),
    "rich": ("reports as text need Rich", "rich"),
    "sympy": ("symbolic sizes need SymPy", "sympy"),
}


class ExtraMissing(ImportError):
    """An error: a package that a function needs is not installed."""


@cache
def require(package: str) -> None:
    """Return if a package of an extra is installed. Raises ExtraMissing with the command that installs it."""
    if find_spec(package) is None:
        reason, distribution = _EXTRAS[package]
        raise ExtraMissing(f"{reason}, which is not installed: pip install {distribution}", name=package)
