"""The import that fills the table by which the core asks the library (`opwright_core.hooks`): `import opwright` does,
and the entry point of the group `opwright.library`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from opwright.ground.extras import require
from opwright.ground.questions import Fakes, Gradients, Handlers, Levels, Tools, Transforms, hooks
from opwright_core.hooks import Interface, Traces
from opwright_core.names.late_imports import import_late

__all__: list[str] = []


@cache
def _interface() -> Interface:
    from opwright.interface import interface

    return interface


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
        require("opwright_gate")
        found: Callable[..., Any] = import_late("opwright_gate.checking").opcheck
        return found

    def allow_mutation(self) -> AbstractContextManager[Any]:
        from opwright.utils.originals import allow_mutation

        return allow_mutation()

    @staticmethod
    @cache
    def load_whole() -> None:
        import_module("opwright.whole")

    def rules(self) -> ModuleType:
        return import_module("opwright_kernels.rules")

    def add_facts(self) -> frozenset[str]:
        from opwright.inspection.overload_facts import names

        return names

    def kind_of_arrays(self, home: str) -> Any:
        module, _, constant = home.partition(".")
        return getattr(import_module(f"opwright.other_arrays.{module}"), constant)

    def check_of_out(self, name: str) -> Callable[[Any, Any], None] | None:
        from opwright.base.out_dtypes import check_of

        return check_of(name)

    def pytorch_taker(self) -> Callable[[Any], Any]:
        from opwright.other_arrays.frameworks import pytorch_taker

        return pytorch_taker()

    def kind_of_protocols(self, kind: type) -> Any:
        from opwright.other_arrays.frameworks import kind_of_protocols

        return kind_of_protocols(kind)

    def function_of(self, kind: Any, callee: Any) -> Any:
        from opwright.other_arrays.gradients import function_of

        return function_of(kind, callee)

    def watch_process(self, operator: Any, key: Any, entry: Any, kernel: Callable[..., Any]) -> Callable[..., Any]:
        from opwright.inspection.call_trees import watch_process

        return watch_process(operator, key, entry, kernel)

    def array_namespace(self) -> ModuleType:
        import opwright

        return opwright.array_api  # a package above this one, which the package loads by name


@cache
def _tools() -> Tools:
    return _Tools()


hooks.interface = _interface
hooks.fakes = _fakes
hooks.gradients = _gradients
hooks.handlers = _handlers
hooks.levels = _levels
hooks.transforms = _transforms
hooks.traces = _traces
hooks.tools = _tools
