"""The former name of `opwright_kernels`: `opwright.kernels.pooling` is `opwright_kernels.pooling`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__: list[str] = []


def _current_name(name: str) -> str:
    return name.replace("opwright.kernels", "opwright_kernels", 1).replace(".composites_", ".composites.", 1)


class _Renamed(MetaPathFinder, Loader):
    """Finds modules under their former names: they are the same modules."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(f"{__name__}."):
            return None
        return ModuleSpec(fullname, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(_current_name(spec.name))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state  # what it was executed as


sys.meta_path.insert(0, _Renamed())  # before who would find their files


def __getattr__(name: str) -> Any:
    return getattr(importlib.import_module("opwright_kernels"), name)
