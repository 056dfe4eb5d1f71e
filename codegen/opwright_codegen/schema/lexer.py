"""A lexer for Lark that is quick because it keeps only what the model of a schema needs: a token's kind and text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from lark.common import LexerConf
from lark.exceptions import UnexpectedCharacters
from lark.lexer import Lexer, LexerState, Token

__all__ = ["QuickLexer"]

_new_text = str.__new__
_Match = Callable[[str, int], "re.Match[str] | None"]


class _QuickToken(Token):
    """A token without positions; these attributes shadow Token's slots, which are then never filled."""

    start_pos = line = column = end_line = end_column = end_pos = None


class QuickLexer(Lexer):
    """A lexer that matches only the terminals that a state of the parser accepts: one regular expression a state.

    Terminals come from the grammar, in Lark's own order. Errors carry no useful position: who meets one parses the
    text again with Lark's own lexer.
    """

    __future_interface__ = 2  # the interface that hands the parser's state to `lex`

    def __init__(self, conf: LexerConf) -> None:
        terminals = sorted(
            conf.terminals, key=lambda t: (-t.priority, -t.pattern.max_width, -len(t.pattern.value), t.name)
        )
        ignored = frozenset(conf.ignore)
        self._patterns = {t.name: t.pattern.to_regexp() for t in terminals if t.name not in ignored}
        self._skip = "|".join(t.pattern.to_regexp() for t in terminals if t.name in ignored)
        self._by_state: dict[int, _Match] = {}
        self._by_accepted: dict[frozenset[str], _Match] = {}
        self._kinds: dict[str, str] = {}

    def _matcher(self, state: int, parser_state: Any) -> _Match:
        actions = parser_state.parse_conf.states[state]
        accepted = frozenset(actions)
        # The parse table's keys compare slowly unless a lookup brings the same object.
        self._kinds.update((str(name), name) for name in actions)
        match = self._by_accepted.get(accepted)
        if match is None:
            one = "|".join(f"(?P<{name}>{text})" for name, text in self._patterns.items() if name in accepted)
            match = self._by_accepted[accepted] = re.compile(f"(?:{self._skip})*+(?:{one or '(?!)'})").match
        self._by_state[state] = match
        return match

    def lex(self, lexer_state: LexerState, parser_state: Any) -> Iterator[Token]:
        by_state, kinds, stack = self._by_state, self._kinds, parser_state.state_stack
        text: str = lexer_state.text.text
        position, end = 0, len(text)
        while position < end:
            match = (by_state.get(stack[-1]) or self._matcher(stack[-1], parser_state))(text, position)
            if match is None:
                if text[position:].strip(" \t\r\n"):
                    raise UnexpectedCharacters(text, position, 1, position + 1)  # type: ignore[no-untyped-call]
                return
            kind = match.lastgroup
            value = match[kind]  # type: ignore[index] # every alternative is a named group
            token = _new_text(_QuickToken, value)
            token.type = kinds[kind]  # type: ignore[index]
            token.value = value
            position = match.end()
            yield token
