"""The command line, `opwright`. Exit status: 0 done, 1 wrong schemas or output that is out of date, 2 wrong usage."""

from __future__ import annotations

import argparse
import gc
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NoReturn

from opwright_codegen import VERSION
from opwright_codegen.commands.config import Config, find_config, is_name, read_config
from opwright_codegen.commands.generate import check, generate
from opwright_codegen.commands.job import Job, job_of
from opwright_codegen.commands.report_options import add_report_options
from opwright_codegen.errors import SchemaError, SchemaErrors, UsageError, nearest

__all__ = ["main"]

_SCHEMAS: Final = "schema files (YAML); else those of [tool.opwright]"

# What reads and renders is imported where it is used: a run that has nothing to do never loads it.


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by who started us
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    try:
        words = list(sys.argv[1:] if argv is None else argv)
        if words[:1] == ["gate"]:  # whose options are the runtime's
            from opwright_codegen.commands.gate import run_gate

            return run_gate(words[1:])
        arguments = _parser().parse_args(argv)
        if arguments.command is None:
            _parser().print_help(sys.stdout)
            return 0
        with _without_collection():
            status = _run(arguments)
        sys.stdout.flush()
        return status
    except SchemaError as error:
        print(error, file=sys.stderr)
        print(f"opwright explain {_code(error)} says more", file=sys.stderr)
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


def _run(arguments: argparse.Namespace) -> int:
    if arguments.command == "explain":
        from opwright_codegen.commands.explain import show_explanations

        return show_explanations(arguments.code, arguments.markdown, sys.stdout)
    if arguments.command == "new":
        from opwright_codegen.commands.new import new

        return new(arguments.name, sys.stdout)
    if arguments.command == "table":
        from opwright_codegen.commands.show import table

        return table(arguments.operator, arguments.modules, sys.stdout)
    if arguments.command == "backend":
        from opwright_codegen.commands.backend import show_backend

        return show_backend(arguments.name, arguments.modules, sys.stdout)
    if arguments.command == "import":
        return _import(arguments)
    try:
        config = read_config(Path(arguments.config)) if arguments.config else find_config(Path.cwd())
    except SchemaError as error:
        raise UsageError(str(error)) from None
    if config is None:
        raise UsageError(f"{arguments.config} has no table [tool.opwright]")
    if arguments.command == "test":
        from opwright_codegen.commands.run_tests import run_tests

        return run_tests(job_of(config, arguments) if config.schemas else None, arguments)
    if arguments.command == "breaking":
        from opwright_codegen.commands.breaking import breaking

        return breaking(config, arguments, sys.stdout)
    if arguments.command == "coverage":
        from opwright_codegen.commands.coverage import show_coverage

        return show_coverage(config.root, arguments)
    if arguments.command == "rules":
        from opwright_codegen.commands.rules import show_rules
        from opwright_codegen.kernels.modules import KernelModules

        roots = (config.root, config.root / "src")
        return show_rules(KernelModules(config.rules, roots, of="rule"), arguments.rule, arguments.markdown, sys.stdout)
    if arguments.command == "show" and not config.schemas and not arguments.schemas:
        from opwright_codegen.commands.show import show_used
        from opwright_codegen.kernels.used_packages import UsedPackage

        return show_used([UsedPackage(name, (config.root,)) for name in config.uses], arguments.operator, sys.stdout)
    return _run_job(job_of(config, arguments), config, arguments)


def _run_job(job: Job, config: Config, arguments: argparse.Namespace) -> int:
    """Run a command on the schemas that settings or the command line name."""
    match arguments.command:
        case "generate":
            return generate(job, arguments, sys.stdout)
        case "check":
            return check(job, arguments, sys.stdout)
        case "freeze":
            from opwright_codegen.commands.freeze import freeze

            return freeze(job, sys.stdout)
        case "build":
            from opwright_codegen.commands.build import build

            return build(job, config.native, arguments, sys.stdout)
        case _:
            from opwright_codegen.commands.show import show

            return show(job, arguments.operator, sys.stdout)


def _import(arguments: argparse.Namespace) -> int:
    from opwright_codegen.commands.import_ import import_files, import_torch

    match arguments.source:
        case "torch":
            return import_torch(arguments, sys.stdout)
        case "cpp":
            from opwright_codegen.importing.cpp import read_cpp

            found = read_cpp([Path(file) for file in arguments.files], arguments.source_namespace)
        case _:
            from opwright_codegen.importing.backends import read_backend

            found = read_backend(Path(arguments.file), arguments.source_namespace)
    return import_files(arguments, found, sys.stdout)


