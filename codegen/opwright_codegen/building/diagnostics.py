"""The words of compilers and linkers, in terms of the project: which file is wrong, what a function has to take."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from opwright_codegen.building.progress import shown
from opwright_codegen.errors import nearest
from opwright_codegen.records import dataclass, field

__all__ = ["Header", "explain", "explain_link", "lacking", "without_header"]

_ERROR = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)$")
_PLACE = re.compile(r"^(?:In file included |\s+)from (?P<file>[^:\n]+):(?P<line>\d+)")
_MACRO = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+):\d+: note: (?:in expansion of|expanded from) macro")
_OTHER = re.compile(r"conflicting types for '(\w+)'|static declaration of '(\w+)' follows")
_ABSENT = re.compile(r"'?(\w+_kernels\.h)'?(?:: No such file| file not found)")
_TWICE = re.compile(r"multiple definition of .(\w+)'|duplicate symbol '?_?(\w+)")
_UNDEFINED = re.compile(r"undefined (?:reference to|symbol:?) [`'\"]?(\w+)|\"_(\w+)\", referenced from")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_CALLED = re.compile(r"\b([A-Za-z_]\w+)\s*[(,)]")


@dataclass(frozen=True, slots=True)
class Header:
    """The generated header of a namespace: where it is, and the prototypes of its functions."""

    path: Path
    prototypes: Mapping[str, str] = field(hash=False)

    @classmethod
    def read(cls, path: Path) -> Header:
        """Return the header at a path."""
        text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
        return cls(path, {found[1]: found[0] for found in re.finditer(r"^int (\w+)\([^;]*", text, re.MULTILINE)})


def explain(said: str, header: Header, sources: Sequence[Path]) -> list[str]:
    """Return what is wrong in the user's files, where the compiler's own words do not say it."""
    lines = said.splitlines()
    own = {shown(path) for path in sources}
    found = []
    for number, line in enumerate(lines):
        error = _ERROR.match(line)
        if error is None:
            continue
        place = _place(lines, number, error, own)
        hint = _hint(error["text"], header)
        if hint or place != f"{error['file']}:{error['line']}":
            found.append(f"{place}: error: {hint or error['text']}")
    return list(dict.fromkeys(found))


def _place(lines: Sequence[str], number: int, error: re.Match[str], own: set[str]) -> str:
    """Return the line of the user's file that leads to an error in a header or a macro."""
    candidates = [] if error["file"] in own else list(_included(lines, number))
    for line in lines[number + 1 :]:
        if _ERROR.match(line):
            break
        if found := _MACRO.match(line):  # the last one is where the macro is used
            candidates.append(found)
    for candidate in reversed(candidates):
        if candidate["file"] in own:
            return f"{candidate['file']}:{candidate['line']}"
    return f"{error['file']}:{error['line']}"


def _included(lines: Sequence[str], number: int) -> Iterator[re.Match[str]]:
    """Yield the lines `In file included from` that stand above an error."""
    above = number - 1
    while above >= 0 and not _PLACE.match(lines[above]) and not _ERROR.match(lines[above]):
        above -= 1
    block = []
    while above >= 0 and (found := _PLACE.match(lines[above])):
        block.append(found)
        above -= 1
    yield from reversed(block)


def _hint(text: str, header: Header) -> str:
    if found := _OTHER.search(text):
        name = found[1] or found[2]
        if name in header.prototypes:
            return f"{name!r} is not what the schema asks for, which is\n    {_indented(header.prototypes[name])}"
    if (found := _ABSENT.search(text)) and found[1] != header.path.name:
        return f"{found[1]!r} is not there: the header of this namespace is {header.path.name!r}"
    return ""


def _indented(prototype: str) -> str:
    return prototype.replace("\n", "\n    ")


def without_header(source: Path, header: Header) -> str:
    """Return what is wrong with a file that has kernels and does not include their header; nothing where it has none.

    The compiler compares functions with their prototypes only where it sees both.
    """
    text = _text(source)
    for found in re.finditer(r"\b\w+\b", text):
        if found[0] in header.prototypes:
            line = text.count("\n", 0, found.start()) + 1
            return (
                f"{shown(source)}:{line}: error: {found[0]!r} stands in a file that does not include its header: "
                f'write #include "{header.path.name}" at the top'
            )
    return ""


def _text(source: Path) -> str:
    """Return the text of a C file with its comments blanked."""
    text = source.read_text(encoding="utf-8", errors="replace")
    return _COMMENT.sub(lambda found: "\n" * found[0].count("\n") or " ", text)


def explain_link(said: str, objects: Mapping[Path, Path]) -> list[str]:
    """Return which function is in which files, where it is in two. `objects` are those of the files."""
    found = []
    for name in dict.fromkeys(match[1] or match[2] for match in _TWICE.finditer(said)):
        files = [shown(source) for source in objects if re.search(rf"\b{name}\b", _text(source))]
        where = f"in {' and in '.join(files)}" if len(files) > 1 else "in two files"
        found.append(f"error: the function {name!r} is {where}: one of them has to go")
    return found


def lacking(said: str, header: Header, sources: Sequence[Path], language: str) -> list[str]:
    """Return a line for each function of the header that a linker calls undefined, with what has a similar name."""
    names = dict.fromkeys(match[1] or match[2] for match in _UNDEFINED.finditer(said))
    missing = [name for name in names if name in header.prototypes]
    there = {word: source for source in sources for word in _CALLED.findall(_text(source)) if word not in names}
    found = []
    for name in missing:
        near = nearest(name, there)
        hint = f" ({shown(there[near])} has {near!r})" if near and near not in header.prototypes else ""
        what = _indented(header.prototypes[name])
        found.append(f"error: no {language} file has the function {name!r}{hint}, which is\n    {what}")
    return found
