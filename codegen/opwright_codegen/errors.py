"""Errors that a user can make in schemas: one with its position and hint, and the collection of a run's errors."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.util import find_spec

from opwright_codegen.source import Span

__all__ = [
    "MAX_ERRORS",
    "Errors",
    "SchemaError",
    "SchemaErrors",
    "UsageError",
    "library_module",
    "nearest",
    "shorten",
    "undoubled",
]

# Past this many causes nothing more is read: the file is not what it is taken for.
MAX_ERRORS = 100
_MOST_REPEATS = 50  # times MAX_ERRORS: errors of all causes together
_SHOWN_REPEATS = 5  # of one cause that are shown each by itself; of more, the first is shown with their number
_SHOWN_LINES = 8
_OPERATOR = re.compile(r"^[\w.]+(?=: | has no namespace)|\b\w+::[\w.]+")


class SchemaError(Exception):
    """One problem in a schema: a kebab-case code, what is wrong, where, and what would be right."""

    def __init__(self, code: str, message: str, span: Span | None = None, hint: str | None = None) -> None:
        super().__init__(code, message, span, hint)
        self.code = code
        self.message = undoubled(message)
        self.span = span
        self.hint = hint
        self.repeats: list[int] = []  # the lines of further errors of the same cause that are not shown

    @property
    def text(self) -> str:
        """Return the message, with the number of errors that it stands for."""
        if not self.repeats:
            return self.message
        others = sorted(set(self.repeats))
        lines = ", ".join(map(str, others[:_SHOWN_LINES])) + (", …" if others[_SHOWN_LINES:] else "")
        return f"{self.message} ({len(self.repeats) + 1:,} times, also in line{'s' * (len(others) > 1)} {lines})"

    def __str__(self) -> str:
        return self.shown("error")

    def shown(self, kind: str) -> str:
        """Return the text of the problem: an error, or a warning or a piece of advice with the same parts."""
        lines = [f"{kind}: {self.text} [{self.code}]"]
        if self.span is not None:
            lines[0] = f"{self.span}: {lines[0]}"
            lines += (f"    {line}" for line in self.span.caret().split("\n"))
        if self.hint is not None:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


class SchemaErrors(SchemaError):
    """All the problems of a run, shown together."""

    def __init__(self, errors: tuple[SchemaError, ...]) -> None:
        number = sum(1 + len(error.repeats) for error in errors)
        count = f"{number:,} error" + ("s" if number != 1 else "")
        super().__init__("errors", count, errors[0].span if errors else None)
        self.args = (errors,)
        self.errors = errors

    def __str__(self) -> str:
        return "\n\n".join([*map(str, self.errors), self.message])


class Errors:
    """A collection of the problems of a run, so that a user sees all of them at once, each once. `advice` is what might
    be better, and is no error. Many problems of one cause are shown as the first of them, with their number."""

    def __init__(self) -> None:
        self.advice: list[SchemaError] = []
        self._causes: dict[tuple[str, str, str], list[SchemaError]] = {}
        self._found: list[SchemaError] = []
        self._known: set[tuple[str, str, str]] = set()

    def __bool__(self) -> bool:
        return bool(self._found)

    def __len__(self) -> int:
        return len(self._found)

    @property
    def is_full(self) -> bool:
        """Whether there are so many causes that reading on helps nobody."""
        return len(self._causes) >= MAX_ERRORS or len(self._found) >= MAX_ERRORS * _MOST_REPEATS

    @property
    def found(self) -> tuple[SchemaError, ...]:
        """Return the problems in the order of finding. The first of many of one cause has their lines."""
        hidden: set[int] = set()
        for first, *others in self._causes.values():
            if len(others) >= _SHOWN_REPEATS:
                first.repeats = [each.span.line if each.span is not None else 0 for each in others]
                hidden.update(map(id, others))
        return tuple(each for each in self._found if id(each) not in hidden)

    def add(self, error: SchemaError) -> None:
        """Record a problem that is not known yet; a group adds its members.

        Variants share what was declared, and what is wrong with it is wrong for each of them.
        """
        for member in error.errors if isinstance(error, SchemaErrors) else (error,):
            if self._is_new(member):
                self._found.append(member)
                place = "" if member.span is None else member.span.source.path
                cause = place, member.code, _OPERATOR.sub("", member.message)
                self._causes.setdefault(cause, []).append(member)

    def extend(self, others: Errors) -> None:
        """Record the problems of another collection that are not known yet."""
        for each in others._found:
            self.add(each)

    def advise(self, error: SchemaError) -> None:
        """Record a piece of advice that is not known yet."""
        if self._is_new(error):
            self.advice.append(error)

    def _is_new(self, error: SchemaError) -> bool:
        key = error.code, error.message, str(error.span)
        is_new = key not in self._known
        self._known.add(key)
        return is_new

    def raise_if_any(self) -> None:
        """Raise SchemaErrors when problems were recorded, else do nothing."""
        if self._found:
            raise SchemaErrors(self.found)


class UsageError(Exception):
    """A command line or a configuration that says too little or too much."""

    def __init__(self, message: str) -> None:
        super().__init__(undoubled(message))


def library_module(name: str) -> str:
    """Return a module of the library or the gate for `python -m`. Raises UsageError if it is not installed."""
    if find_spec(name.partition(".")[0]) is None:
        raise UsageError("this command runs operators by the library, which is not installed: pip install opwright")
    return name


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word most like this one, for "did you mean"; None when none is close."""
    if len(word) > 100:  # nothing we know is as long, and matching costs the square of the length
        return None
    import difflib  # a run without errors goes without

    names = list(known)
    same = next((name for name in names if name.lower() == word.lower()), None)
    return same or next(iter(difflib.get_close_matches(word, names, n=1, cutoff=0.7)), None)


def undoubled(message: str) -> str:
    """Return a message with each backslash once, as it was written: `repr`, which quotes words, doubles them."""
    return message.replace("\\\\", "\\")


def shorten(text: str) -> str:
    """Return a text as messages repeat it: the start of a long one."""
    return text if len(text) <= 60 else text[:57] + "…"