class _Parser(argparse.ArgumentParser):
    """The parser of the whole line, which knows what a misspelt command was to be."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong, and exit with 2."""
        found = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
        if found:
            commands = re.findall(r"[a-z]+", found[2])
            near = nearest(found[1], commands)
            said = f"did you mean {near!r}?" if near else f"there are {', '.join(commands)}"
            message = f"there is no command {found[1]!r}: {said}"
        super().error(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="opwright", description="Generate operators from schema files.")
    parser.add_argument("--version", action="version", version=f"opwright {VERSION}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=argparse.ArgumentParser)
    inputs = _inputs()

    command = commands.add_parser("new", help="write the folder of a project that works at once")
    command.add_argument("name", metavar="NAME", help="of the folder, the package and the namespace: demo_ops")

    command = commands.add_parser("generate", parents=[inputs], help="write the package that schema files declare")
    command.add_argument("schemas", nargs="*", metavar="SCHEMA", help=_SCHEMAS)
    command.add_argument("-o", "--output", metavar="FOLDER", help="the package to write")
    command.add_argument("--only", nargs="+", metavar="TARGET", help="write the files of these targets alone")
    command.add_argument("--check", action="store_true", help="write nothing; exit 1 if the output is out of date")
    command.add_argument("--diff", action="store_true", help="write nothing; print what would change")
    command.add_argument("--dry-run", action="store_true", help="write nothing; list files that would change")
    command.add_argument("--depfile", metavar="FILE", help="write the dependencies as a rule for make and ninja")
    command.add_argument("--force", action="store_true", help="generate even if nothing changed; replace foreign files")

    command = commands.add_parser("check", parents=[inputs], help="report what is wrong in schema files")
    command.add_argument("schemas", nargs="*", metavar="SCHEMA", help=_SCHEMAS)
    command.add_argument("--advice", action="store_true", help="show what PyTorch's own operators are held to, too")

    command = commands.add_parser("build", parents=[inputs], help="generate a project, and compile its C kernels")
    command.add_argument("--force", action="store_true", help="compile every file, also what did not change")
    command.add_argument("-j", "--jobs", type=_count, metavar="N", help="files at a time; else one for each core")
    command.add_argument("--optional", action="store_true", help="exit 0 where there is no compiler: say so alone")
    command.set_defaults(schemas=(), check=False, diff=False, dry_run=False, depfile=None)

    command = commands.add_parser("show", parents=[inputs], help="show an operator and the code generated from it")
    command.add_argument("operator", metavar="OPERATOR", help="add.Tensor, or add for all overloads")
    command.add_argument("schemas", nargs="*", metavar="SCHEMA", help=_SCHEMAS)

    _add_promises(commands, inputs)

    command = commands.add_parser("rules", help="show the rules that meta: formulas may call")
    command.add_argument("rule", nargs="?", metavar="NAME", help="one rule; else all")
    command.add_argument("--markdown", action="store_true", help="as a page")
    command.add_argument("--config", metavar="FILE", help="the pyproject.toml to read")

    command = commands.add_parser("explain", help="explain an error by its code, with an example and its mend")
    command.add_argument("code", nargs="?", metavar="CODE", help="what stands in brackets behind a message; else all")
    command.add_argument("--markdown", action="store_true", help="as a page")

    command = commands.add_parser("import", help="write schema files of operators that exist already")
    _add_sources(command.add_subparsers(dest="source", metavar="SOURCE", required=True))

    _add_commands_of_the_runtime(commands)
    return parser


def _add_promises(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], inputs: argparse.ArgumentParser
) -> None:
    """Add those about what callers rely on."""
    command = commands.add_parser("freeze", parents=[inputs], help="write what operators promise: api.lock.yaml")
    command.add_argument("schemas", nargs="*", metavar="SCHEMA", help=_SCHEMAS)

    command = commands.add_parser("breaking", help="compare two states: which calls and saved graphs would break")
    states = "a folder, a schema file, a wheel, api.lock.yaml, or git:REF"
    command.add_argument("old", nargs="?", metavar="OLD", help=f"{states}; else the last tag")
    command.add_argument("new", nargs="?", metavar="NEW", help="the same; else the project's folder")
    command.add_argument("--categories", metavar="LIST", help="of CALL, GRAPH, FAKE, VALUE, ALIAS: CALL,GRAPH")
    command.add_argument("--format", choices=("text", "json"), default="text", help="how findings are printed")
    command.add_argument("--seed", type=int, default=0, metavar="S", help="what is drawn for FAKE and VALUE")
    command.add_argument("--namespace", type=_namespace, metavar="NAME", help="that of operators declared without one")
    command.add_argument("--config", metavar="FILE", help="the pyproject.toml to read")


