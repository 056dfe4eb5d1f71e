"""`with opwright.as_torch():` — in the block, `import torch` and `from torch.x import y` give Opwright.

What was imported as `torch` before is what it was again after the block.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType, TracebackType

from opwright_core.errors import RegistrationError

__all__ = ["as_torch"]


class _Alias(Loader):
    """A loader that gives a module of ours under another name."""

    _spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module of ours. Raises ModuleNotFoundError where there is none."""
        name = "opwright" + spec.name.removeprefix("torch")
        try:
            found = importlib.import_module(name)
            self._spec = found.__spec__
            return found
        except ModuleNotFoundError as error:
            if error.name is None or not name.startswith(error.name):
                raise
        raise ModuleNotFoundError(
            f"No module named {spec.name!r}: opwright.as_torch() gives Opwright as torch, which has no {name}",
            name=spec.name,
        )

    def exec_module(self, module: ModuleType) -> None:
        """Leave the module as it is: it ran under its own name, and keeps its spec."""
        module.__spec__ = self._spec


class _Finder(MetaPathFinder):
    """A finder of `torch` and what is below it, asked before any other."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of an alias."""
        if fullname != "torch" and not fullname.startswith("torch."):
            return None
        return ModuleSpec(fullname, _Alias(), is_package=True)


class as_torch:
    """A block in which `torch` is Opwright for every import statement, also those of modules that are imported in it.

    Those modules keep it afterwards; `torch` itself is what it was before. `as_torch().__enter__()` has it last. For
    one thread: `sys.modules` is the process's. Raises RegistrationError within another such block.
    """

    def __init__(self) -> None:
        self._finder = _Finder()
        self._before: dict[str, ModuleType] = {}

    def __enter__(self) -> ModuleType:
        if any(isinstance(finder, _Finder) for finder in sys.meta_path):
            raise RegistrationError("as_torch() within as_torch(): torch is Opwright already")
        self._before = {name: sys.modules[name] for name in _torch_modules()}
        try:  # (Note [Interrupted blocks])
            _forget_torch()
            sys.meta_path.insert(0, self._finder)
            return sys.modules["opwright"]
        except BaseException:
            self._put_back()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._put_back()
        except BaseException:
            self._put_back()
            raise

    def _put_back(self) -> None:
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self._finder]
        _forget_torch()
        sys.modules.update(self._before)


def _torch_modules() -> list[str]:
    return [name for name in sys.modules if name == "torch" or name.startswith("torch.")]


def _forget_torch() -> None:
    """Take what is imported as `torch` out of `sys.modules`."""
    for name in _torch_modules():
        sys.modules.pop(name, None)
