"""The parser that runs Lark's tables: one regular expression for a state's tokens, a builder's methods for rules.

Note [Tables of parsers]
Lark takes a fifth of a second to make the tables of our two grammars, and a command of two operators half of that in
all. So the tables are kept, as JSON beside each grammar; they say of which text they are, and of another one they are
made again. Nothing in them runs: a rule names a method of the builder, which has to have it. Errors say nothing here:
who meets one parses the text again with Lark, whose errors know what was expected.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Any, Final

from opwright_codegen.parsing.grammars import Grammar, digest

__all__ = ["NoMatchError", "Parser", "Token", "parser"]

_Match = Callable[[str, int], "re.Match[str] | None"]
_END: Final = "$END"


class NoMatchError(ValueError):
    """An error: the text is none of the grammar's language."""


class Token:
    """A piece of text that the grammar has a name for, `type`."""

    __slots__ = ("end", "start", "type", "value")

    def __init__(self, type: str, value: str, start: int, end: int) -> None:
        self.type = type
        self.value = value
        self.start = start
        self.end = end


def parser(grammar: Grammar, builder: object) -> Parser:
    """Return the parser of a grammar. Its tables are made anew where those that are kept are of another text."""
    text = grammar.text
    kept = files(grammar.package).joinpath(f"{grammar.name}.json")
    tables = json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {}
    if tables.get("grammar") != digest(text):
        from opwright_codegen.parsing.tables import tables_of

        tables = tables_of(grammar)
    return Parser(tables, builder)


class Parser:
    """A parser by tables: see `tables.tables_of` for what they hold."""

    def __init__(self, tables: dict[str, Any], builder: object) -> None:
        self._states: list[dict[str, int]] = tables["states"]
        self._starts: dict[str, list[int]] = tables["starts"]
        self._words: dict[str, dict[str, str]] = tables["words"]
        self._patterns: dict[str, str] = tables["terminals"]
        self._skip: str = tables["skip"]
        self._is_basic = bool(tables["basic"])
        self._by_state: list[_Match | None] = [None] * len(self._states)
        self._by_accepted: dict[frozenset[str], _Match] = {}
        self._rules = [_rule(each, builder) for each in tables["rules"]]

    def parse(self, text: str, start: str) -> Any:
        """Return what the builder makes of a text. Raises NoMatchError, and what the builder raises."""
        states, rules, words, by_state = self._states, self._rules, self._words, self._by_state
        first, last = self._starts[start]
        stack, values = [first], list[Any]()
        position = 0
        while True:
            state = stack[-1]
            match = (by_state[state] or self._matcher(state))(text, position)
            if match is None:
                if re.compile(f"(?:{self._skip})*+").fullmatch(text, position) is None:
                    raise NoMatchError(position)
                kind, token = _END, None
            else:
                kind = match.lastgroup or ""
                value = match[kind]
                if kind in words:
                    kind = words[kind].get(value, kind)
                before, position = position, match.end()
                token = Token(kind, value, position - len(value), position)
            while (action := states[stack[-1]].get(kind)) is not None and action < 0:
                origin, size, build = rules[~action]
                at = len(stack) - size
                children = values[at - 1 :]
                del stack[at:], values[at - 1 :]
                stack.append(states[stack[-1]][origin])
                values.append(build(children))
                if token is None and stack[-1] == last:
                    return values[-1]
            if action is None:
                raise NoMatchError(position if token is None else before)
            stack.append(action)
            values.append(token)

    def _matcher(self, state: int) -> _Match:
        accepted = frozenset(self._patterns if self._is_basic else self._states[state])
        match = self._by_accepted.get(accepted)
        if match is None:
            one = "|".join(f"(?P<{name}>{text})" for name, text in self._patterns.items() if name in accepted)
            match = self._by_accepted[accepted] = re.compile(f"(?:{self._skip})*+(?:{one or '(?!)'})").match
        self._by_state[state] = match
        return match


_Build = Callable[[list[Any]], Any]


def _rule(row: Sequence[Any], builder: object) -> tuple[str, int, _Build]:
    """Return what a rule stands for, how many values it takes, and what makes one of them."""
    origin, size, name, taken, is_transparent = row
    build: _Build = list if name is None else getattr(builder, name)
    if taken is not None or is_transparent:
        places = [(place, False) for place in range(size)] if taken is None else taken
        build = _choosing(build, places, is_transparent)
    return origin, size, build


def _choosing(build: _Build, taken: Sequence[Sequence[Any]], is_transparent: bool) -> _Build:
    """Return what makes a value of some children, and of the children of those that stand for several; or gives the
    only one on, where the rule `is_transparent`."""

    def choose(children: list[Any]) -> Any:
        chosen: list[Any] = []
        for place, is_inlined in taken:
            if is_inlined:
                chosen += children[place]
            else:
                chosen.append(children[place])
        return chosen[0] if is_transparent and len(chosen) == 1 else build(chosen)

    return choose
