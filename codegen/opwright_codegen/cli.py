"""The command line, `opwright`. Exit status: 0 done, 1 wrong schemas or output that is out of date, 2 wrong usage."""

from __future__ import annotations

import gc
import io
import os
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from opwright_codegen.arguments import make_parser
from opwright_codegen.commands.config import Config, find_config, placed_in, read_config
from opwright_codegen.commands.generate import check, generate
from opwright_codegen.commands.job import job_of
from opwright_codegen.errors import SchemaError, UsageError
from opwright_codegen.findings.finding import Finding, Outcome

if TYPE_CHECKING:
    from opwright_codegen.findings.writing import Format

__all__ = ["main"]

_WITH_OTHER_FORMATS = ("coverage", "list", "doctor")  # than those of findings
_WITH_OTHER_JSON = ("breaking",)

# What reads and renders is imported where it is used: a run that has nothing to do never loads it.


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status."""
    _prepare_streams()
    try:
        words = list(sys.argv[1:] if argv is None else argv)
        if words[:1] == ["gate"]:  # whose options are the runtime's
            from opwright_codegen.commands.gate import run_gate

            return run_gate(words[1:])
        if words[:1] == ["bench"]:
            from opwright_codegen.commands.run_tests import run_bench

            return run_bench(words[1:])
        parser = make_parser(words)
        arguments = parser.parse_args(["--sharded=numpy" if word == "--sharded" else word for word in words])
        if arguments.command is None:
            parser.print_help(sys.stdout)
            return 0
        with _without_collection():
            status = _reported(arguments)
        sys.stdout.flush()
        return status
    except SchemaError as error:
        _show(error)
        return 1
    except UsageError as error:
        print(f"opwright: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 2
    except OSError as error:
        print(f"opwright: {_shown_error(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if os.environ.get("OPWRIGHT_TRACEBACK"):
            raise
        print(f"opwright: an error of its own: {type(error).__name__}: {error}", file=sys.stderr)
        print("hint: OPWRIGHT_TRACEBACK=1 shows where; please report it with the schema file", file=sys.stderr)
        return 2


def _prepare_streams() -> None:
    """Have every text be printed: dropped where a stream is closed, escaped where its encoding lacks a character."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by who started us
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper) and (stream.errors == "strict" or not _is_utf8(stream)):
            stream.reconfigure(errors="backslashreplace")


def _speak_utf8() -> None:
    """Read and write files of UTF-8, which documents and schema files are, whatever the terminal has."""
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper) and not _is_utf8(stream):
            stream.reconfigure(encoding="utf-8")


def _is_utf8(stream: io.TextIOWrapper) -> bool:
    return stream.encoding.lower() in ("utf-8", "utf8")


