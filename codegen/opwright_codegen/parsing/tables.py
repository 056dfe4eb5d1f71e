"""The tables of parsers, as Lark makes them. `python -m opwright_codegen.parsing.tables` writes them to the grammars.

Tables are plain data. `states`: for each state what a terminal or a rule leads to, a state n or, as ~n, the end of rule
n. `rules`: what each stands for, its size, the method of the builder (None: its children are its parent's), which
children it takes (position, whether it is inlined; None: all as they are), whether an only child stands for itself.
`terminals`: regular expressions in the order in which they are tried; `words`: texts of one that are another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from lark import Lark
from lark.grammar import Rule, Terminal
from lark.lexer import PatternStr, TerminalDef
from lark.parsers.lalr_analysis import Shift

import opwright_codegen
from opwright_codegen.parsing.grammars import FORMULA, SCHEMA, Grammar, digest

__all__ = ["lark_of", "main", "tables_of", "written"]


def lark_of(grammar: Grammar, **options: Any) -> Lark:
    """Return Lark's own parser of a grammar, which makes trees and knows where it failed."""
    return Lark(
        grammar.text,
        parser="lalr",
        lexer="basic" if grammar.is_basic else "contextual",
        start=list(grammar.starts),
        keep_all_tokens=grammar.keeps_all,
        maybe_placeholders=False,
        **options,
    )


def tables_of(grammar: Grammar) -> dict[str, Any]:
    """Return the tables of a grammar, the same on every machine: Lark numbers states as its sets happen to be."""
    lark = lark_of(grammar)
    table = lark.parser.parser._parse_table  # which Lark's own cache holds, too
    rules = sorted(lark.rules, key=lambda rule: (rule.origin.name, rule.order, str(rule)))
    numbers = {rule: number for number, rule in enumerate(rules)}
    order = _order(table.states, [table.start_states[start] for start in grammar.starts])
    places = {state: place for place, state in enumerate(order)}
    states = []
    for state in order:
        actions = sorted(table.states[state].items())
        states.append({str(k): places[arg] if action is Shift else ~numbers[arg] for k, (action, arg) in actions})
    return {
        "grammar": digest(grammar.text),
        "basic": grammar.is_basic,
        "starts": {name: [places[table.start_states[name]], places[table.end_states[name]]] for name in grammar.starts},
        **_terminals(lark.terminals, set(lark.ignore_tokens), grammar.is_basic),
        "rules": [_row(rule) for rule in rules],
        "states": states,
    }


def _order(states: Any, starts: list[int]) -> list[int]:
    """Return the states in the order in which they are reached."""
    order = list(starts)
    for state in order:  # which grows
        for _, (action, arg) in sorted(states[state].items()):
            if action is Shift and arg not in order:
                order.append(arg)
    return order


def _terminals(terminals: Collection[TerminalDef], ignored: set[str], is_basic: bool) -> dict[str, Any]:
    """Return terminals in Lark's order. Where a word is one token everywhere, words that another terminal matches are
    found as its texts."""
    found = sorted(terminals, key=lambda t: (-t.priority, -t.pattern.max_width, -len(t.pattern.value), t.name))
    words: dict[str, dict[str, str]] = {}
    if is_basic:
        strings = [each for each in found if isinstance(each.pattern, PatternStr)]
        for wide in (each for each in found if not isinstance(each.pattern, PatternStr)):
            matches = re.compile(wide.pattern.to_regexp()).fullmatch
            same = {
                t.pattern.value: t.name for t in strings if t.priority == wide.priority and matches(t.pattern.value)
            }
            if same:
                words[wide.name] = same
    hidden = {name for own in words.values() for name in own.values()} | ignored
    return {
        "terminals": {t.name: t.pattern.to_regexp() for t in found if t.name not in hidden},
        "words": words,
        "skip": "|".join(t.pattern.to_regexp() for t in found if t.name in ignored),
    }


def _row(rule: Rule) -> list[Any]:
    origin = rule.origin.name
    taken = [
        [place, not symbol.is_term and symbol.name.startswith("_")]
        for place, symbol in enumerate(rule.expansion)
        if rule.options.keep_all_tokens or not (isinstance(symbol, Terminal) and symbol.filter_out)
    ]
    is_whole = len(taken) == len(rule.expansion) and not any(is_inlined for _, is_inlined in taken)
    name = None if origin.startswith("_") else rule.alias or origin
    is_transparent = bool(rule.options.expand1 and not rule.alias)
    if is_transparent and len(taken) == 1 and not taken[0][1]:
        name = None  # the only child stands for itself: there is nothing to build
    return [origin, len(rule.expansion), name, None if is_whole else taken, is_transparent]


def written(grammar: Grammar) -> str:
    """Return the text of the tables' file: a line for each row."""
    lines = []
    for key, value in tables_of(grammar).items():
        rows = value if isinstance(value, list) else None
        shown = json.dumps(value) if rows is None else "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]"
        lines.append(f"{json.dumps(key)}: {shown}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main() -> None:
    """Write the tables of both grammars."""
    root = Path(opwright_codegen.__file__).parent
    for grammar in (SCHEMA, FORMULA):
        (root / grammar.name / f"{grammar.name}.json").write_text(written(grammar), encoding="utf-8")


if __name__ == "__main__":
    main()
