"""The data of a run of the generator: from the configuration, and the command line in its place."""

from __future__ import annotations

import os
import re
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from opwright_codegen.commands.config import Config, matching_files
from opwright_codegen.declared.binding_folders import files_of, find_bindings, own_bindings
from opwright_codegen.declared.inputs import Inputs
from opwright_codegen.errors import SchemaError, UsageError
from opwright_codegen.output.editor_schema import editor_schemas
from opwright_codegen.output.freshness import named_files, named_modules
from opwright_codegen.records import dataclass, field

if TYPE_CHECKING:
    from opwright_codegen.targets.bindings.framework import LeftOut

__all__ = ["Job", "job_of", "module_of", "modules_of", "root_of"]


@dataclass(frozen=True, slots=True)
class Job(Inputs):
    """The data of one run of the generator: what it reads, and where its output goes. `extra_targets` are targets of
    other distributions, `programs` the command lines of targets that are programs. Rendering fills the sets: `left_out`
    are operators that a framework of `bindings` cannot take, `targets` all files."""

    output: Path | dict[str, Path] | None = None
    only: tuple[str, ...] = ()
    bindings: tuple[str, ...] = ()
    extra_targets: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    left_out: list[LeftOut] = field(default_factory=list)
    targets: set[str] = field(default_factory=set)

    @property
    def runs_others(self) -> bool:
        """Return whether the output depends on code that is not ours, so that every run has to make it."""
        return bool(self.extra_targets or self.programs)

    @property
    def base(self) -> Path:
        """Return the folder that keeps the stamp of a run."""
        if isinstance(self.output, Path):
            return self.output
        if not self.output:
            raise UsageError("say where the output goes: -o FOLDER, or output = … in [tool.opwright]")
        return next(iter(self.output.values()))

    def folder(self, namespace: str, namespaces: Sequence[str]) -> Path:
        """Return where the package of `namespace` goes: below the one folder, where there are several namespaces."""
        if not isinstance(self.output, dict):
            return self.base if len(namespaces) == 1 else self.base / namespace
        if namespace not in self.output:
            known = ", ".join(self.output)
            raise UsageError(f"[tool.opwright.output] has no folder for the namespace {namespace!r}, only for {known}")
        return self.output[namespace]

    def package(self, namespace: str, namespaces: Sequence[str]) -> str:
        """Return the name of a folder that the output goes to. Raises SchemaError if it is no name of a package."""
        if not self.output:
            return f"opwright_{namespace}"
        from opwright_codegen.views.names import is_word  # a run with nothing to do goes without

        package = _name(self.folder(namespace, namespaces))
        if not is_word(package):
            word = re.sub(r"\W", "_", package, flags=re.ASCII)
            better = word if is_word(word) else f"{word}_ops"
            hint = f"its name is that of a Python package: write {better}"
            raise SchemaError("output-name", f"the folder {package!r} cannot be imported", hint=hint)
        return package

    def own_packages(self) -> frozenset[str]:
        """Return the names of the folders that the output goes to."""
        outputs = self.output.values() if isinstance(self.output, dict) else (self.output,)
        return frozenset(_name(folder) for folder in outputs if folder is not None)

    def recall(self) -> None:
        """Add what the schemas of the last run name: which that is, is known when they are read."""
        self.named.update(named_modules(self.base))
        self.files.update(named_files(self.base))

    def inputs(self) -> tuple[Path, ...]:
        """Return all files that the output follows from, those of the generator aside."""
        settings = (path for path in (self.root / "pyproject.toml",) if path.is_file())
        sources = map(Path, sorted(self.files))
        beside = editor_schemas(self.schemas)
        others = (each for name in self.bindings if name not in own_bindings() for each in find_bindings(name))
        bindings = (Path(path) for each in others for path in files_of(each))
        return (*self.data, *dict.fromkeys(self.module_files()), *settings, *sources, *beside, *bindings)

    def options(self) -> str:
        """Return all else that the output follows from."""
        modules = (self.kernels, self.rules, self.gradients, self.uses)
        others = (self.extra_targets, self.programs, self.namespace, self.trusted)
        return repr((str(self.output), *modules, self.strict, self.bindings, self.project is None, *others))


