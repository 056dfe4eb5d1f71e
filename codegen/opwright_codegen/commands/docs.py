"""The command `docs`: a page about each operator, in Markdown."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from opwright_codegen.commands.job import Job, modules_of
from opwright_codegen.commands.report_options import cache_folder, known_findings
from opwright_codegen.declared.declare import declare
from opwright_codegen.errors import UsageError
from opwright_codegen.output.folders import check_folder
from opwright_codegen.output.templates import environment
from opwright_codegen.output.write import compare
from opwright_codegen.reference.declared import declared_by_schemas
from opwright_codegen.reference.differences import Difference, all_differences, read_differences
from opwright_codegen.reference.pages import Page, Wishes, pages_of, sections_of
from opwright_codegen.reference.told import told

__all__ = ["write_docs"]

_INDEX = "index.md"
_DIFFERENCES = "differences.md"


def write_docs(job: Job | None, root: Path, arguments: Namespace, out: TextIO) -> int:
    """Write the pages of namespaces and packages. The default is the project's own schemas.

    Return 1 if `--check` finds outdated pages. Raises UsageError if no operator is found, SchemaErrors.
    """
    sets = declare(job, binds=False) if job is not None else {}
    namespaces = tuple(sets)
    targets = arguments.targets or namespaces
    if not targets:
        raise UsageError("name a namespace or a package, or the project's schemas in [tool.opwright]")
    modules, environment_ = modules_of(job, namespaces, namespaces)
    facts = told(targets, [*modules, *arguments.modules], _report(arguments, root), environment_)
    differences = read_differences(Path(arguments.differences)) if arguments.differences else ()
    wishes = Wishes(arguments.math, arguments.source, not arguments.no_gate, differences)
    declared = declared_by_schemas(sets.values(), wishes.notation, facts)
    pages = list(pages_of(facts, declared, known_findings(None, root), wishes))
    folder = Path(arguments.folder)
    texts = _texts(pages, targets, differences)
    check_folder(folder, root, texts, arguments.force)
    changes = compare(folder, texts, {}, force=arguments.force)
    if not arguments.check:
        changes.apply()
    print(f"{changes.folder}  {changes.counts()}", file=out)
    if arguments.check and changes:
        print("out of date: run opwright docs", file=out)
    return 1 if arguments.check and changes else 0


def _report(arguments: Namespace, root: Path) -> str | None:
    """Return the path of the given report, or of the project's last report. None means no report.

    Raises UsageError if the given report does not exist.
    """
    if arguments.gate is not None and not Path(arguments.gate).is_file():
        raise UsageError(f"there is no report {arguments.gate}")
    last = cache_folder(root) / "gate.json"
    return arguments.gate or (str(last) if last.is_file() and not arguments.no_gate else None)


def _texts(pages: Sequence[Page], targets: Sequence[str], differences: Sequence[Difference]) -> dict[str, str]:
    """Return the texts of all files, by their names."""
    page_template, index_template, differences_template = (
        environment().get_template(f"reference_{each}.md.j2") for each in ("page", "index", "differences")
    )
    texts = {page.file: page_template.render(page=page) for page in pages}
    count = sum(len(each.schemas) for page in pages for each in page.overloads)
    texts[_INDEX] = index_template.render(
        of=f" of {', '.join(f'`{each}`' for each in targets)}",
        count=f"{count:,} operators",
        differs=dict.fromkeys(each.library for each in differences),
        run=next((page.run for page in pages if page.run), ""),
        sections=sections_of(pages),
    )
    if differences:
        files = {name: page.file for page in pages for name in page.names}
        texts[_DIFFERENCES] = differences_template.render(sections=all_differences(files, differences))
    return texts
