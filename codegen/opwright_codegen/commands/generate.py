"""The command `generate`: read, render, write, and say what was done."""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from opwright_codegen.commands.job import Job
from opwright_codegen.declared.binding_folders import module_file
from opwright_codegen.errors import SchemaError, UsageError, nearest
from opwright_codegen.findings.finding import Finding, Level, Outcome
from opwright_codegen.output.editor_schema import editor_schema, stale_editor_schemas
from opwright_codegen.output.folders import check_folder
from opwright_codegen.output.freshness import fresh_folders, generator_files, keep_stamp
from opwright_codegen.output.write import (
    MANIFEST,
    Changes,
    compare,
    content_hash,
    depfile,
    manifest_names,
    replace_file,
)

_SHOWN = 20  # operators that a framework cannot take, by name, for one reason

if TYPE_CHECKING:
    from opwright_codegen.declared.model import DeclaredSet
    from opwright_codegen.targets.bindings.framework import LeftOut

__all__ = ["check", "generate", "render_namespace"]


def generate(job: Job, arguments: Namespace, out: TextIO, outcome: Outcome | None = None) -> int:
    """Bring the output up to date, or say what that would change. The exit status: 1 if `--check` finds a change."""
    start = time.perf_counter()
    outcome = outcome or Outcome("generate")
    outcome.files += map(_shown, job.data)
    job.recall()
    inputs = job.inputs()
    always = bool(job.only or job.runs_others)
    folders = None if always or arguments.force else fresh_folders(job.base, job.options(), inputs)
    if folders is not None:
        _write_depfile(arguments.depfile, folders, inputs)
        for folder in folders:
            count = len(manifest_names(folder))
            print(f"{_shown(folder)}: up to date, {_count(count, 'file')}", file=out)
        outcome.facts["unchanged"] = sum(len(manifest_names(folder)) for folder in folders)
        return 0
    job.named.clear()
    job.files.clear()
    found, sets, times = _changes(job, arguments.force)
    stale = stale_editor_schemas(job.schemas)
    looks_only = arguments.check or arguments.diff or arguments.dry_run
    _add_changes(outcome, found, stale, looks_only, is_error=arguments.check)
    if arguments.diff:
        for changes in found:
            out.writelines(f"{line}\n" for line in changes.diff())
    elif looks_only:
        for changes in found:
            out.writelines(f"{verb:8} {_shown(changes.folder / name)}\n" for verb, name in _listed(changes))
        out.writelines(f"{'change':8} {_shown(path)}\n" for path in stale)
    else:
        for changes in found:
            changes.apply()
        for path in stale:
            replace_file(path, editor_schema())
    is_stale = any(found) or bool(stale)
    inputs = job.inputs()
    if not looks_only or not is_stale:
        if not always:
            keep_stamp(job.base, job.options(), inputs, [changes.folder for changes in found], job.named, job.files)
        _write_depfile(arguments.depfile, [changes.folder for changes in found], inputs)
    if arguments.diff:
        return 1 if arguments.check and is_stale else 0
    times["write"] = time.perf_counter() - start - sum(times.values())
    outcome.facts["seconds"] = round(sum(times.values()), 3)
    _report(found, stale, times, looks_only, out)
    _report_left_out(job.left_out, out)
    if left_out := _notes(sets.values())[0]:
        formulas = _count(len(left_out), "formula")
        print(f"left out: {formulas} of C++ without a counterpart: opwright check lists them", file=out)
    return 1 if arguments.check and is_stale else 0


