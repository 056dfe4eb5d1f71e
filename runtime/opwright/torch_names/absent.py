"""Answers about what is not here: TorchScript, compilers, other processes, cuDNN."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = [
    "Nothing", "always", "annotate", "decorator", "ignored", "no_recording", "notes", "refused",
]  # fmt: skip

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Nothing:
    """A class without instances, to be asked about: is it a `ScriptModule`?"""


def always(answer: Any) -> Callable[..., Any]:
    """Return a function that gives this result, whatever it is asked."""

    def answering(*args: object, **kwargs: object) -> Any:
        return answer

    return answering


def ignored(*args: object, **kwargs: object) -> None:
    """Do nothing."""


def decorator(function: Any = None, **options: object) -> Any:
    """Return a function as it is. With options, a decorator that does so."""
    return function if callable(function) else decorator


def annotate(kind: object, value: Any) -> Any:
    """Return the value, whatever its type is said to be."""
    return value


def refused(name: str, why: str) -> Callable[..., Any]:
    """Return a function that raises NotImplementedError: what it would do is not here."""

    def refusing(*args: object, **kwargs: object) -> Any:
        raise NotImplementedError(f"{name}: {why}")

    return refusing


def no_recording(*args: object, **kwargs: object) -> Any:
    """Return a block that does nothing."""
    return contextlib.nullcontext()


# Notes that docstrings of PyTorch are made of.
notes = {f"{kind}_reproducibility_note": "" for kind in ("backward", "cudnn", "forward")}
