"""The command `explain`: the meaning of an error code, with an example of the mistake and its fix."""

from __future__ import annotations

import io
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TextIO

from opwright_codegen.commands.config import Config, read_config
from opwright_codegen.commands.generate import check
from opwright_codegen.commands.job import job_of
from opwright_codegen.commands.lint import lints_of
from opwright_codegen.declared.declare import declare
from opwright_codegen.errors import SchemaError, SchemaErrors, nearest
from opwright_codegen.explanations import Explanation, explanations
from opwright_codegen.read.rule import OF_ATEN
from opwright_codegen.records import dataclass

__all__ = ["Said", "problems_of", "show_explanations"]

_HEAD = """# Errors

Every code of the generator's errors. The code stands in brackets behind the message.
`opwright explain CODE` shows one of them. This page is what `opwright explain --markdown` prints.
The settings of these examples say `namespace = "mine"`, so that operators need not write it, where none are shown.
"""
_LANGUAGES = {".yaml": "yaml", ".py": "python", ".toml": "toml", ".cu": "cuda"}


def show_explanations(code: str | None, markdown: bool, out: TextIO) -> int:
    """Print one explanation, or a line for each code, or the page. Raises SchemaError for a code that no error has."""
    known = explanations()
    if code is not None and code not in known:
        near = nearest(code, known)
        hint = f"did you mean {near!r}?" if near else "opwright explain lists them all"
        raise SchemaError("unknown-code", f"no error has the code {code!r}", hint=hint)
    found = list(known.values()) if code is None else [known[code]]
    lines = _page(found) if markdown else _list(found) if code is None else _entry(found[0])
    out.writelines(f"{line}\n" for line in lines)
    return 0


@dataclass(frozen=True, slots=True)
class Said:
    """The text that the generator gives for one problem, and its code."""

    code: str
    text: str


def problems_of(files: Mapping[str, str], *, lints: bool = False) -> tuple[Said, ...]:
    """Return what `opwright check --advice` finds in a project of these files, or `opwright lint`."""
    with TemporaryDirectory(prefix="opwright_example_") as folder, chdir(folder):
        for name, text in files.items():
            Path(name).write_text(text, encoding="utf-8")
        try:
            job = job_of(_config(files, Path.cwd()))
            check(job, Namespace(advice=False), io.StringIO())
            if lints:
                return tuple(Said(each.code, each.shown("warning")) for each in lints_of(job))
            sets = declare(job, binds=False).values()
            return tuple(Said(each.code, each.shown("advice")) for found in sets for each in found.operators.advice)
        except SchemaError as error:
            members = error.errors if isinstance(error, SchemaErrors) else (error,)
            return tuple(Said(member.code, str(member)) for member in members)


def _config(files: Mapping[str, str], root: Path) -> Config:
    """Return the configuration of an example: that of its pyproject.toml, else one that names its files."""
    if "pyproject.toml" in files:
        found = read_config(Path("pyproject.toml"))
        assert found is not None  # the example has the table
        return found
    modules = tuple(name.removesuffix(".py") for name in files if name.endswith(".py"))
    derivatives = root / "derivatives.yaml" if "derivatives.yaml" in files else None
    return Config(
        root,
        schemas=(root / "ops.yaml",),
        namespace="mine",
        kernels=modules,
        strict_kernels=bool(modules),
        derivatives=derivatives,
        gradients=modules,
        uses=(),
    )


def _list(found: list[Explanation]) -> Iterator[str]:
    width = max(len(explanation.code) for explanation in found)
    for explanation in found:
        first, stop, _ = explanation.says.partition(". ")
        yield f"{explanation.code:{width}}  {first}{'.' if stop else ''}"


def _entry(explanation: Explanation) -> Iterator[str]:
    yield f"{explanation.code}: {_says(explanation)}"
    if explanation.elsewhere is not None:
        yield from ("", explanation.elsewhere)
        return
    for name, text in explanation.wrong.items():
        yield from ("", f"Wrong, {name}:", "", *_indented(text.splitlines()))
    yield from ("", "Opwright says:", "", *_indented(_said(explanation)))
    for name, text in _mended(explanation).items():
        yield from ("", f"Right, {name}:", "", *_indented(text.splitlines()))


def _says(explanation: Explanation) -> str:
    """Return what a code means, and whether ATen's operators alone are held to it."""
    held = " Of ATen's operators this is an error, of others advice: `opwright check --advice` shows it."
    return explanation.says + (held if explanation.code in OF_ATEN - {"reserved-overload"} else "")


def _indented(lines: Sequence[str]) -> Iterator[str]:
    return (f"    {line}".rstrip() for line in lines)


def _page(found: list[Explanation]) -> Iterator[str]:
    yield from _HEAD.splitlines()
    subject = ""
    for explanation in found:
        if explanation.subject != subject:
            subject = explanation.subject
            yield from ("", f"## {subject}")
        yield from ("", f"### {explanation.code}", "", _says(explanation))
        if explanation.elsewhere is not None:
            yield from ("", explanation.elsewhere)
            continue
        yield from _blocks("Wrong", explanation.wrong)
        yield from ("", "```text", *(line.rstrip() for line in _said(explanation)), "```")
        yield from _blocks("Right", _mended(explanation))


def _blocks(title: str, files: Mapping[str, str]) -> Iterator[str]:
    for name, text in files.items():
        yield from ("", f"{title}, `{name}`:", "", f"```{_LANGUAGES[Path(name).suffix]}", *text.splitlines(), "```")


def _mended(explanation: Explanation) -> dict[str, str]:
    """Return the files that differ from the wrong ones."""
    return {name: text for name, text in explanation.right.items() if text != explanation.wrong.get(name)}


def _said(explanation: Explanation) -> list[str]:
    said = problems_of(explanation.wrong, lints=explanation.is_lint)
    return "\n\n".join(each.text for each in said).splitlines()