def check(job: Job, arguments: Namespace, out: TextIO, outcome: Outcome | None = None) -> int:
    """Read the schemas and render what they give, for the errors alone, and the advice that is asked for."""
    from opwright_codegen.declared.declare import declare

    start = time.perf_counter()
    outcome = outcome or Outcome("check")
    outcome.files += map(_shown, job.data)
    sets = declare(job).values()
    _hold_to_lock(job, sets)
    for declared in sets:
        render_namespace(job, declared, is_dry=True)
    count = sum(len(declared.written) for declared in sets)
    made = sum(len(declared.all) for declared in sets) - count
    seconds = time.perf_counter() - start
    _report_left_out(job.left_out, out)
    left_out, advice = _notes(sets)
    for each in left_out:
        print(f"{each.span}: left out: {each.message}", file=out)
    _report_advice(advice, arguments.advice, out)
    print(f"ok: {_count(count, 'operator')} declared, {made:,} made from them, in {seconds:.2f} s", file=out)
    outcome.facts |= {"declared": count, "made": made, "advice": len(advice), "seconds": round(seconds, 3)}
    for each in (*left_out, *(advice if arguments.advice else ())):
        outcome.add(each, "note")
    return 0


def _notes(sets: Collection[DeclaredSet]) -> tuple[Sequence[SchemaError], Sequence[SchemaError]]:
    """Return why formulas were left out, and all advice: of the files, which the sets of one run share."""
    for each in sets:
        return () if each.derivatives is None else each.derivatives.left_out, each.operators.advice
    return (), ()


def _hold_to_lock(job: Job, sets: Iterable[DeclaredSet]) -> None:
    """Raise SchemaErrors for what breaks the promises of the lock, where the project has one."""
    from opwright_codegen.promises.lock import LOCK

    path = job.root / LOCK
    if job.project is not None and path.is_file():
        from opwright_codegen.promises.held import broken_promises

        broken_promises(sets, path).raise_if_any()


def _report_advice(advice: Sequence[SchemaError], is_wanted: bool, out: TextIO) -> None:
    """Say what torchgen would refuse of ATen's operators: each position, or how many there are."""
    for each in advice if is_wanted else ():
        print(each.shown("advice"), end="\n\n", file=out)
    if advice and not is_wanted:
        pieces = "1 piece" if len(advice) == 1 else f"{len(advice):,} pieces"
        print(f"{pieces} of advice: opwright check --advice shows what ATen's operators are held to", file=out)


def render_namespace(
    job: Job, declared: DeclaredSet, *, is_dry: bool = False, report: Callable[[str, int, int], None] | None = None
) -> dict[str, str]:
    """Return the files of one namespace, name to text; of a dry run empty texts. `report`: as `render` has it. Raises
    SchemaErrors."""
    from opwright_codegen.output.render import is_wanted, render
    from opwright_codegen.targets.registry import binding_of, other_targets, own_targets

    targets = own_targets(job.bindings) | other_targets(job.extra_targets)
    if job.programs:
        from opwright_codegen.targets.program import program

        targets |= {f"--plugin {command}": program(command) for command in job.programs}
    texts = render(declared, targets, only=job.only or None, known=job.targets, is_dry=is_dry, report=report)
    for framework in job.bindings:
        if is_wanted(module_file(declared.package, framework)[3:], job.only):
            from opwright_codegen.targets.binding_files import left_out

            job.left_out.extend(left_out(declared, binding_of(framework)))
    return texts


def _changes(job: Job, force: bool) -> tuple[list[Changes], Mapping[str, DeclaredSet], dict[str, float]]:
    """Return what a run changes in each folder, the declared sets, and the seconds that its stages took."""
    from opwright_codegen.building.progress import progress_bar
    from opwright_codegen.declared.declare import declare

    start = time.perf_counter()
    sets = declare(job)
    _hold_to_lock(job, sets.values())
    after_declare = time.perf_counter()
    folders = {name: job.folder(name, tuple(sets)) for name in sets}
    with progress_bar(sys.stderr) as report:
        texts = {name: render_namespace(job, each, report=report) for name, each in sets.items()}
    _check_only(job)
    times = {"declare": after_declare - start, "render": time.perf_counter() - after_declare}
    for name, folder in folders.items():
        check_folder(folder, job.project or Path.cwd(), texts[name], force)
    inputs = _input_hashes(job)
    partial = bool(job.only)
    found = [compare(folders[name], texts[name], inputs, partial=partial, force=force) for name in sets]
    return found, sets, times


