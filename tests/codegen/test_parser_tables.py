"""Tables of parsers: those that are kept are Lark's, and are read as Lark reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import seeds
from lark import Token as LarkToken
from lark import Tree
from lark.exceptions import LarkError

import opwright_codegen
from opwright_codegen.parsing import parser as parsing
from opwright_codegen.parsing.grammars import FORMULA, SCHEMA, Grammar
from opwright_codegen.parsing.parser import NoMatchError, Token, parser
from opwright_codegen.parsing.tables import lark_of, tables_of, written

pytestmark = pytest.mark.once  # it concerns neither mode

ROOT = Path(__file__).parents[2]
KEYS = re.compile(r"^ *(?:\w+|CPU|CUDA|CPU, CUDA): (.+)$", re.MULTILINE)


class Trees:
    """A builder that makes trees as Lark does."""

    def __getattr__(self, rule: str) -> Any:
        return lambda children: (rule, [_shown(child) for child in children])


def _shown(child: Any) -> Any:
    if isinstance(child, Token):
        return child.type, child.value, child.start, child.end
    if isinstance(child, LarkToken):
        return child.type, child.value, child.start_pos, child.end_pos
    return (child.data, [_shown(each) for each in child.children]) if isinstance(child, Tree) else child


def texts(grammar: Grammar) -> Iterator[str]:
    """Yield texts of the schema files, and the same with a character taken out, put in or doubled."""
    draw = seeds.generator(1)
    files = [path.read_text("utf-8") for path in sorted((ROOT / "schemas").glob("*.yaml"))]
    if grammar is SCHEMA:
        found = [each for file in files for each in re.findall(r"func: (.+)", file)]
    else:
        found = sorted({each for file in files for each in KEYS.findall(file)})
    for text in draw.sample(found, 300):
        yield text
        at = draw.randrange(len(text))
        yield (
            text[:at]
            + draw.choice(["", " ", "(", ")", ",", "=", "?", "!", "in", "!=", ".5", '"', text[at] * 2])
            + text[at + 1 :]
        )


@pytest.mark.parametrize("grammar", [SCHEMA, FORMULA], ids=lambda grammar: grammar.name)
def test_kept_tables_are_those_of_the_grammar(grammar: Grammar) -> None:
    kept = Path(opwright_codegen.__path__[0], grammar.name, f"{grammar.name}.json")
    assert kept.read_text("utf-8") == written(grammar), "run `python -m opwright_codegen.parsing.tables`"


@pytest.mark.parametrize("grammar", [SCHEMA, FORMULA], ids=lambda grammar: grammar.name)
def test_texts_are_read_as_lark_reads_them(grammar: Grammar) -> None:
    lark, ours = lark_of(grammar), parser(grammar, Trees())
    read = refused = 0
    for text in texts(grammar):
        try:
            wanted = _shown(lark.parse(text, start=grammar.starts[0]))
        except LarkError:
            refused += 1
            with pytest.raises(NoMatchError):
                ours.parse(text, grammar.starts[0])
        else:
            read += 1
            assert _shown(ours.parse(text, grammar.starts[0])) == wanted, text
    assert read > 200 and refused > 100, (read, refused)


def test_tables_of_another_text_are_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever changes a grammar sees the change at once, and a file that was left behind is not believed."""
    monkeypatch.setattr(parsing, "digest", lambda _: "another")
    made = parser(FORMULA, Trees())
    assert _shown(made.parse("a + 1", "start")) == _shown(lark_of(FORMULA).parse("a + 1"))
    assert tables_of(FORMULA)["grammar"] != "another"
