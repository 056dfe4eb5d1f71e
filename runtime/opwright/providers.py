"""Fill the table of functions that the core calls in the library (`opwright_core.late_bound`).

`import opwright` imports this module, and so does the entry point of the group `opwright.library`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from opwright.names.late_bound import Fakes, Gradients, Handlers, Levels, Tools, Transforms, late_bound
from opwright.names.optional_packages import require
from opwright_core.late_bound import Interface, Traces
from opwright_core.names.late_imports import import_late

__all__: list[str] = []


@cache
def _interface() -> Interface:
    from opwright.abi_names import interface

    return interface


@cache
def _fakes() -> Fakes:
    from opwright.fake import fakes_provider

    return fakes_provider


@cache
def _gradients() -> Gradients:
    from opwright.autograd import gradients_provider

    return gradients_provider


@cache
def _handlers() -> Handlers:
    from opwright.python_dispatch import handlers_provider

    return handlers_provider


@cache
def _levels() -> Levels:
    from opwright.levels import levels_provider

    return levels_provider


@cache
def _transforms() -> Transforms:
    from opwright.func import transforms_provider

    return transforms_provider


@cache
def _traces() -> Traces:
    from opwright.fx import traces_provider

    return traces_provider


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
        import_module("opwright.aten_setup")

    def rules(self) -> ModuleType:
        return import_module("opwright_kernels.rules")

    def add_facts(self) -> frozenset[str]:
        from opwright.inspection.overload_facts import names

        return names

    def kind_of_arrays(self, home: str) -> Any:
        module, _, constant = home.partition(".")
        return getattr(import_module(f"opwright.other_arrays.{module}"), constant)

    def check_of_out(self, name: str) -> Callable[[Any, Any], None] | None:
        from opwright.variants.out_dtypes import check_of

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


late_bound.interface = _interface
late_bound.fakes = _fakes
late_bound.gradients = _gradients
late_bound.handlers = _handlers
late_bound.levels = _levels
late_bound.transforms = _transforms
late_bound.traces = _traces
late_bound.tools = _tools
