"""Errors for names that there are not: with the nearest one that there is."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["did_you_mean", "missing_attribute"]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'softmax'?`, to go on with after a message; empty where nothing known is near, and for
    names like `_mock_name`, which tools ask every object for."""
    if name.startswith("_"):
        return ""
    import difflib  # few programs have such an error

    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.75)
    return f"; did you mean {near[0]!r}?" if near else ""


def missing_attribute(message: str, name: str, known: Iterable[str], hint: str = "") -> AttributeError:
    """Return an AttributeError with the hint, or else the nearest of the known names. (With `obj`, tracebacks would do
    so too, but not among more than 750.)"""
    return AttributeError(message + (hint or did_you_mean(name, known)), name=name, obj=None)
