"""CUDA source files that schemas name: found beside the schema or below the project, read with what they include."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Final

from opwright_codegen.errors import SchemaError, nearest
from opwright_codegen.records import dataclass
from opwright_codegen.source import Span

__all__ = ["CudaFile", "read_cuda_file"]

_INCLUDE = re.compile(r'[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"[^\n]*')
_ONCE = re.compile(r"[ \t]*#[ \t]*pragma[ \t]+once\b[^\n]*")
_NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_LARGEST: Final = 4 << 20


@dataclass(frozen=True, slots=True)
class CudaFile:
    """A CUDA source: its path as errors of compilers show it, and its text, in which includes are put in.

    `files` are all that were read.
    """

    path: str
    text: str
    files: tuple[Path, ...]

    def check_function(self, name: str, wanted: Sequence[str], span: Span) -> None:
        """Raise SchemaError unless the text has all functions `wanted`, of a kernel of this name."""
        code = _NOT_CODE.sub(" ", self.text)
        words = set(re.findall(r"[A-Za-z_]\w*", code))
        if "##" in code and not words.isdisjoint((name, f"{name}_")):
            return  # a macro puts the names together
        for function in wanted:
            if function not in words:
                near = nearest(function, words)
                hint = f"did you mean {near!r}?" if near else "the generated header has its prototype"
                message = f"{self.path} has no function {function!r}, which a kernel {name!r} has for its dtype"
                raise SchemaError("cuda-function", message, span, hint)


def read_cuda_file(path: str, roots: Sequence[Path], beside: Path, generated: Collection[str], span: Span) -> CudaFile:
    """Return the file, which is looked for beside the schema and then in the project's folders.

    Lines that include one of the `generated` headers are left out. Raises SchemaError for a file that is missing, that
    is outside of these folders, or that is no text.
    """
    parts = PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts:
        message = f"{path[:60]!r} is no path below the project or the schema's folder"
        raise SchemaError("cuda-file", message, span, "write raw:csrc/file.cu::my_kernel, with the file in the project")
    for folder in dict.fromkeys((beside, *roots)):
        place = folder / path
        if _is_file(place):
            root = roots[0] if roots else beside
            whole, top = Path(os.path.abspath(place)), Path(os.path.abspath(root))
            shown = whole.relative_to(top).as_posix() if whole.is_relative_to(top) else path
            reader = _Reader(generated, span)
            text = reader.read(whole, shown, ())
            return CudaFile(shown, text, tuple(reader.files))
    found = {place.as_posix() for folder in (beside, *roots) for place in _neighbours(folder, parts.parent)}
    near = nearest(parts.name, found)
    hint = (
        f"did you mean {(parts.parent / near).as_posix()}?" if near else "it is looked for below the project's folder"
    )
    raise SchemaError("cuda-file", f"there is no file {path[:60]!r}", span, hint)


def _is_file(place: Path) -> bool:
    """Whether there is such a file; there is none of a name that the system does not take."""
    with suppress(OSError, ValueError):
        return place.is_file()
    return False


def _neighbours(folder: Path, parent: PurePosixPath) -> list[Path]:
    with suppress(OSError):
        return [Path(place.name) for place in sorted((folder / parent).glob("*.cu"))[:100]]
    return []


class _Reader:
    """The reading of one file with what it includes: each line keeps its number, for the compiler's messages."""

    def __init__(self, generated: Collection[str], span: Span) -> None:
        self._generated = generated
        self._span = span
        self._once: set[Path] = set()
        self.files: list[Path] = []

    def read(self, place: Path, shown: str, within: tuple[Path, ...]) -> str:
        """Return the text of a file, which begins with its `#line`."""
        if place not in self.files:
            self.files.append(place)
        lines = self._lines(place, shown)
        made = [_line(1, shown)]
        for number, line in enumerate(lines, 1):
            if _ONCE.fullmatch(line):
                self._once.add(place)
                made.append("")
                continue
            found = _INCLUDE.fullmatch(line)
            included = Path(os.path.normpath(place.parent / found[1])) if found else None
            if found and found[1] in self._generated:
                made.append("")
            elif included is None or not _is_file(included):
                made.append(line)
            elif included in self._once or included in within or included == place:
                made.append("")
            else:
                name = (PurePosixPath(shown).parent / found[1]).as_posix() if found else ""
                made += [self.read(included, name, (*within, place)), _line(number + 1, shown)]
        return "\n".join(made)

    def _lines(self, place: Path, shown: str) -> list[str]:
        try:
            data = place.read_bytes()
            if len(data) > _LARGEST:
                raise SchemaError("cuda-file", f"{shown} has more than {_LARGEST:,} bytes", self._span)
            text = data.decode("utf-8-sig")
        except OSError as error:
            raise SchemaError("cuda-file", f"{shown} cannot be read: {error.strerror}", self._span) from None
        except UnicodeDecodeError as error:
            raise SchemaError("cuda-file", f"{shown} is not UTF-8 text: {error.reason}", self._span) from None
        if "\0" in text:
            raise SchemaError("cuda-file", f"{shown} is no text: it has a zero byte", self._span)
        return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _line(number: int, shown: str) -> str:
    """Return the line that tells the compiler where the next one is. Paths have no quotes, backslashes or breaks here:
    the schema's form of paths, and what an include says, have none."""
    plain = "".join(char if char.isprintable() and char not in '"\\?' else "_" for char in shown)
    return f'#line {number} "{plain}"'
