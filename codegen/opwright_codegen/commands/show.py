"""The commands `show` and `table`: what is known of one operator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from glob import has_magic
from typing import TYPE_CHECKING, TextIO

from opwright_codegen.commands.generate import render_namespace
from opwright_codegen.commands.job import Job
from opwright_codegen.commands.runtime_process import RuntimeProcessError, project_modules, run_in_runtime
from opwright_codegen.declared.declare import declare
from opwright_codegen.documents.generated import text_about
from opwright_codegen.errors import SchemaError, nearest

if TYPE_CHECKING:
    from opwright_codegen.declared.model import DeclaredSet
    from opwright_codegen.declared.parts import Operator, UsedPackage

__all__ = ["name_matches", "show", "show_used", "table"]


_DUMP = """
import importlib, sys
import opwright.dispatch
for module in sys.argv[2:]:
    importlib.import_module(module)
opwright.dispatch.dump(sys.argv[1])
"""


def show(job: Job, name: str, out: TextIO) -> int:
    """Print what was declared for an operator, and the code generated from it; for all overloads of a base name."""
    sets = declare(job)
    try:
        found = _find([each for declared in sets.values() for each in declared.all], name)
    except SchemaError as error:
        try:
            return show_used(job.used_packages(), name, out)
        except SchemaError:
            raise error from None
    texts = {name: render_namespace(job, sets[name]) for name in {operator.namespace for operator in found}}
    for index, operator in enumerate(found):
        if index:
            print(file=out)
        _print_facts(sets[operator.namespace], operator, out)
        schema = str(operator.schema).removeprefix(f"{operator.namespace}::")
        _print_blocks(texts[operator.namespace], schema, out)
    return 0


def show_used(uses: Sequence[UsedPackage], name: str, out: TextIO) -> int:
    """Print what the generated packages that a project builds upon have of an operator, all overloads of a base name.

    Raises SchemaError where none of them has it.
    """
    known: set[str] = set()
    for package in uses:
        texts = {name: path.read_text(encoding="utf-8") for name, path in package.modules()}
        declared = package.declarations()
        wanted = name.removeprefix(f"{declared.namespace}::")
        found = [each for each in declared.operators if wanted in (each.name, each.name.partition(".")[0])]
        for index, operator in enumerate(found):
            print(f"{'' if not index else chr(10)}{declared.namespace}::{operator.name}", file=out)
            print(f"  schema    {operator.schema}\n  declared  {operator.where}\n  package   {package.name}", file=out)
            _print_blocks(texts, operator.schema, out)
        if found:
            return 0
        known |= {word for each in declared.operators for word in (each.name, each.name.partition(".")[0])}
    near = nearest(name.rpartition("::")[2], known)
    packages = ", ".join(package.name for package in uses) or "no package"
    hint = f"did you mean {near!r}?" if near else f"looked in: {packages}"
    raise SchemaError("unknown-operator", f"no operator is called {name!r}", hint=hint)


def table(name: str, modules: Sequence[str], out: TextIO) -> int:
    """Print the dispatch table that the runtime computes, after importing `modules` there, and the project's package
    where the operator is the project's."""
    qualified = name if "::" in name else f"aten::{name}"  # as in schema files
    environment, hint = None, None
    if qualified.partition("::")[0] != "aten":
        namespaces, found, environment = project_modules()
        modules = [*(found if qualified.partition("::")[0] in namespaces else ()), *modules]
        hint = None if modules else "`--import PACKAGE` reads the package that defines it"
    try:
        out.write(run_in_runtime(_DUMP, [qualified, *modules], environment=environment))
    except RuntimeProcessError as error:
        raise SchemaError("no-table", f"the runtime has no dispatch table of {qualified}: {error}", hint=hint) from None
    return 0


def _find(all_operators: Sequence[Operator], name: str) -> list[Operator]:
    """Return the operator of this name, with or without namespace; all overloads of one that has this base name; or
    those whose names match a pattern."""
    if has_magic(name):
        matched = [found for found in all_operators if name_matches(found.name, name)]
        if matched:
            return matched
    exact = [found for found in all_operators if name in (found.name, found.name.partition("::")[2])]
    overloads = [found for found in all_operators if name in _base_names(found)]
    if exact and exact[0].schema.name.overload:
        return exact
    if found := overloads or exact:
        return found
    known = {word for found in all_operators for word in (found.name.partition("::")[2], *_base_names(found))}
    near = nearest(name, known)
    hint = f"did you mean {near!r}?" if near else None
    raise SchemaError("unknown-operator", f"no operator is called {name!r}", hint=hint)


def name_matches(name: str, pattern: str) -> bool:
    """Whether a pattern matches the name of an operator, with or without namespace, with or without overload."""
    names = (name, name.partition("::")[2])
    return any(fnmatchcase(each, pattern) for full in names for each in (full, full.partition(".")[0]))


def _base_names(operator: Operator) -> tuple[str, str]:
    qualified = operator.name.partition(".")[0]
    return qualified, qualified.partition("::")[2]


def _print_facts(declared: DeclaredSet, operator: Operator, out: TextIO) -> None:
    from opwright_codegen.declared.shown_rules import cost_shown, rule_shown

    group = next((group for group in declared.operators.groups if operator in group.members), None)
    others = [member.name for member in group.members if member is not operator] if group else []
    made = "made from" if operator.generated else "declared"
    facts = [
        ("schema", str(operator.schema)),
        *(("doc" if not index else "", line) for index, line in enumerate(operator.doc.split("\n"))),
        (made, str(operator.location)),
        ("kind", operator.kind.name.lower() + (", a view" if operator.schema.is_view else "")),
        ("variants", ", ".join(operator.variants)),
        ("group", ", ".join(others)),
        ("tags", ", ".join(sorted(operator.tags))),
        ("meta", str(operator.meta or "")),
        ("dims", str(operator.dims or "")),
        ("rule", rule_shown(declared, operator)),
        ("cost", cost_shown(declared, operator)),
        ("served by", operator.base_name or ""),
        ("autocast", ", ".join(f"{device} {policy}".strip() for device, policy in operator.autocast)),
        *(("kernels" if not index else "", line) for index, line in enumerate(_kernels(operator))),
    ]
    print(operator.name, file=out)
    for word, value in facts:
        if value or not word:
            print(f"  {word:10}{value}".rstrip(), file=out)


def _kernels(operator: Operator) -> Iterator[str]:
    width = max((len(key) for key, _ in operator.dispatch), default=0)
    for key, kernel in operator.dispatch:
        yield f"{key:{width}}  {kernel}"


def _print_blocks(texts: Mapping[str, str], schema: str, out: TextIO) -> None:
    """Print the code of an operator in each generated file."""
    for file, text in texts.items():
        for position, block in enumerate((*text_about(text, schema), *_blocks(text, schema))):
            print(f"\n  {file}" if position == 0 else "", file=out)
            out.writelines(f"    {line}".rstrip() + "\n" for line in block)


def _blocks(text: str, schema: str) -> Iterator[list[str]]:
    """Yield the blocks of a generated file that stand under a schema, up to the next two empty lines."""
    from opwright_codegen.views.layout import fill_comment

    heading = fill_comment(schema).splitlines()
    lines = text.splitlines()
    for start in range(len(lines)):
        if lines[start : start + len(heading)] == heading:
            end = start + len(heading)
            while end < len(lines) and lines[end : end + 2] != ["", ""]:
                end += 1
            yield lines[start:end]
