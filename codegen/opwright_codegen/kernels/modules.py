"""Kernel and rule modules: where they are, and which function has a name. Nothing is imported, nothing runs."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from opwright_codegen.errors import SchemaError, SchemaErrors, nearest
from opwright_codegen.kernels.cuda_files import CudaFile, read_cuda_file
from opwright_codegen.kernels.source_functions import KernelFunction, functions_of, names_defined
from opwright_codegen.source import Span

if TYPE_CHECKING:
    from opwright_codegen.read.model import Operator

__all__ = ["KernelModules", "PublicFunctions", "module_files", "parts_of"]

# What a schema file may name by path of what is installed, whatever the settings are; and what only settings may name,
# though a folder of the project is called the same: a program that runs elsewhere would import the other one.
_OURS: Final = ("opwright_kernels", "opwright_core.rules")
_RULES: Final = "opwright.rules"  # what users say
_PARTS: Final = {"opwright_core.rules": ("opwright_core.rules", "opwright_kernels.rules")}  # by one name
_OTHERS: Final = sys.stdlib_module_names | frozenset(
    ("numpy", "cupy", "opwright", "opwright_codegen", "opwright_core", "opwright_kernels")
)
# A path as people write it: `kernels.scale`, `kernels.py:scale`, `./kernels::scale`, `kernels: scale(x)`.
_SPELLING: Final = re.compile(
    r"(?P<module>[\w./]*?\w)(?:\.py)?\s*(?:::|[:./])\s*(?P<name>[A-Za-z_]\w*)(?:\(.*\))?", re.ASCII | re.DOTALL
)
_OF_SPELLINGS: Final = frozenset(("unknown-name", "unknown-module", "formula-syntax", "unknown-kernel", "unknown-rule"))


class KernelModules:
    """The functions of some modules, of all modules of a package where one is named; and of others by their path.

    `roots` are folders to look for modules in before the installed ones. A missing module raises SchemaError when a
    function is asked for. A path may name modules that are found in `roots`, those here, and those that are `allowed`
    or in a package that is. Modules of functions that are asked for by their path are added to `named`, CUDA sources
    to `files`.
    """

    def __init__(
        self,
        modules: Sequence[str],
        roots: Sequence[Path] = (),
        *,
        of: str = "kernel",
        named: set[str] | None = None,
        allowed: Sequence[str] = (),
        files: set[str] | None = None,
    ) -> None:
        self._modules = tuple(part for name in modules for part in parts_of(name))
        self._allowed = (*self._modules, *allowed, *_OURS)
        self._roots = tuple(roots)
        self._named = named if named is not None else set()
        self._files = files if files is not None else set()
        self._of = of
        self._code = of.replace(" ", "-")
        self._found: dict[str, list[KernelFunction]] = {}

    @cached_property
    def _sources(self) -> list[tuple[str, Path]]:
        """Return the modules and their files, found when first asked for: schemas without kernels need none."""
        return [each for name in self._modules for each in module_files(name, self._roots)]

    @cached_property
    def _defined(self) -> list[frozenset[str] | None]:
        """Return what each module of ours may have; None for those of others."""
        return [names_defined(path) if _is_ours(module) else None for module, path in self._sources]

    def having(self, name: str) -> Sequence[KernelFunction]:
        """Return the functions called `name`, in the order of the modules. Of our own only those are read that may
        have one: it takes a fifth of a second to read them all."""
        found = self._found.get(name)
        if found is None:
            sources = zip(self._sources, self._defined, strict=True)
            read = (functions_of(*each).get(name) for each, names in sources if names is None or name in names)
            found = self._found[name] = [each for each in read if each is not None and self._takes(each)]
        return found

    def _takes(self, function: KernelFunction) -> bool:
        return self._of == "rule" or not (function.makes_plans or function.batches)

    @cached_property
    def names(self) -> frozenset[str]:
        """Return the names of all functions of the modules."""
        every = (each for source in self._sources for each in functions_of(*source).values())
        return frozenset(each.name for each in every if self._takes(each))

    @property
    def public(self) -> PublicFunctions:
        """Return what formulas may call."""
        return PublicFunctions(self, self._of == "rule")

    def find(self, name: str, span: Span | None = None) -> KernelFunction | None:
        """Return the function called `name`, or None; SchemaError when two modules have one."""
        found = self.having(name)
        if len(found) > 1:
            modules = " and ".join(function.module for function in found)
            hint = f"write {found[0].module}:{name}"
            raise SchemaError(f"ambiguous-{self._code}", f"{modules} both have a function {name!r}", span, hint)
        return found[0] if found else None

    def unknown(self, name: str, span: Span | None = None, operator: Operator | None = None) -> SchemaError:
        """Return the error that no module has a function called `name`, the kernel of an operator if one is given."""
        near = nearest(name, sorted(self.names))
        where = ", ".join(self._modules) or "no module is configured"
        hint = f"did you mean {near!r}?" if near else f"looked in: {where}"
        message = f"no {self._of} is called {name!r}"
        if operator is not None and any(each.name == name for each in operator.schema.arguments):
            hint = f"an argument alone is written in brackets: ({name})"
        elif operator is not None and "dispatch" not in operator.spans:
            message = f"{operator.name} has no 'dispatch:', and {message}"
            module = self.having(near)[0].module if near else "module"
            hint = f"name the implementation, for example dispatch: {{CPU: {module}:{near or name}}}"
        return SchemaError(f"unknown-{self._code}", message, span, hint)

    def find_path(self, module: str, name: str, span: Span | None = None) -> KernelFunction:
        """Return the function of `module:name`. Raises SchemaError if there is none, or it is not the project's."""
        said, module = module, _written_out(module)
        self._check_own(module, span)
        self._named.add(module)
        for part, path in module_files(module, self._roots, span):
            if part == module:
                functions = functions_of(part, path)
                if name in functions:
                    return functions[name]
                near = nearest(name, functions)
                hint = f"did you mean {said}:{near}?" if near else f"looked in {path.name}"
                raise SchemaError(f"unknown-{self._code}", f"{said} has no function {name!r}", span, hint)
        raise _no_module(module, module, span, "a module of Python source is expected")

    @contextmanager
    def spelled(self, text: str, span: Span) -> Iterator[None]:
        """Raise errors about a text that is another spelling of a path, `kernels.scale`, with the right one."""
        try:
            yield
        except SchemaError as error:
            first = error.errors[0] if isinstance(error, SchemaErrors) else error
            path = self._path_of(text) if first.code in _OF_SPELLINGS else None
            if path is None:
                raise
            raise SchemaError(first.code, first.message, span, f"write {path}") from None

    def _path_of(self, text: str) -> str | None:
        """Return the path that another spelling means: of a module of the project that has such a function."""
        found = _SPELLING.fullmatch(text.strip())
        module = found["module"].strip("./").replace("/", ".") if found is not None else ""
        tops = sorted({path.stem for root in self._roots for path in root.glob("*.py")} | {*self._modules})
        near = module if module in tops else nearest(module, tops)
        for name in (module, near) if found is not None and module else ():
            for part, path in _known_files(name, self._roots) if name is not None else ():
                functions = functions_of(part, path) if part == name else {}
                function = nearest(found["name"], functions) if found is not None else None
                if function is not None:
                    return f"{name}:{function}"
        return None

    def cuda_file(self, path: str, header: str, span: Span) -> CudaFile:
        """Return the CUDA source of that path, without the generated header. Raises SchemaError if there is none."""
        found = read_cuda_file(path, self._roots, Path(span.source.path).parent, (header,), span)
        self._files.update(map(str, found.files))
        return found

    def _check_own(self, module: str, span: Span | None) -> None:
        """Refuse what is neither the project's nor named in its settings: a schema file alone can then run nothing."""
        if any(module == allowed or module.startswith(f"{allowed}.") for allowed in self._allowed):
            return
        top = module.partition(".")[0]
        if top not in _OTHERS and _is_module_name(top):
            if any(_in_folder(root, top) for root in self._roots if not _is_installed(root)):
                return
            if not _top_level(top, ()):
                return  # there is no such module, which is said elsewhere
        hint = f"if it is meant, name its package under 'kernels' of [tool.opwright]: kernels = [\"{module}\"]"
        message = f"{module!r} is no module of this project, and [tool.opwright] does not name it"
        raise SchemaError("foreign-module", message, span, hint)


