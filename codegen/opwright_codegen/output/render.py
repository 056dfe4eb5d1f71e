"""Declared sets rendered to text: the files of each target, one template for each file, rendered once."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import quote

from opwright_codegen.declared.model import DeclaredSet, Target, Template
from opwright_codegen.errors import SchemaError
from opwright_codegen.schema.model import FunctionSchema
from opwright_codegen.targets.foreign import failures
from opwright_codegen.targets.native import c as native_c
from opwright_codegen.targets.native import index as native_index
from opwright_codegen.targets.ops import stubs
from opwright_codegen.targets.registry import own_targets
from opwright_codegen.views.layout import fill_comment
from opwright_codegen.views.operators import NamespaceView

if TYPE_CHECKING:
    from opwright_codegen.declared.meta_formula import BoundMeta

__all__ = ["is_wanted", "names_of", "render", "render_meta", "render_operator"]


def render(
    declared: DeclaredSet,
    targets: Mapping[str, Target] | None = None,
    *,
    only: Collection[str] | None = None,
    known: set[str] | None = None,
    is_dry: bool = False,
    report: Callable[[str, int, int], None] | None = None,
) -> dict[str, str]:
    """Return the files of a package, name to text, that targets make: by default those of every package.

    `only`: names of files, or their stems; empty or None means all. The names that it could have said are added to
    `known`. `is_dry`: all that can be wrong is found, but the texts of our templates are empty.
    `report` is called before each file with its name, how many are done, and how many there are. Raises SchemaErrors.
    """
    found: dict[str, str] = {}
    made: set[str] = set()  # by templates: their folders are packages of Python
    named = (own_targets() if targets is None else targets).items()
    files = [(target_name, *file) for target_name, target in named for file in target(declared).items()]
    for done, (target_name, name, content) in enumerate(files):
        shown = name.removeprefix("../")  # as a module beside the package is called
        if known is not None:
            known.add(shown)
        if not is_wanted(shown, only):
            continue
        if report is not None:
            report(shown, done, len(files))
        if isinstance(content, str):
            _check_free(name, target_name, found)
            found[name] = content
            continue
        with failures(content.maker):
            values = content.context()
            if values is not None:
                made.add(name)
                found[name] = "" if is_dry else _filled(content, name, declared.namespace, values)
    if not is_dry:
        found = _folders(found, made, _header(declared.view), declared.namespace) | found
    _check_folders(found)
    return dict(sorted(found.items()))


def _check_free(name: str, target: str, found: Collection[str]) -> None:
    """Raise SchemaError for a file that another target has made already."""
    if name in found:
        hint = "give its files other names: a folder of its own, such as docs/"
        raise SchemaError("target-file", f"the target {target!r} gave {name!r}, which another target makes", hint=hint)


def _check_folders(found: Collection[str]) -> None:
    """Raise SchemaError for a name that is a file of one target and a folder of another."""
    for name in found:
        folder = next((str(each) for each in PurePosixPath(name).parents if str(each) in found), None)
        if folder is not None:
            raise SchemaError("target-file", f"{folder!r} is a file of one target and the folder of {name!r}")


def _filled(content: Template, name: str, namespace: str, values: Mapping[str, object]) -> str:
    """Return the text of a file, under the header that names its sources."""
    header = _header(content.view)
    shared = {"header": _in_c(header) if name.endswith((".c", ".h", ".cu")) else header, "namespace": namespace}
    return _text(content.name, {**shared, **values})


def _text(template: str, values: Mapping[str, object]) -> str:
    """Return a template with its values. Jinja is loaded for that: `opwright check` goes without."""
    from opwright_codegen.output.templates import environment

    return environment().get_template(template).render(values)


def render_operator(schema: FunctionSchema, arrays: Collection[int], *, returns_arrays: bool) -> str:
    """Return the functions of one operator that is defined at run time. `arrays` are the positions of the arguments
    that the user's function takes as arrays, `returns_arrays` whether it returns one."""
    from opwright_codegen.targets.ops import custom_op

    context = custom_op.context(schema, arrays, returns_arrays=returns_arrays)
    return _text(custom_op.TEMPLATE, context)


def render_meta(bound: BoundMeta) -> str:
    """Return the function of a formula that is given at run time."""
    from opwright_codegen.targets.kernels import meta_formula

    return _text(meta_formula.TEMPLATE, meta_formula.context(bound))


def _folders(found: Mapping[str, str], made: Collection[str], header: str, namespace: str) -> dict[str, str]:
    """Return the `__init__.py` of folders with modules of ours that have none."""
    from opwright_codegen.targets import folders

    shared = {"header": header, "namespace": namespace}
    within = {name.partition("/")[0] for name in made if "/" in name and not name.startswith("../")}
    return {
        f"{folder}/__init__.py": _text(folders.TEMPLATE, {**shared, **folders.context(folder)})
        for folder in sorted(within - _indexed(found))
    }


def is_wanted(name: str, only: Collection[str] | None) -> bool:
    """Return whether a file is asked for: by one of its names, or because all are."""
    return not only or not names_of(name).isdisjoint(only)


def names_of(file: str) -> set[str]:
    """Return what `only` may say for a file: its path, with or without the ending, or its folder."""
    return {file, file.partition(".")[0], file.partition("/")[0]}


def _indexed(found: Mapping[str, str]) -> set[str]:
    """Return the folders whose `__init__.py` is a target of its own."""
    return {stubs.FOLDER} | ({native_c.FOLDER} if native_index.FILE in found else set())


# Paths stand in the first line of a file, where `coding: …` would choose its encoding; a line break ends a comment.
_UNSAFE = re.compile(r"[^\w ./+,()@~-]+")


def _header(view: NamespaceView) -> str:
    """Return the first line of a file: its sources. Of many in one folder it has the number, `where.py` the names."""
    sources = _UNSAFE.sub(lambda found: quote(found[0], errors="surrogatepass"), ", ".join(view.sources.values()))
    if (count := len(view.sources)) == 1:
        return f"# Generated by Opwright from {sources}. Do not edit: change the schema and run `opwright generate`."
    folder, *others = {source.rpartition("/")[0] for source in sources.split(", ")}
    places = f" from {count} files of {folder}/" if count > 4 and folder and not others else ""
    notice = f"Generated by Opwright{places}. Do not edit: change the schemas and run `opwright generate`."
    return fill_comment(notice if places else f"{notice} The schemas are {sources}.")


def _in_c(header: str) -> str:
    """Return a comment of Python as one of C: no sign of it ends that."""
    return "/* " + "\n * ".join(line.removeprefix("# ") for line in header.splitlines()) + " */"
