"""`with opwright.as_torch():` — in the block, `import torch` and `from torch.x import y` give Opwright.

What was imported as `torch` before is what it was again after the block.

Note [Sources of PyTorch]
PyTorch's layers and optimizers are Python over names of `torch`. Where PyTorch is installed, the modules named in
SOURCES are its own files, run over Opwright's tensors; what they use and no user needs is in `opwright.torch_names`.
They are loaded once in a process, so that a class is the same in each block. Dtypes are NumPy's and take no attributes:
what the sources ask of them, `dtype.is_complex`, is asked of a function.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any, Final

from opwright_core.errors import RegistrationError
from opwright_core.names.late_imports import import_late

__all__ = ["as_torch", "import_below"]

SOURCES: Final = (
    "_functorch.functional_call", "amp.grad_scaler", "distributions", "nn._reduction", "nn.common_types", "nn.grad",
    "nn.init", "nn.modules", "nn.parameter", "nn.utils", "optim", "utils._foreach_utils", "utils._typing_utils",
    "utils.data._utils", "utils.data.dataloader", "utils.data.dataset", "utils.data.distributed",
    "utils.data.sampler", "utils.hooks",
)  # fmt: skip
# Whose names these have, too. (PyTorch's own file of `utils.data` loads datapipes.)
_HOMES: Final = {
    "amp": ("torch.amp.grad_scaler",),
    "cuda.amp": ("torch.amp.grad_scaler",),
    "func": ("torch._functorch.functional_call",),
    "nn": ("torch.nn.modules", "torch.nn.parameter"),
    "utils.data": tuple(f"torch.utils.data.{name}" for name in ("dataset", "sampler", "dataloader", "distributed")),
}
_ASKED: Final = ("is_complex", "is_floating_point", "is_signed")
_PYTORCHS: Final = "is a file of PyTorch's own, which as_torch() runs over Opwright's tensors: pip install torch"
_kept: dict[str, ModuleType] = {}


class _TorchModule(ModuleType):
    """A module of ours under PyTorch's name, with what PyTorch's own sources look for in it."""

    def __init__(self, name: str, ours: ModuleType | None) -> None:
        super().__init__(name, None if ours is None else ours.__doc__)
        self._ours = ours
        self._below = _below(name)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        found = (_names(self._below) or {}).get(name, self)
        if found is self:
            found = self._found(name)
        if callable(found):
            vars(self)[name] = found  # the next time it is no question
        return found

    def _found(self, name: str) -> Any:
        """Return what ours has under a name, or another module. Raises AttributeError where neither has it."""
        whole = f"{self.__name__}.{name}"
        try:
            if self._ours is None:
                raise AttributeError(f"module {self.__name__!r} has no attribute {name!r} under opwright.as_torch()")
            found = getattr(self._ours, name)
        except AttributeError as error:
            found = self if name.startswith("__") else self._further(name)
            if found is self:
                hint = (
                    f": {_HOMES[self._below][0]} {_PYTORCHS}" if self._below in _HOMES and not _is_installed() else ""
                )
                raise AttributeError(f"{error}{hint}") from None
            return found
        is_module = isinstance(found, ModuleType) and found.__name__ == f"opwright.{_below(whole)}"
        return import_below(whole) if is_module else found

    def _further(self, name: str) -> Any:
        """Return what another module has for this one, a module below it, or itself where there is neither."""
        if not self._below and name.startswith("_foreach_"):
            return import_late("opwright.torch_names.foreach").foreach_function(name)
        whole = f"{self.__name__}.{name}"
        if _is_there(_below(whole)):
            return import_below(whole)
        if self._below in _HOMES and _is_installed():
            for home in map(import_below, _HOMES[self._below]):
                if name in vars(home):
                    return vars(home)[name]
        return self

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._ours), *(_names(self._below) or ())})


class _Alias(Loader):
    """A loader that gives a module of ours under another name."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module of ours. Raises ModuleNotFoundError where there is none."""
        name = "opwright" + spec.name.removeprefix("torch")
        try:
            ours = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not name.startswith(error.name):
                raise
            if _names(_below(spec.name)) is not None:
                return _TorchModule(spec.name, None)
        else:
            return _TorchModule(spec.name, ours)
        why = f"opwright.as_torch() gives Opwright as torch, which has no {name}"
        if _is_pytorchs(_below(spec.name)) and not _is_installed():
            why = f"it {_PYTORCHS}"
        raise ModuleNotFoundError(f"No module named {spec.name!r}: {why}", name=spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Leave the module as it is: that of ours ran under its own name."""


class _Questions(ast.NodeTransformer):
    """The change of `x.dtype.is_complex` to a call of `torch._dtype_says`, and of a device of Apple's, which nothing is
    on here, to None."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Return None instead of `torch.device("mps:0")`, other calls as they are."""
        self.generic_visit(node)
        is_device = isinstance(node.func, ast.Attribute) and node.func.attr == "device"
        match node.args:
            case [ast.Constant(str() as name)] if is_device and name.startswith("mps"):
                return ast.copy_location(ast.Constant(None), node)
            case _:
                return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Return the call instead of a question to a dtype, other attributes as they are."""
        self.generic_visit(node)
        asked = getattr(node.value, "attr", getattr(node.value, "id", None))
        if node.attr not in _ASKED or asked != "dtype":
            return node
        says = ast.Attribute(ast.Name("torch", ast.Load()), "_dtype_says", ast.Load())
        return ast.copy_location(ast.Call(says, [node.value, ast.Constant(node.attr)], []), node)


class _Source(SourceFileLoader):
    """A loader of a file of PyTorch's. The code is never kept: PyTorch's own is another."""

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of the file."""
        path = self.get_filename(fullname)
        tree = ast.fix_missing_locations(_Questions().visit(ast.parse(self.get_data(path), path)))
        code: CodeType = compile(tree, path, "exec", dont_inherit=True)
        return code


class _Finder(MetaPathFinder):
    """A finder of `torch` and what is below it, asked before any other."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a file of PyTorch's, or of an alias."""
        if fullname != "torch" and not fullname.startswith("torch."):
            return None
        source = _source(_below(fullname))
        if source is None:
            return ModuleSpec(fullname, _Alias(), is_package=True)
        folders = [str(source.parent)] if source.name == "__init__.py" else None
        loader = _Source(fullname, str(source))
        return spec_from_file_location(fullname, source, loader=loader, submodule_search_locations=folders)


def _below(name: str) -> str:
    """Return the name of a module of PyTorch's within `torch`: nothing for itself."""
    return name.removeprefix("torch").removeprefix(".")


def _names(below: str) -> Mapping[str, Any] | None:
    """Return the names of PyTorch's that a module has beside ours; None where it is not there but for ours."""
    found: Mapping[str, Any] | None = import_late("opwright.torch_names.table").names_of(below)
    return found


@cache
def _source(below: str) -> Path | None:
    """Return the file of PyTorch's that is run for a module; None where ours is used, or PyTorch is not installed."""
    if not _is_pytorchs(below):
        return None
    installed = PathFinder.find_spec("torch")
    for folder in () if installed is None else installed.submodule_search_locations or ():
        base = Path(folder, *below.split("."))
        for file in (base / "__init__.py", base.with_name(f"{base.name}.py")):
            if file.is_file():
                return file
    return None


def _is_pytorchs(below: str) -> bool:
    return any(below == name or below.startswith(f"{name}.") for name in SOURCES)


def _is_installed() -> bool:
    return _source("nn.modules") is not None


def _is_there(below: str) -> bool:
    return _source(below) is not None or _names(below) is not None


def import_below(name: str) -> ModuleType:
    """Import a module below `torch`, also after the block in which `torch` was imported."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return importlib.import_module(name)
    with as_torch():
        return importlib.import_module(name)


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
            sys.modules.update(_kept)
            sys.meta_path.insert(0, self._finder)
            return importlib.import_module("torch")
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
        if self._finder in sys.meta_path:
            _kept.update((name, sys.modules[name]) for name in _torch_modules())
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self._finder]
        _forget_torch()
        sys.modules.update(self._before)


def _torch_modules() -> list[str]:
    return [name for name in sys.modules if name == "torch" or name.startswith("torch.")]


def _forget_torch() -> None:
    """Take what is imported as `torch` out of `sys.modules`."""
    for name in _torch_modules():
        sys.modules.pop(name, None)
