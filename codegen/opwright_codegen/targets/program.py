"""Targets that are programs: the declared set as JSON on standard input, files as JSON on standard output."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from tempfile import TemporaryFile
from typing import IO, Any, Final

from opwright_codegen.declared.document import document_text
from opwright_codegen.declared.model import DeclaredSet, Files, Target
from opwright_codegen.errors import Errors, SchemaError, UsageError, shorten
from opwright_codegen.source import Source, Span
from opwright_codegen.targets.foreign import checked_files

__all__ = ["program"]

_MOST: Final = 256 << 20  # bytes that a program may give
_SHOWN_LINES: Final = 5  # of what a program that failed wrote to standard error
_FORM: Final = 'a program prints {"files": {"PATH": "TEXT"}} or {"errors": [{"message": "…"}]}'
_WORD: Final = re.compile(r"[\w.:]+|")


def program(command: str) -> Target:
    """Return the target that a command line runs. Raises UsageError for a command that cannot be read."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--plugin {command!r} cannot be read: {error}") from None
    if not words:
        raise UsageError("--plugin has no command: name a program, as in --plugin './make_header --short'")

    def files(declared: DeclaredSet) -> Files:
        what = f"the program {shorten(command)!r}"
        status, output, said = _run(words, document_text(declared).encode(), what)
        if status != 0:
            _raise_errors(_errors_of(output), declared, what)
            shown = "".join(f"\n    {line}" for line in said.splitlines()[-_SHOWN_LINES:] if line.strip())
            ended = f"was ended by signal {-status}" if status < 0 else f"ended with exit status {status}"
            hint = "it says above why" if shown else "it wrote nothing to standard error"
            raise SchemaError("target-failed", f"{what} {ended}{shown}", hint=hint)
        sys.stderr.write(said)
        answer = _answer(output, what)
        _raise_errors(answer, declared, what)
        return checked_files(answer.get("files", {}), what)

    return files


def _run(words: list[str], given: bytes, what: str) -> tuple[int, bytes, str]:
    """Return exit status, standard output and standard error of a program. Raises SchemaError if it cannot run."""
    with TemporaryFile() as source, TemporaryFile() as said:
        source.write(given)
        source.seek(0)
        try:
            process = subprocess.Popen(words, stdin=source, stdout=subprocess.PIPE, stderr=said)
        except (OSError, ValueError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            hint = "programs of this folder begin with ./" if "/" not in words[0] else "is it executable?"
            raise SchemaError("target-failed", f"{what} cannot be run: {reason}", hint=hint) from None
        try:
            with process:
                assert process.stdout is not None
                output = process.stdout.read(_MOST + 1)
                if len(output) > _MOST:
                    raise SchemaError("target-answer", f"{what} gave more than {_MOST >> 20} MiB", hint=_FORM)
        finally:
            process.kill()
        return process.returncode, output, _text_of(said)


def _text_of(file: IO[bytes]) -> str:
    """Return the end of what a program said."""
    size = file.seek(0, 2)
    file.seek(max(0, size - (1 << 16)))
    return file.read().decode("utf-8", "replace")


def _answer(output: bytes, what: str) -> dict[str, Any]:
    """Return the JSON object that a program printed. Raises SchemaError, with the place, for anything else."""
    text = output.decode("utf-8", "replace")
    span, problem = None, ""
    try:
        output.decode()
        found = json.loads(text)
        if not isinstance(found, dict):
            problem = "printed JSON that is no object"
        elif not {"files", "errors"} & found.keys():
            problem = "printed an object with neither files nor errors"
        else:
            return found
    except UnicodeDecodeError:
        problem = "printed what is no UTF-8 text"
    except json.JSONDecodeError as error:
        problem = f"printed no JSON: {error.msg}" if text.strip() else "printed nothing"
        span = Span(Source(f"<output of {what}>", text), error.pos, error.pos + 1) if text.strip() else None
    except (RecursionError, ValueError) as error:
        problem = f"printed JSON that cannot be read: {error}"
    raise SchemaError("target-answer", f"{what} {problem}", span, _FORM)


def _errors_of(output: bytes) -> dict[str, Any]:
    """Return the errors that a program which failed printed; none if it printed something else."""
    try:
        return _answer(output, "")
    except SchemaError:
        return {}


def _raise_errors(answer: dict[str, Any], declared: DeclaredSet, what: str) -> None:
    """Raise SchemaErrors for the errors of a program, each at its place in a schema file."""
    given = answer.get("errors") or []
    if not isinstance(given, list):
        raise SchemaError("target-answer", f"{what} printed errors that are no list", hint=_FORM)
    found = Errors()
    for each in given:
        if not isinstance(each, dict) or not isinstance(each.get("message"), str):
            raise SchemaError("target-answer", f"{what} printed an error without a message", hint=_FORM)
        span, place = _place(each, declared)
        hint = each.get("hint")
        message = f"{what}: {each['message']}{place}"
        found.add(SchemaError("target-error", message, span, hint if isinstance(hint, str) else None))
    found.raise_if_any()


def _place(error: dict[str, Any], declared: DeclaredSet) -> tuple[Span | None, str]:
    """Return the place of an error in a file that declares something; for any other place, words for it."""
    file, line, column = (error.get(key) for key in ("file", "line", "column"))
    if not isinstance(file, str):
        return None, ""
    whole = isinstance(line, int) and line > 0
    words = f" ({file}:{line}:{column or 1})" if whole else f" ({file})"
    source = next((each for each in declared.files if declared.sources.get(each.path) == file), None)
    starts = source.line_starts() if source is not None else ()
    if source is None or not isinstance(line, int) or not 0 < line <= len(starts):
        return None, words
    start = starts[line - 1] + (column - 1 if isinstance(column, int) and column > 0 else 0)
    end = starts[line] if line < len(starts) else len(source.text)
    if start >= end:
        return None, words
    word = _WORD.match(source.text, start)
    return Span(source, start, max(start + 1, word.end() if word is not None else 0)), ""
