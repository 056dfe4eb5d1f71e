"""The command `breaking`: two states of a project compared, each difference worded, by the categories of promises."""

from __future__ import annotations

import io
import json
import os
from argparse import Namespace
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TextIO

from opwright_codegen.commands.config import Config, read_config
from opwright_codegen.commands.job import job_of, module_of, root_of
from opwright_codegen.errors import SchemaError, SchemaErrors, UsageError, nearest
from opwright_codegen.findings.finding import Finding, Outcome
from opwright_codegen.promises.breakages import CATEGORIES, Breakage
from opwright_codegen.promises.comparing import added, chosen, compare, counted
from opwright_codegen.promises.states import State, generated_packages, last_tag, schema_files, unpacked
from opwright_codegen.records import dataclass, replace
from opwright_codegen.source import Source, Span

__all__ = ["breaking"]

_DECLARED: Final = ("CALL", "GRAPH", "ALIAS")  # what declarations alone say
_SHOWN: Final = 8


@dataclass(frozen=True)
class _Side:
    """A state, and what runs it: the folders to import from, and the packages of its operators."""

    state: State
    paths: tuple[Path, ...] = ()
    packages: tuple[str, ...] = ()


def breaking(config: Config, arguments: Namespace, out: TextIO, outcome: Outcome) -> int:
    """Compare two states, and print what breaks; the status. Raises UsageError, SchemaErrors."""
    categories = _categories(arguments.categories, config)
    before = arguments.old or config.breaking.against or f"git:{last_tag(config.root)}"
    after = arguments.new or str(config.root)
    with (
        TemporaryDirectory(prefix="opwright_old_") as first,
        TemporaryDirectory(prefix="opwright_new_") as second,
        _named({first: before, second: after}),
    ):
        sides = [
            _side(what, config, arguments, Path(folder), set(categories) - set(_DECLARED))
            for what, folder in ((before, first), (after, second))
        ]
        old, new = (side.state for side in sides)
        found = compare(old, new)
        if not categories <= set(_DECLARED):
            found += _on_samples(sides[0], sides[1], categories, arguments.seed)
    found = chosen(found, categories)
    fresh = added(old, new)
    outcome.findings += map(_shared, found)
    outcome.facts |= {"old": before, "new": arguments.new or ".", "added": len(fresh)}
    if arguments.format == "json":
        _print_json(before, arguments.new or ".", categories, found, fresh, out)
    else:
        _print_text(found, fresh, out)
    return 1 if any(each.categories for each in found) else 0


@contextmanager
def _named(folders: Mapping[str, str]) -> Iterator[None]:
    """Have errors in the block name what was unpacked instead of temporary folders, which are gone afterwards."""

    def renamed(text: str) -> str:
        for folder, name in folders.items():
            text = text.replace(f"{folder}{os.sep}", f"{name}:").replace(folder, name)
        return text

    def placed(span: Span | None) -> Span | None:
        return span and span._replace(source=Source(renamed(span.source.path), span.source.text))

    try:
        yield
    except UsageError as error:
        raise UsageError(renamed(str(error))) from None
    except SchemaError as error:
        found = [
            SchemaError(each.code, renamed(each.message), placed(each.span), each.hint)
            for each in (error.errors if isinstance(error, SchemaErrors) else (error,))
        ]
        raise SchemaErrors(tuple(found)) if isinstance(error, SchemaErrors) else found[0] from None


def _categories(given: str | None, config: Config) -> set[str]:
    """Return the categories that are compared: as the command line says, else the settings, else those that
    declarations show. Raises UsageError for a word that is none."""
    words = [word.strip().upper() for word in given.split(",")] if given else config.breaking.categories
    for word in words:
        if word not in CATEGORIES:
            near = nearest(word, CATEGORIES)
            raise UsageError(
                f"there is no category {word!r}: "
                + (f"did you mean {near}?" if near else f"there are {', '.join(CATEGORIES)}")
            )
    return set(words or _DECLARED)


def _side(what: str, config: Config, arguments: Namespace, folder: Path, runs: Collection[str]) -> _Side:
    """Return a state by what names it: git:REF, a wheel, a lock, a schema file, or a folder."""
    if what.startswith("git:"):
        root = unpacked(what, config.root, folder)
        return _of_folder(what, root, arguments, runs, is_ours=True)
    path = Path(what)
    if path.is_dir():
        name = "" if path.resolve() == config.root.resolve() else what.rstrip("/")
        return _of_folder(name, path, arguments, runs, is_ours=False)
    if not path.is_file():
        raise UsageError(f"there is no {what!r}: name a folder, a schema file, a wheel, a lock or git:REF")
    if path.suffix == ".whl":
        return _of_packages(path.name, unpacked(what, config.root, folder))
    if path.name.endswith(".lock.yaml"):
        return _Side(State.of_lock(path))
    tags = path.parent / "tags.yaml"
    namespace = arguments.namespace or config.namespace
    return _Side(State.of_files("", path.parent, [path], namespace, tags if tags.is_file() else None))


