"""Functions of the kernel and rule modules, read from their source: nothing is imported, nothing runs."""

from __future__ import annotations

import ast
import keyword
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from opwright_codegen.errors import SchemaError, nearest
from opwright_codegen.kernels.annotations import Annotations, statements
from opwright_codegen.kernels.cuda_files import CudaFile, read_cuda_file
from opwright_codegen.kernels.roles import plain, role_of
from opwright_codegen.source import Source, Span

__all__ = ["UNSAID", "KernelFunction", "KernelModules", "Parameter", "module_files", "parts_of"]

# What a schema file may name by path of what is installed, whatever the settings are; and what only settings may name,
# though a folder of the project is called the same: a program that runs elsewhere would import the other one.
_OURS: Final = ("opwright_kernels", "opwright_core.rules")
_RULES: Final = "opwright.rules"  # what users say
_PARTS: Final = {"opwright_core.rules": ("opwright_core.rules", "opwright_kernels.rules")}  # by one name
UNSAID: Final = ("", "Any", "object")  # annotations that say nothing of what a function returns
_PLAN: Final = re.compile(r"\bPlan\b")
_BY_PATH: Final = ("batching", "composites", "gradients", "rules")  # what schema files name by its package
_FORMERLY: Final = "opwright.kernels"  # what `opwright_kernels` was called; settings and schema files may say so
_OTHERS: Final = sys.stdlib_module_names | frozenset(
    ("numpy", "cupy", "opwright", "opwright_codegen", "opwright_core", "opwright_kernels")
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function: its annotation as text ('' where there is none), its role, and how it is passed."""

    name: str
    annotation: str = ""
    is_keyword: bool = False
    is_required: bool = True
    role: str = ""


@dataclass(frozen=True, slots=True)
class KernelFunction:
    """A function at the top level of a module; `signature` has all its parameters, those of `*` and `**` aside.

    `vararg` is the name after `*`, with its `vararg_annotation`; `takes_keywords` says that there is a `**`; `returns`
    is the annotation as text, `doc` the docstring.
    """

    module: str
    name: str
    signature: tuple[Parameter, ...]
    vararg: str | None = None
    takes_keywords: bool = False
    returns: str = ""
    doc: str = ""
    vararg_annotation: str = ""
    vararg_role: str = ""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Return the names of all parameters."""
        return tuple(parameter.name for parameter in self.signature)

    @property
    def positional(self) -> tuple[Parameter, ...]:
        """Return the names of parameters that may be passed by position."""
        return tuple(parameter for parameter in self.signature if not parameter.is_keyword)

    @property
    def makes_plans(self) -> bool:
        """Whether it says that it returns plans: it is a rule, not a kernel."""
        return bool(_PLAN.search(self.returns))

    @property
    def batches(self) -> bool:
        """Whether it is a batching rule, `function(info, in_dims, ...)`, by the names of its parameters."""
        return self.parameters[:2] == ("info", "in_dims")

    @property
    def takes_xp(self) -> bool:
        """Whether the array module comes first."""
        return self.parameters[:1] == ("xp",)

    @property
    def takes_out(self) -> bool:
        """Whether it can write into an array, passed as `out=`."""
        return "out" in self.parameters


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

    @cached_property
    def _functions(self) -> dict[str, list[KernelFunction]]:
        """Read when first asked for: schemas without kernels need no modules."""
        found: dict[str, list[KernelFunction]] = {}
        for name in self._modules:
            for module, path in module_files(name, self._roots):
                for function in _functions(module, path).values():
                    if self._of == "rule" or not (function.makes_plans or function.batches):
                        found.setdefault(function.name, []).append(function)
        return found

    @property
    def names(self) -> frozenset[str]:
        """Return the names of all functions of the modules."""
        return frozenset(self._functions)

    @property
    def rule_names(self) -> frozenset[str]:
        """Return the names of functions that, as far as they say it, return plans: what `meta` may call."""
        return frozenset(
            name
            for name, found in self._functions.items()
            if not name.startswith("_") and any(each.returns in UNSAID or each.makes_plans for each in found)
        )

    def find(self, name: str, span: Span | None = None) -> KernelFunction | None:
        """Return the function called `name`, or None; SchemaError when two modules have one."""
        found = self._functions.get(name, ())
        if len(found) > 1:
            modules = " and ".join(function.module for function in found)
            hint = f"write {found[0].module}:{name}"
            raise SchemaError(f"ambiguous-{self._code}", f"{modules} both have a function {name!r}", span, hint)
        return found[0] if found else None

    def unknown(self, name: str, span: Span | None = None) -> SchemaError:
        """Return the error that no module has a function called `name`."""
        near = nearest(name, self._functions)
        where = ", ".join(self._modules) or "no module is configured"
        hint = f"did you mean {near!r}?" if near else f"looked in: {where}"
        return SchemaError(f"unknown-{self._code}", f"no {self._of} is called {name!r}", span, hint)

    def find_path(self, module: str, name: str, span: Span | None = None) -> KernelFunction:
        """Return the function of `module:name`. Raises SchemaError if there is none, or it is not the project's."""
        said, module = module, _current_name(module)
        self._check_own(module, span)
        self._named.add(module)
        for part, path in module_files(module, self._roots, span):
            if part == module:
                functions = _functions(part, path)
                if name in functions:
                    return functions[name]
                near = nearest(name, functions)
                hint = f"did you mean {said}:{near}?" if near else f"looked in {path.name}"
                raise SchemaError(f"unknown-{self._code}", f"{said} has no function {name!r}", span, hint)
        raise _no_module(module, module, span, "a module of Python source is expected")

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


def _current_name(module: str) -> str:
    """Return the name that a module of our kernels or rules has by now."""
    if module == _FORMERLY or module.startswith(f"{_FORMERLY}."):
        module = module.replace(_FORMERLY, "opwright_kernels", 1).replace(".composites_", ".composites.", 1)
    package, _, name = module.rpartition(".")
    if module == _RULES:
        return "opwright_core.rules"
    if package == _RULES:
        roots = ("opwright_core", "opwright_kernels")
        has_it = (root for root in roots for top in _top_level(root, ()) if _in_folder(top / "rules", name))
        return f"{next(has_it, roots[0])}.rules.{name}"
    return _kernels_by_name().get(name, module) if package == "opwright_kernels" else module


@cache
def _kernels_by_name() -> dict[str, str]:
    """Return the modules of our kernels by their last names: they stood in one folder, and stand by family."""
    found = {}
    for path in (folder for top in _top_level("opwright_kernels", ()) for folder in top.glob("*/*.py")):
        if path.parent.name not in _BY_PATH and path.stem != "__init__":
            found[path.stem] = f"opwright_kernels.{path.parent.name}.{path.stem}"
    return found


def parts_of(module: str) -> tuple[str, ...]:
    """Return the modules or packages that a name in settings stands for."""
    name = _current_name(module)
    return _PARTS.get(name, (name,))


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


def _is_installed(folder: Path) -> bool:
    """Whether a folder holds what is installed, though it is the current one or has a schema file."""
    return folder.resolve().name in ("site-packages", "dist-packages")


def _is_module_name(part: str) -> bool:
    """Whether a module can have the name, and a file the module's: file systems take up to 255 bytes."""
    return part.isidentifier() and not keyword.iskeyword(part) and len(part.encode()) <= 250


def _no_module(name: str, missing: str, span: Span | None, hint: str | None) -> SchemaError:
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


def _functions(module: str, path: Path) -> Mapping[str, KernelFunction]:
    stat = path.stat()
    return _functions_of(module, path, stat.st_mtime_ns, stat.st_size)


@cache
def _functions_of(module: str, path: Path, _changed: int, _size: int) -> Mapping[str, KernelFunction]:
    data = path.read_bytes()
    try:
        tree = ast.parse(data)
    except SyntaxError as error:
        source = Source(str(path), data.decode("utf-8", "replace"))
        starts = source.line_starts()
        line = min(max(error.lineno or 1, 1), len(starts))
        at = min(starts[line - 1] + max((error.offset or 1) - 1, 0), len(source.text))
        raise SchemaError("kernel-module", f"{module}: {error.msg}", Span(source, at, at + 1)) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise SchemaError("kernel-module", f"{module} is not Python source: {error}") from None
    functions = {}
    annotations = Annotations(tree.body)
    for node in (each for each in statements(tree.body) if isinstance(each, ast.FunctionDef)):
        functions[node.name] = KernelFunction(
            module,
            node.name,
            tuple(_parameters(node.args, annotations)),
            node.args.vararg.arg if node.args.vararg else None,
            node.args.kwarg is not None,
            annotations.text(node.returns),
            ast.get_docstring(node) or "",
            plain(written := annotations.text(node.args.vararg.annotation) if node.args.vararg else ""),
            role_of(written),
        )
    return functions


def _parameters(arguments: ast.arguments, annotations: Annotations) -> Iterator[Parameter]:
    positional = (*arguments.posonlyargs, *arguments.args)
    required = len(positional) - len(arguments.defaults)
    for place, argument in enumerate(positional):
        yield _parameter(argument, annotations, False, place < required)
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _parameter(argument, annotations, True, default is None)


def _parameter(argument: ast.arg, annotations: Annotations, is_keyword: bool, is_required: bool) -> Parameter:
    written = annotations.text(argument.annotation)
    return Parameter(argument.arg, plain(written), is_keyword, is_required, role_of(written))