@contextmanager
def _without_collection() -> Iterator[None]:
    """Run without the search for cycles among objects, which took up to a quarter of the time: few are dropped."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _reported(arguments: Namespace) -> int:
    """Run a command. In a format that programs read, its outcome is all that is printed, errors included."""
    outcome = Outcome(arguments.command)
    format: Format = getattr(arguments, "format", "text")
    if format != "text" or arguments.command in ("fmt", "schema"):
        _speak_utf8()
    if format == "text":
        return _run(arguments, outcome, sys.stdout)
    from opwright_codegen.findings.writing import write_outcome

    out = io.StringIO()
    try:
        outcome.status = _run(arguments, outcome, out)
        if arguments.command in _WITH_OTHER_FORMATS + _WITH_OTHER_JSON * (format == "json"):
            sys.stdout.write(out.getvalue())
            return outcome.status
    except SchemaError as error:
        outcome.add(error)
        outcome.status = 1
    except Exception as error:
        message = _shown_error(error) if isinstance(error, OSError) else str(error)
        outcome.findings.append(Finding("usage" if isinstance(error, (UsageError, OSError)) else "internal", message))
        outcome.status = 2
        write_outcome(outcome, format, sys.stdout)
        raise
    write_outcome(outcome, format, sys.stdout)
    return outcome.status


def _run(arguments: Namespace, outcome: Outcome, out: TextIO) -> int:
    match arguments.command:
        case "explain":
            from opwright_codegen.about.explain import show_explanations

            return show_explanations(arguments.code, arguments.markdown, out)
        case "new":
            from opwright_codegen.about.new import new

            return new(arguments.name, out)
        case "table":
            from opwright_codegen.commands.show import table

            return table(arguments.operator, arguments.modules, out)
        case "backend":
            from opwright_codegen.commands.backend import show_backend

            return show_backend(arguments.name, arguments.modules, out)
        case "import":
            from opwright_codegen.commands.import_ import import_operators

            return import_operators(arguments, out)
        case "doctor":
            from opwright_codegen.about.doctor import show_doctor

            return show_doctor(arguments.format, out)
        case "schema":
            from opwright_codegen.about.schema import show_schema

            return show_schema(arguments.file, out)
        case "include-dir":
            from opwright_codegen.views.headers import include_dir

            print(include_dir(), file=out)
            return 0
        case "completion":
            from opwright_codegen.about.completion import show_completion

            return show_completion(arguments.shell, make_parser(), out)
        case _:
            config = _config(arguments)
            with placed_in(config):
                return _run_in_project(config, arguments, outcome, out)


def _config(arguments: Namespace) -> Config:
    """Return the settings of the project. Raises UsageError where they cannot be read."""
    try:
        config = read_config(Path(arguments.config)) if arguments.config else find_config(Path.cwd())
    except SchemaError as error:
        raise UsageError(str(error)) from None
    if config is None:
        raise UsageError(f"{arguments.config} has no table [tool.opwright]")
    return config


def _run_in_project(config: Config, arguments: Namespace, outcome: Outcome, out: TextIO) -> int:
    """Run a command that reads the settings of a project."""
    match arguments.command:
        case "test":
            from opwright_codegen.commands.run_tests import run_tests

            return run_tests(job_of(config, arguments) if config.schemas else None, arguments, outcome)
        case "breaking":
            from opwright_codegen.commands.breaking import breaking

            return breaking(config, arguments, out, outcome)
        case "freeze":
            from opwright_codegen.commands.freeze import freeze

            return freeze(job_of(config, arguments), out)
        case "coverage":
            from opwright_codegen.commands.coverage import show_coverage

            return show_coverage(config.root, arguments, out)
        case "docs":
            from opwright_codegen.commands.docs import write_docs

            return write_docs(job_of(config, arguments) if config.schemas else None, config.root, arguments, out)
        case "rules":
            return _show_rules(config, arguments, out)
        case "show" if not config.schemas and not arguments.schemas:
            from opwright_codegen.commands.show import show_used
            from opwright_codegen.declared.inputs import packages_in

            return show_used(packages_in(config.uses, (config.root,)), arguments.operator, out)
        case "show":
            from opwright_codegen.commands.show import show

            return show(job_of(config, arguments), arguments.operator, out)
        case "list":
            return _list(config, arguments, out)
        case "fmt":
            from opwright_codegen.commands.fmt import format_files

            return format_files(config, arguments, out, outcome)
        case "lint":
            from opwright_codegen.commands.lint import lint

            return lint(job_of(config, arguments), arguments, out, outcome)
        case "check":
            return check(job_of(config, arguments), arguments, out, outcome)
        case "build":
            from opwright_codegen.commands.build import build

            return build(job_of(config, arguments), config.native, arguments, out, outcome)
        case "generate" if arguments.watch:
            from opwright_codegen.commands.watch import watch

            return watch(lambda: job_of(_config(arguments), arguments), arguments, out)
        case "generate" if arguments.declared:
            from opwright_codegen.commands.declaring import write_declared

            return write_declared(job_of(config, arguments), arguments.declared, out)
        case _:
            return generate(job_of(config, arguments), arguments, out, outcome)


def _list(config: Config, arguments: Namespace, out: TextIO) -> int:
    if arguments.targets:
        from opwright_codegen.about.list_targets import list_targets

        return list_targets(config.targets, arguments.format, out)
    from opwright_codegen.commands.list_operators import list_operators

    return list_operators(job_of(config, arguments), arguments, out)


def _show_rules(config: Config, arguments: Namespace, out: TextIO) -> int:
    from opwright_codegen.about.rules import show_rules
    from opwright_codegen.declared.inputs import modules_in

    roots = (config.root, config.root / "src")
    return show_rules(modules_in(config.rules, roots, "rule"), arguments.rule, arguments.markdown, out)


def _show(error: SchemaError) -> None:
    """Print errors, and where more is said of the first."""
    from opwright_codegen.findings.text import write_findings

    outcome = Outcome("")
    outcome.add(error)
    write_findings(outcome.findings, sys.stderr)
    if len(outcome.findings) > 1 or error.code == "errors":
        print(f"\n{error.message}", file=sys.stderr)
    print(f"opwright explain {outcome.findings[0].code} says more", file=sys.stderr)


def _shown_error(error: OSError) -> str:
    reason = error.strerror or type(error).__name__
    return f"{error.filename}: {reason}" if error.filename else reason


if __name__ == "__main__":
    from opwright_codegen.entry import main as begin

    sys.exit(begin())