def _of_folder(name: str, root: Path, arguments: Namespace, runs: Collection[str], *, is_ours: bool) -> _Side:
    """Return the state of a folder: what its settings name, else its schema files, else packages that were generated.
    One that `is_ours` may be written to."""
    path = root / "pyproject.toml"
    own = (read_config(path) if path.is_file() else None) or Config(root)
    files = own.schemas or tuple(schema_files(root))
    if not files:
        return _of_packages(name, root)
    state = State.of_files(name, root, files, arguments.namespace or own.namespace, own.tags)
    if not runs:
        return _Side(state)
    if is_ours:
        _check_inside(name, root, own)
        _generate(own)
    packages = _outputs(own)
    return _Side(state, (*map(root_of, packages), root, root / "src"), tuple(map(module_of, packages)))


def _of_packages(name: str, root: Path) -> _Side:
    packages = generated_packages(root)
    if not packages:
        raise UsageError(f"{name or root} has no schema files, and no package that Opwright generated")
    names = tuple(map(module_of, packages))
    return _Side(State.of_packages(name, root, packages), (*map(root_of, packages), root), names)


def _outputs(config: Config) -> Sequence[Path]:
    if config.output is None:
        raise UsageError(f"{config.root}: 'output' of [tool.opwright] says nothing: FAKE and VALUE run the package")
    return tuple(config.output.values()) if isinstance(config.output, dict) else (config.output,)


def _check_inside(name: str, root: Path, config: Config) -> None:
    """Raise UsageError for an output outside of an unpacked commit, whose settings may be anybody's."""
    inside = root.resolve()
    for package in _outputs(config):
        if not package.resolve().is_relative_to(inside) or package.resolve() == inside:
            shown = os.path.relpath(package, root) if package.is_relative_to(root) else package
            raise UsageError(
                f"{name}: 'output' of its pyproject.toml is {str(shown)!r}, which is not a folder in that commit: "
                "FAKE and VALUE write the package there. Compare a folder instead: git worktree add FOLDER "
                f"{name.removeprefix('git:')}"
            )


def _generate(config: Config) -> None:
    """Write the package of an unpacked commit, where it is."""
    from opwright_codegen.commands.generate import generate

    generate(job_of(config), Namespace(check=False, diff=False, dry_run=False, depfile=None, force=True), io.StringIO())


def _on_samples(old: _Side, new: _Side, categories: Collection[str], seed: int) -> list[Breakage]:
    from opwright_codegen.promises.samples import differences_on_samples

    for side in (old, new):
        if not side.packages:
            name = side.state.name or "what has no package"
            raise UsageError(f"FAKE and VALUE need what runs, and {name} does not: name a folder, a wheel or git:REF")
    return differences_on_samples(
        old.state, new.state, (old.paths, old.packages), (new.paths, new.packages), categories, seed
    )


# -- what is printed


def _shared(each: Breakage) -> Finding:
    """Return a difference as findings of all commands are: what an upgrade serves is a note."""
    error = SchemaError(each.code, each.message, each.new or each.old, each.hint)
    more = {"breaks": ", ".join(each.categories), "served": ", ".join(each.served), "old": str(each.old or "")}
    shown = Finding.of(error, "error" if each.categories else "note", each.operator)
    return replace(shown, more={name: value for name, value in more.items() if value})


def _print_text(found: Sequence[Breakage], fresh: Sequence[str], out: TextIO) -> None:
    for each in found:
        print(each, end="\n\n", file=out)
    counts = [f"{count:,} {code}" for code, count in counted(found).items()]
    served = sum(not each.categories for each in found)
    counts += [f"{served:,} served by upgrades"] if served else []
    if fresh:
        shown = ", ".join(fresh[:_SHOWN]) + (" …" if len(fresh) > _SHOWN else "")
        print(f"added: {len(fresh):,} ({shown})", file=out)
    print("breaking: " + ", ".join(counts) if counted(found) else ", ".join(["nothing breaks", *counts]), file=out)
    if counted(found):
        print(f"opwright explain {next(iter(counted(found)))} says more", file=out)


def _print_json(
    old: str, new: str, categories: Collection[str], found: Sequence[Breakage], fresh: Sequence[str], out: TextIO
) -> None:
    shown = {
        "format": 1,
        "old": old,
        "new": new,
        "categories": [name for name in CATEGORIES if name in categories],
        "breaks": any(each.categories for each in found),
        "findings": [each.record() for each in found],
        "added": list(fresh),
    }
    print(json.dumps(shown, indent=2, ensure_ascii=False), file=out)
