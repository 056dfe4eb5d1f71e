"""Closures unrolled over the arguments of a call, from one definition each.

Note [Unrolled closures]
Python is fastest with functions that name each parameter and have a statement for each argument. A small call through
`*args` and a loop takes twice the time. A definition is the text of such a function for any number of arguments:

    def kernel({*: x#, }):
        {T} x# = x#.array
        {N} check(x0)
        return run({*: x#, })

Each argument has one or several letters. A group `{T: ...}` is repeated for each argument that has one of its letters
(`*`: for each argument), with the position in place of `#`. `{T: ... |a: ...}` takes the first part that applies to an
argument. A line behind `{T}` is repeated as a line. The text in a group of a flag, such as `{N}`, is kept if the flag
is given. So a text contains only the definition and positions. It is compiled when the first function of its letters
is made, and `linecache` has it for tracebacks.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

__all__ = ["Definition"]

Function = Callable[..., Any]
_GROUP: Final = re.compile(r"\{([\w.*]+: [^{}]*)\}")
_LINE: Final = re.compile(r"^( *)\{([\w.*]+)\} (.*\n)", re.MULTILINE)
_NEXT: Final = re.compile(r"\|(?=[\w.*]+: )")


class Definition:
    """The definition of a closure. `scope` are the globals of the module that defines it."""

    def __init__(self, text: str, scope: dict[str, Any]) -> None:
        self._text = text
        self._scope = scope
        self._makers: dict[tuple[Any, ...], Function] = {}

    def make(self, letters: Sequence[str], flags: str = "", /, **free: Any) -> Function:
        """Return the function for arguments of these letters, one string for each, whose free variables are `free`."""
        key = (tuple(letters), flags)
        maker = self._makers.get(key)
        if maker is None:
            maker = self._makers[key] = self._compiled(letters, flags, free)
        made: Function = maker(**free)
        return made

    def _compiled(self, letters: Sequence[str], flags: str, names: Iterable[str]) -> Function:
        """Return the function that makes closures of these letters."""
        body = unrolled(self._text, letters, flags)
        name = body[4 : body.index("(")]
        text = "\n    ".join([f"def make({', '.join(names)}):", *body.splitlines(), f"return {name}"])
        file = f"{self._scope.get('__file__', '')} <{' '.join([name, *letters, flags]).strip()}>"
        made: dict[str, Function] = {}
        exec(compile(text, file, "exec", dont_inherit=True), self._scope, made)
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        return made["make"]


def unrolled(text: str, letters: Sequence[str], flags: str) -> str:
    """Return the text of a definition for arguments of these letters."""

    def repeat(alternatives: Sequence[tuple[str, str]]) -> str:
        found = [part for named, part in alternatives if not set(flags).isdisjoint(named)]
        if not found:
            for position, own in enumerate(letters):
                fitting = (part for named, part in alternatives if named == "*" or not set(own).isdisjoint(named))
                found.append(next(fitting, "").replace("#", str(position)))
        return "".join(found)

    def group(match: re.Match[str]) -> str:
        return repeat([(named, part) for named, _, part in (each.partition(": ") for each in _NEXT.split(match[1]))])

    before = ""
    while before != text:  # (a group in a group comes first)
        before, text = text, _GROUP.sub(group, text)
    return _LINE.sub(lambda line: repeat([(line[2], line[1] + line[3])]), text)