class PublicFunctions(Mapping[str, KernelFunction]):
    """The functions of modules that formulas may call, by name; of rules those that, as far as they say it, return
    plans. A module is read when it is asked for a name that it may have."""

    def __init__(self, modules: KernelModules, are_rules: bool) -> None:
        self._modules = modules
        self._are_rules = are_rules

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str) or name.startswith("_"):
            return False
        found = self._modules.having(name)
        return any(each.may_make_plans for each in found) if self._are_rules else bool(found)

    def __getitem__(self, name: str) -> KernelFunction:
        """Return the function of that name. Raises SchemaError when two modules have one."""
        found = self._modules.find(name) if name in self else None
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return (name for name in sorted(self._modules.names) if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _is_ours(module: str) -> bool:
    return module.startswith(("opwright_kernels.", "opwright_core."))


def _written_out(module: str) -> str:
    """Return the module of a name: users write `opwright.rules` for the rules of both packages."""
    package, _, name = module.rpartition(".")
    if module == _RULES:
        return "opwright_core.rules"
    if package == _RULES:
        roots = ("opwright_core", "opwright_kernels")
        has_it = (root for root in roots for top in _top_level(root, ()) if _in_folder(top / "rules", name))
        return f"{next(has_it, roots[0])}.rules.{name}"
    return module


def parts_of(module: str) -> tuple[str, ...]:
    """Return the modules or packages that a name in settings stands for; without the library, the core's alone."""
    name = _written_out(module)
    found = _PARTS.get(name, (name,))
    return tuple(part for part in found if part == name or find_spec(part.partition(".")[0]) is not None)


def module_files(name: str, roots: Sequence[Path] = (), span: Span | None = None) -> list[tuple[str, Path]]:
    """Return module names and source files of the module `name`; of all modules in it, sorted, where it is a package.

    Nothing is imported: the top-level package is found by its finder, the rest by walking folders.
    """
    parts = name.split(".")
    if not all(_is_module_name(part) for part in parts):
        raise _no_module(name, name, span, "a module is written package.module")
    places = _top_level(parts[0], roots)
    for end in range(1, len(parts)):
        folders = [place for place in places if place.is_dir()]
        places = [found for folder in folders for found in _in_folder(folder, parts[end])]
        if not places:
            known = {path.stem for folder in folders for path in folder.iterdir() if path.stem.isidentifier()}
            near = nearest(parts[end], known)
            hint = f"did you mean {'.'.join([*parts[:end], near])}?" if near else None
            raise _no_module(name, ".".join(parts[: end + 1]), span, hint)
    if not places:
        raise _no_module(name, parts[0], span, "install it, or name its folder's parent in the current project")
    return list(_sources(name, places[0]))


def _known_files(name: str, roots: Sequence[Path]) -> list[tuple[str, Path]]:
    """Return the files of a module of the project; nothing where there is none."""
    if not any(_in_folder(root, name.partition(".")[0]) for root in roots if not _is_installed(root)):
        return []
    try:
        return module_files(name, roots)
    except SchemaError:
        return []


def _is_installed(folder: Path) -> bool:
    """Whether a folder holds what is installed, though it is the current one or has a schema file."""
    return folder.resolve().name in ("site-packages", "dist-packages")


def _is_module_name(part: str) -> bool:
    """Whether a module can have the name, and a file the module's: file systems take up to 255 bytes."""
    return part.isidentifier() and not keyword.iskeyword(part) and len(part.encode()) <= 250


def _no_module(name: str, missing: str, span: Span | None, hint: str | None) -> SchemaError:
    if name.endswith(".py"):
        hint = f"write {name[:-3].replace('/', '.')}"
    message = f"there is no module {name!r}" + (f": {missing!r} is not found" if missing != name else "")
    return SchemaError("unknown-module", message, span, hint)


def _top_level(name: str, roots: Sequence[Path]) -> list[Path]:
    for root in roots:
        if found := _in_folder(root, name):
            return found
    try:
        spec = find_spec(name)
    except ValueError:  # a module in sys.modules that has no spec: __main__
        return []
    if spec is None:
        return []
    if spec.submodule_search_locations is not None:
        return [Path(location) for location in spec.submodule_search_locations]
    return [Path(spec.origin)] if spec.origin and spec.origin.endswith(".py") else []


def _in_folder(folder: Path, name: str) -> list[Path]:
    """Return the package or else the module `name`, as Python would find it there."""
    package, module = folder / name, folder / f"{name}.py"
    if (package / "__init__.py").is_file():
        return [package]
    if module.is_file():
        return [module]
    return [package] if package.is_dir() and any(package.glob("*.py")) else []


def _sources(name: str, place: Path) -> Iterator[tuple[str, Path]]:
    if place.is_file():
        yield name, place
        return
    for path in sorted(place.rglob("*.py")):
        inner = path.relative_to(place).with_suffix("").parts
        inner = inner[:-1] if inner[-1] == "__init__" else inner
        if all(part.isidentifier() for part in inner) and inner[-1:] != ("__main__",):
            yield ".".join((name, *inner)), path