def _add_commands_of_the_runtime(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add those that ask the installed runtime."""
    importing = argparse.ArgumentParser(add_help=False)
    importing.add_argument(
        "--import", action="append", default=[], dest="modules", metavar="MODULE", help="import it first"
    )

    command = commands.add_parser(
        "table", parents=[importing], help="show the dispatch table of an operator of the installed runtime"
    )
    command.add_argument("operator", metavar="OPERATOR")

    commands.add_parser("gate", help="judge operators by their declarations", add_help=False)

    command = commands.add_parser(
        "backend", parents=[importing], help="show what a backend has kernels for, and what is missing"
    )
    command.add_argument("name", metavar="NAME", help="of its device")

    command = commands.add_parser(
        "test", parents=[importing], help="test operators with arguments drawn from their schemas"
    )
    command.add_argument(
        "namespaces", nargs="*", metavar="NAMESPACE", help="whose operators; else those of [tool.opwright]"
    )
    command.add_argument("--config", metavar="FILE", help="the pyproject.toml to read")
    command.add_argument("-k", dest="keyword", metavar="EXPRESSION", help="tests whose names match, as pytest's -k")
    command.add_argument("-v", "--verbose", action="store_true", help="a line for each test")
    command.add_argument(
        "--sharded", action="store_true", help="a table of dimension rules, judged by operands cut into parts"
    )
    command.set_defaults(
        schemas=(), output=None, only=None, tags=None, namespace=None, kernels=None, strict_kernels=None
    )  # all from the configuration

    command = commands.add_parser("coverage", help="show the last report of the gate, and hold it to a threshold")
    command.add_argument(
        "--load", action="append", default=[], dest="modules", metavar="MODULE", help="import it first, or FILE.py"
    )
    command.add_argument("report", nargs="?", metavar="REPORT", help="a report in JSON; else the last that was kept")
    command.add_argument("--config", metavar="FILE", help="the pyproject.toml to read")
    add_report_options(command)


def _add_sources(sources: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add what `import` reads."""
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("-o", "--output", metavar="FOLDER", required=True, help="where the files go")
    shared.add_argument("--as", type=_namespace, dest="namespace", metavar="NAME", help="the namespace to declare in")
    shared.add_argument("--force", action="store_true", help="replace the files of an earlier import")

    source = sources.add_parser("torch", parents=[shared], help="a namespace of PyTorch's registry")
    source.add_argument("source_namespace", type=_namespace, metavar="NAMESPACE", help="aten, torchvision")
    source.add_argument(
        "--load", action="append", default=[], dest="modules", metavar="MODULE", help="import it first; it is run"
    )

    source = sources.add_parser("cpp", parents=[shared], help="what sources in C++ and Python register with PyTorch")
    source.add_argument("files", nargs="+", metavar="FILE", help="read as text: nothing is compiled or run")
    _add_source_namespace(source, "what TORCH_EXTENSION_NAME stands for")

    source = sources.add_parser("backend", parents=[shared], help="the operators that a backend's file lists")
    source.add_argument("file", metavar="FILE", help="of torch-npu, XLA, op-plugin, Gaudi's bridge or ExecuTorch")
    _add_source_namespace(source, "the namespace of the backend's own operators")


def _add_source_namespace(source: argparse.ArgumentParser, help: str) -> None:
    source.add_argument("--namespace", type=_namespace, dest="source_namespace", metavar="NAME", help=help)


def _count(text: str) -> int:
    """Return a number of at least 1. Raises ArgumentTypeError."""
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 10_000):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of at least 1")
    return int(text)


def _namespace(text: str) -> str:
    """Return the name of a namespace. Raises ArgumentTypeError."""
    if not is_name(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no name of letters, digits and underscores")
    return text


def _inputs() -> argparse.ArgumentParser:
    """Return the options that say what is read."""
    inputs = argparse.ArgumentParser(add_help=False)
    inputs.add_argument("--tags", metavar="FILE", help="the file that declares tags")
    inputs.add_argument(
        "--namespace",
        type=_namespace,
        metavar="NAME",
        help="that of operators declared without one: aten for PyTorch's own file",
    )
    inputs.add_argument(
        "--kernels", action="append", metavar="MODULE", help="a module or package of kernels; repeatable"
    )
    inputs.add_argument(
        "--strict-kernels",
        action=argparse.BooleanOptionalAction,
        help="refuse kernel names that no module has; the default for configured schemas",
    )
    inputs.add_argument("--config", metavar="FILE", help="the pyproject.toml to read")
    inputs.set_defaults(output=None, only=None)
    return inputs


def _code(error: SchemaError) -> str:
    """Return the code of an error, the first one's of several."""
    return error.errors[0].code if isinstance(error, SchemaErrors) else error.code


def _shown_error(error: OSError) -> str:
    reason = error.strerror or type(error).__name__
    return f"{error.filename}: {reason}" if error.filename else reason


if __name__ == "__main__":
    from opwright_codegen.entry import main as begin

    sys.exit(begin())