def _check_only(job: Job) -> None:
    """Raise UsageError for a name of `--only` that no file has."""
    from opwright_codegen.output.render import names_of

    known = {name for file in job.targets for name in names_of(file)}
    for name in job.only:
        if name not in known:
            near = nearest(name, sorted(known))
            groups = sorted({file.partition("/")[0].partition(".")[0] for file in job.targets if file != "py.typed"})
            hint = f"did you mean {near!r}? There are" if near else "there are"
            raise UsageError(f"--only: no target is called {name!r}: {hint} {', '.join(groups)}, and files of these")


def _input_hashes(job: Job) -> dict[str, str]:
    """Return hashes by names that are the same on every machine: paths in the project, file names elsewhere."""
    found = {}
    for path in job.data:
        whole, root = path.resolve(), job.root.resolve()
        name = whole.relative_to(root).as_posix() if whole.is_relative_to(root) else path.name
        found[name] = content_hash(path.read_bytes())
    return found


def _write_depfile(path: str | None, folders: Sequence[Path], inputs: Sequence[Path]) -> None:
    if path is not None:
        targets = [folder / name for folder in folders for name in (MANIFEST, *manifest_names(folder))]
        text = depfile(targets, [*inputs, *generator_files()])
        if Path(path).is_symlink() or not Path(path).is_file() or Path(path).read_bytes() != text.encode():
            replace_file(Path(path), text)


def _add_changes(
    outcome: Outcome, found: Sequence[Changes], stale: Sequence[Path], looks_only: bool, *, is_error: bool
) -> None:
    """Add what a run changes: its figures; and where it only looks, each file that is out of date."""
    for name in ("created", "changed", "removed", "unchanged"):
        outcome.facts[name] = sum(len(getattr(changes, name)) for changes in found)
    if looks_only:
        listed = [(verb, changes.folder / name) for changes in found for verb, name in _listed(changes)]
        for verb, path in (*listed, *(("change", path) for path in stale)):
            message, hint = f"the file is out of date: opwright generate would {verb} it", "run opwright generate"
            level: Level = "error" if is_error else "note"
            outcome.findings.append(Finding("out-of-date", message, level, _shown(path), hint=hint))


def _listed(changes: Changes) -> Iterator[tuple[str, str]]:
    yield from (("create", name) for name in changes.created)
    yield from (("change", name) for name in changes.changed)
    yield from (("remove", name) for name in changes.removed)


def _report(
    found: Sequence[Changes], stale: Sequence[Path], times: dict[str, float], looks_only: bool, out: TextIO
) -> None:
    width = max(len(_shown(changes.folder)) for changes in found) if found else 0
    for changes in found:
        print(f"{_shown(changes.folder):{width}}  {changes.counts()}", file=out)
    for path in stale:
        print(f"{_shown(path)}  changed", file=out)
    parts = ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in times.items())
    print(f"{'compared' if looks_only else 'done'} in {sum(times.values()):.2f} s ({parts})", file=out)
    if looks_only and (any(found) or stale):
        print("out of date: run opwright generate", file=out)


def _report_left_out(found: Sequence[LeftOut], out: TextIO) -> None:
    """Say which operators a framework is not given, those of one reason together."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for each in found:
        by_reason.setdefault((each.framework, each.reason), []).append(each.operator)
    for (framework, reason), names in by_reason.items():
        shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else "")
        print(f"not given to {framework}: {shown}: {reason}", file=out)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("s" if number != 1 else "")


def _shown(path: Path) -> str:
    here = Path.cwd()
    whole = Path(os.path.normpath(path.absolute()))
    return whole.relative_to(here).as_posix() if whole.is_relative_to(here) else path.as_posix()