def _name(folder: Path) -> str:
    return Path(os.path.realpath(folder)).name


_UNSAID: Final = Namespace(
    schemas=(), **dict.fromkeys(("tags", "namespace", "output", "only", "kernels", "strict_kernels"))
)


def job_of(config: Config, arguments: Namespace = _UNSAID) -> Job:
    """Return the configuration, with what the command line says in its place. Raises UsageError for too little.

    The configuration is about the schemas that it names. Others, given on the command line, have no kernels but those
    of `--kernels`: a name in a schema of C++ kernels that happens to be one of ours does not mean it.
    """
    schemas = _named(arguments.schemas, config.derivatives) or config.schemas
    if not schemas:
        raise UsageError('no schema file: name one, or set schemas = ["…"] in [tool.opwright] of pyproject.toml')
    own = set(map(os.path.realpath, config.schemas))
    chosen = set(map(os.path.realpath, schemas))
    is_configured = chosen <= own
    tags, kernels, strict = (config.tags, config.kernels, config.strict_kernels) if is_configured else (None, (), False)
    namespace = arguments.namespace or (config.namespace if is_configured else None)
    return Job(
        config.root,
        schemas,
        Path(arguments.tags) if arguments.tags else tags,
        namespace,
        config.derivatives if chosen == own else None,
        tuple(arguments.kernels) if arguments.kernels else kernels,
        config.rules,
        config.gradients,
        config.uses,
        strict if arguments.strict_kernels is None else arguments.strict_kernels,
        config.trusted and is_configured,
        config.root if is_configured else None,
        output=_output(arguments.output, config.output if chosen == own else None),
        only=tuple(arguments.only or ()),
        bindings=config.bindings if chosen == own else (),
        extra_targets=_others(config.targets if is_configured else (), getattr(arguments, "target", ())),
        programs=tuple(getattr(arguments, "plugin", ())),
    )


def _others(*names: Sequence[str]) -> tuple[str, ...]:
    """Return the targets of other distributions, each once."""
    return tuple(dict.fromkeys(name for each in names for name in each))


def _named(texts: Sequence[str], derivatives: Path | None) -> tuple[Path, ...]:
    """Return the files of names and patterns, whose matches may have the project's derivatives among them, which are no
    schema file. Raises UsageError for a pattern that matches none."""
    found: dict[Path, None] = {}
    for text in texts:
        matched = matching_files(Path(), text)
        if not matched:
            raise UsageError(f"no file matches {text!r}")
        found |= dict.fromkeys(each for each in matched if len(matched) == 1 or not _is_same(each, derivatives))
    return tuple(found)


def _is_same(path: Path, other: Path | None) -> bool:
    return other is not None and path.resolve() == other.resolve()


def _output(given: str | None, configured: Path | dict[str, Path] | None) -> Path | dict[str, Path] | None:
    """Return where output goes: as the command line says, or else the configuration. Raises UsageError for no name."""
    if given == "":
        raise UsageError("-o has no folder: name one, as in -o my_ops")
    return configured if given is None else Path(given)


def root_of(package: Path) -> Path:
    """Return the folder that a package is imported from."""
    folder = package.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder


def module_of(package: Path) -> str:
    """Return the name that a generated package is imported by. Raises UsageError where it is not there yet."""
    if not (package / "__init__.py").is_file():
        raise UsageError(f"{package} is no package yet: run `opwright generate` first")
    return ".".join(package.relative_to(root_of(package)).parts)


def modules_of(job: Job | None, declared: Sequence[str], wanted: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the modules of a project that have the operators of namespaces, and the environment of who imports
    these."""
    packages = [job.folder(namespace, declared) for namespace in declared if namespace in wanted] if job else []
    paths = [*map(root_of, packages), *([job.root] if job else []), Path.cwd(), os.environ.get("PYTHONPATH", "")]
    return [*map(module_of, packages)], os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, map(str, paths)))}
