"""Modules that define operators, imported by name or by file, once."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["load_modules"]


def load_modules(modules: Sequence[str]) -> None:
    """Import modules: `NAME`, or `FOLDER/FILE.py`, which goes by its stem. Raises what they raise."""
    for module in modules:
        if module.startswith("from "):
            exec(compile(module, "<gate>", "exec"), {})
            continue
        if not module.endswith(".py"):
            importlib.import_module(module)
            continue
        name = f"_gate_{Path(module).stem}"
        if name in sys.modules:
            continue
        spec = importlib.util.spec_from_file_location(name, module)
        if spec is None or spec.loader is None:
            raise ImportError(f"{module} cannot be imported")
        made = importlib.util.module_from_spec(spec)
        sys.modules[name] = made
        spec.loader.exec_module(made)
