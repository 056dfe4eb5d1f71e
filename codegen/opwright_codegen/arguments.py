"""The words of the command line: its commands, and the options of each."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Final, NoReturn

from opwright_codegen import VERSION
from opwright_codegen.commands.config import is_name
from opwright_codegen.commands.report_options import add_report_options
from opwright_codegen.errors import nearest

__all__ = ["make_parser"]

_SCHEMAS: Final = "schema files (YAML), or patterns of them; else those of [tool.opwright]"
_FORMATS: Final = ("text", "json", "github", "sarif", "junit")  # as `findings.writing` has them
# As `about.schema` has them.
_FILES: Final = (
    "operators", "keys", "derivatives", "settings", "declared", "findings", "breaking", "list", "doctor", "report",
)  # fmt: skip
_OF_A_JOB: Final = ("only", "tags", "namespace", "kernels", "strict_kernels")
_SHELLS: Final = ("bash", "zsh", "fish")  # as `about.completion` has them


class _Parser(argparse.ArgumentParser):
    """The parser of the whole line (`words`) or of a command, which knows what a misspelt word was to be."""

    words: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        """Print what is wrong, and exit with 2."""
        if found := re.search(r"argument (.*): invalid choice: '([^']*)' \(choose from (.*)\)", message):
            what = "there is no command" if found[1] == "COMMAND" else f"argument {found[1]}: there is no"
            known = re.findall(r"[a-z]+", found[3])
            near = nearest(found[2], known)
            message = f"{what} {found[2]!r}: " + (
                f"did you mean {near!r}?" if near else f"there are {', '.join(known)}"
            )
        elif found := re.search(r"unrecognized arguments: (-[^\s=]+)", message):
            near = nearest(found[1], self._options())
            message += f" (did you mean {near}?)" if near else ""
        super().error(message)

    def _options(self) -> list[str]:
        """Return the options of the command: what it does not take, the parser of the whole line reports."""
        found = [action for action in self._actions if isinstance(action, argparse._SubParsersAction)]
        parsers = [each.choices[name] for each in found for name in self.words[:1] if name in each.choices]
        return [word for parser in parsers for action in parser._actions for word in action.option_strings]


_Commands = argparse._SubParsersAction  # of _Parser


def make_parser(words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the parser of the command line, whose errors are about these words."""
    parser = _Parser(prog="opwright", description="Generate operators from schema files.")
    parser.words = words
    parser.add_argument("--version", action="version", version=f"opwright {VERSION}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    command = commands.add_parser("new", help="write the folder of a project that works at once")
    command.add_argument("name", metavar="NAME", help="of the folder, the package and the namespace: demo_ops")
    inputs = _inputs()
    _add_commands_that_generate(commands, inputs)
    _add_commands_that_look(commands, inputs)
    command = commands.add_parser("import", help="write schema files of operators that exist already")
    _add_sources(command.add_subparsers(dest="source", metavar="SOURCE", required=True))
    _add_commands_about_promises(commands, inputs)
    _add_commands_about_opwright(commands)
    _add_commands_of_the_runtime(commands)
    return parser


def _add_commands_that_generate(commands: _Commands[_Parser], inputs: _Parser) -> None:
    """Add those that write files of a project."""
    command = commands.add_parser("generate", parents=[inputs], help="write the package that schema files declare")
    command.add_argument("schemas", nargs="*", metavar="SCHEMA", help=_SCHEMAS)
    command.add_argument("-o", "--output", metavar="FOLDER", help="the package to write")
    command.add_argument("--only", nargs="+", metavar="TARGET", help="write the files of these targets alone")
    command.add_argument("--check", action="store_true", help="write nothing; exit 1 if the output is out of date")
    command.add_argument("--diff", action="store_true", help="write nothing; print what would change")
    command.add_argument("--dry-run", action="store_true", help="write nothing; list files that would change")
    command.add_argument("--declared", metavar="FILE", help="write the declared set as JSON instead; -: to stdout")
    command.add_argument("--target", action="append", default=[], metavar="NAME", help="add an installed target")
    command.add_argument("--plugin", action="append", default=[], metavar="COMMAND", help="add a program as a target")
    command.add_argument("--depfile", metavar="FILE", help="write the dependencies as a rule for make and ninja")
    command.add_argument("--force", action="store_true", help="generate even if nothing changed; replace foreign files")
    command.add_argument("--watch", action="store_true", help="generate again whenever a file is saved (watchfiles)")
    _add_format(command)

    command = commands.add_parser("build", parents=[inputs], help="generate a project, and compile its C kernels")
    command.add_argument("--force", action="store_true", help="compile every file, also what did not change")
    command.add_argument("-j", "--jobs", type=_count, metavar="N", help="files at a time; else one for each core")
    command.add_argument("--optional", action="store_true", help="exit 0 where there is no compiler: say so alone")
    _add_format(command)
    command.set_defaults(schemas=(), check=False, diff=False, dry_run=False, depfile=None)

    command = commands.add_parser("fmt", help="write schema files and derivatives in canonical form")
    command.add_argument("files", nargs="*", metavar="FILE", help="or -, from stdin to stdout; else the project's")
    command.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file would change")
    command.add_argument("--diff", action="store_true", help="write nothing; print what would change")
    command.add_argument("--namespace", type=_namespace, metavar="NAME", help="of operators without one")
    command.add_argument("--config", metavar="FILE", help="the pyproject.toml to read")
    _add_format(command)


def _add_commands_that_look(commands: _Commands[_Parser], inputs: _Parser) -> None:
    """Add those that read a project, and write nothing."""
    command = commands.add_parser("check", parents=[inputs], help="report what is wrong in schema files")
    command.add_argument("schemas", nargs="*", metavar="SCHEMA", help=_SCHEMAS)
    command.add_argument("--advice", action="store_true", help="show what PyTorch's own operators are held to, too")
    _add_format(command)

    command = commands.add_parser("lint", parents=[inputs], help="report what is allowed, and better otherwise")
    command.add_argument("schemas", nargs="*", metavar="SCHEMA", help=_SCHEMAS)
    command.add_argument("--ignore", action="append", default=[], metavar="CODE", help="leave this out; repeatable")
    _add_format(command)

    command = commands.add_parser("list", parents=[inputs], help="list operators, and what serves them")
    command.add_argument("schemas", nargs="*", metavar="SCHEMA", help=_SCHEMAS)
    command.add_argument("-k", dest="pattern", metavar="PATTERN", help="those whose names match alone: 'add*'")
    command.add_argument("--targets", action="store_true", help="list the targets that there are, and whose they are")
    _add_format(command, ("text", "json"))

    command = commands.add_parser("show", parents=[inputs], help="show an operator and the code generated from it")
    command.add_argument("operator", metavar="OPERATOR", help="add.Tensor, add for all overloads, or a pattern: 'add*'")
    command.add_argument("schemas", nargs="*", metavar="SCHEMA", help=_SCHEMAS)


def _add_commands_about_promises(commands: _Commands[_Parser], inputs: _Parser) -> None:
    """Add those about what callers rely on."""
    command = commands.add_parser("freeze", parents=[inputs], help="write what operators promise: api.lock.yaml")
    command.add_argument("schemas", nargs="*", metavar="SCHEMA", help=_SCHEMAS)

    command = commands.add_parser("breaking", help="compare two states: which calls and saved graphs would break")
    states = "a folder, a schema file, a wheel, api.lock.yaml, or git:REF"
    command.add_argument("old", nargs="?", metavar="OLD", help=f"{states}; else the last tag")
    command.add_argument("new", nargs="?", metavar="NEW", help="the same; else the project's folder")
    command.add_argument("--categories", metavar="LIST", help="of CALL, GRAPH, FAKE, VALUE, ALIAS: CALL,GRAPH")
    _add_format(command)
    command.add_argument("--seed", type=int, default=0, metavar="S", help="what is drawn for FAKE and VALUE")
    command.add_argument("--namespace", type=_namespace, metavar="NAME", help="that of operators declared without one")
    command.add_argument("--config", metavar="FILE", help="the pyproject.toml to read")


def _add_commands_about_opwright(commands: _Commands[_Parser]) -> None:
    """Add those that are about Opwright itself."""
    command = commands.add_parser("explain", help="explain an error by its code, with an example and its mend")
    command.add_argument("code", nargs="?", metavar="CODE", help="what stands in brackets behind a message; else all")
    command.add_argument("--markdown", action="store_true", help="as a page")

    command = commands.add_parser("rules", help="show the rules that meta: formulas may call")
    command.add_argument("rule", nargs="?", metavar="NAME", help="one rule; else all")
    command.add_argument("--markdown", action="store_true", help="as a page")
    command.add_argument("--config", metavar="FILE", help="the pyproject.toml to read")

    command = commands.add_parser("schema", help="print the JSON Schema of a file, for editors and programs")
    command.add_argument("file", nargs="?", choices=_FILES, metavar="FILE", help=", ".join(_FILES))

    commands.add_parser("include-dir", help="print the folder of the C headers that generated C includes")

    command = commands.add_parser("completion", help="print what a shell needs to complete this command line")
    command.add_argument("shell", choices=_SHELLS, metavar="SHELL", help=", ".join(_SHELLS))

    command = commands.add_parser("doctor", help="show what is installed, what is missing, and why")
    _add_format(command, ("text", "json"))


def _add_commands_of_the_runtime(commands: _Commands[_Parser]) -> None:
    """Add those that ask the installed runtime."""
    importing = _Parser(add_help=False)
    importing.add_argument(
        "--import", action="append", default=[], dest="modules", metavar="MODULE", help="import it first"
    )

    command = commands.add_parser(
        "table", parents=[importing], help="show the dispatch table of an operator, as the runtime computes it"
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
        "--sharded",
        choices=("numpy", "jax", "torch", "torch-validator"),
        help="a table of dimension rules, judged by operands cut into parts: in NumPy, by shardings of =jax, =torch, "
        "or by PyTorch's own validator",
    )
    command.add_argument("--table-only", action="store_true", help="with --sharded: judge nothing")
    command.add_argument("--markdown", action="store_true", help="with --sharded: as a page")
    _add_format(command)
    command.set_defaults(**dict.fromkeys(_OF_A_JOB), schemas=(), output=None)  # all from the configuration

    _add_docs(commands)
    commands.add_parser("bench", help="time operators beside what their cost takes at best", add_help=False)

    command = commands.add_parser("coverage", help="show the last report of the gate, and hold it to a threshold")
    command.add_argument(
        "--load", action="append", default=[], dest="modules", metavar="MODULE", help="import it first, or FILE.py"
    )
    command.add_argument("report", nargs="?", metavar="REPORT", help="a report in JSON; else the last that was kept")
    command.add_argument("--config", metavar="FILE", help="the pyproject.toml to read")
    add_report_options(command)


def _add_docs(commands: _Commands[_Parser]) -> None:
    """Add the command that writes pages."""
    command = commands.add_parser("docs", help="write a page about each operator, in Markdown")
    command.add_argument("targets", nargs="*", metavar="NAME", help="of namespaces or packages; else the project's")
    command.add_argument("-o", "--output", dest="folder", metavar="FOLDER", required=True, help="where the pages go")
    command.add_argument(
        "--load", action="append", default=[], dest="modules", metavar="MODULE", help="import it first"
    )
    gate = command.add_mutually_exclusive_group()
    gate.add_argument(
        "--gate", metavar="REPORT", help="a report of the gate, in JSON, of which pages tell; else its last"
    )
    gate.add_argument("--no-gate", action="store_true", help="do not tell what the gate found")
    command.add_argument("--differences", metavar="FILE", help="what differs from other libraries, in YAML")
    command.add_argument("--math", choices=("latex", "mathml"), default="latex", help="how formulas are set")
    command.add_argument("--source", default="", metavar="URL", help="of a folder: places in files are links to it")
    command.add_argument("--check", action="store_true", help="write nothing; exit 1 if the pages are out of date")
    command.add_argument("--force", action="store_true", help="replace files that were not generated")
    command.add_argument("--config", metavar="FILE", help="the pyproject.toml to read")
    command.set_defaults(**dict.fromkeys(_OF_A_JOB), schemas=(), output=None)


def _add_sources(sources: _Commands[_Parser]) -> None:
    """Add what `import` reads."""
    shared = _Parser(add_help=False)
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


def _add_format(command: argparse.ArgumentParser, formats: Sequence[str] = _FORMATS) -> None:
    command.add_argument("--format", choices=formats, default="text", help="of what is found; text is for people")


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


def _inputs() -> _Parser:
    """Return the options that say what is read."""
    inputs = _Parser(add_help=False)
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
