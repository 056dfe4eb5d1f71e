"""The import that fills the table by which lower packages ask higher ones (`opwright_core.hooks`)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from opwright.ground.questions import Fakes, Gradients, Handlers, Levels, Tools, Transforms, hooks
from opwright_core.hooks import Operators, Traces

__all__: list[str] = []


@cache
def _operators() -> Operators:
    from opwright.backends import provider

    return provider


@cache
def _fakes() -> Fakes:
    from opwright.fake import provider

    return provider


@cache
def _gradients() -> Gradients:
    from opwright.autograd import provider

    return provider


@cache
def _handlers() -> Handlers:
    from opwright.python_dispatch import provider

    return provider


@cache
def _levels() -> Levels:
    from opwright.levels import provider

    return provider


@cache
def _transforms() -> Transforms:
    from opwright.func import provider

    return provider


@cache
def _traces() -> Traces:
    from opwright.fx import provider

    return provider


class _Tools:
    """The packages around the whole, each loaded by itself."""

    @property
    def opcheck(self) -> Callable[..., Any]:
        from opwright.testing import checking

        return checking.opcheck

    def allow_mutation(self) -> AbstractContextManager[Any]:
        from opwright.utils.originals import allow_mutation

        return allow_mutation()

    @staticmethod
    @cache
    def load_whole() -> None:
        import_module("opwright.whole")

    def array_namespace(self) -> ModuleType:
        import opwright

        return opwright.array_api  # a package above this one, which the package loads by name


@cache
def _tools() -> Tools:
    return _Tools()


hooks.operators = _operators
hooks.fakes = _fakes
hooks.gradients = _gradients
hooks.handlers = _handlers
hooks.levels = _levels
hooks.transforms = _transforms
hooks.traces = _traces
hooks.tools = _tools
