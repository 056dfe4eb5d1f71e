"""Formulas as pages show them: in blocks of LaTeX, as MathML, or as code where they have no notation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal

from opwright_codegen.errors import SchemaError, UsageError
from opwright_codegen.formula.ast import Formula
from opwright_codegen.formula.parser import parse
from opwright_codegen.reference.latex import latex, named, tangent
from opwright_codegen.source import Source, Text

__all__ = ["Notation", "formula_of", "shown_formula"]

Notation = Literal["latex", "mathml"]
_LONGEST: Final = 600  # characters of LaTeX that somebody reads
_LETTER: Final = re.compile(r'<mi(?: mathvariant="italic")?>([^<&]|&#x\w+;)</mi>')
_LETTERS: Final = re.compile(
    r'(?:<mi(?: mathvariant="italic")?>(?:[^<&]|&#x\w+;)</mi>){2,}'
)  # a name, letter by letter
# A bar as wide as what it is above: few fonts have a sign that browsers stretch. Nothing else is set above anything.
_BARS: Final = {
    "<mover>": '<mrow style="border-top: 0.06em solid; padding-top: 0.12em">',
    '<mo accent="true">&#x02015;</mo></mover>': "</mrow>",
}
_MODULES: Final = re.compile(r"\b\w+_(?:gradients|ops)\.|\bops\.")  # what generated code calls its modules


def shown_formula(
    of: Sequence[str], formula: Formula | None, text: str, notation: Notation, *, is_tangent: bool = False
) -> str:
    """Return a block of Markdown that says what gives the gradient or the tangent of `of`. Raises UsageError where
    MathML is to be written, and the library for it is not installed."""
    found = None if formula is None or len(of) != 1 else latex(formula)
    if found is None or len(found) > _LONGEST:
        return f"```python\n{', '.join(of)}: {_MODULES.sub('', ' '.join(text.split()))}\n```"
    left = tangent(of[0]) if is_tangent else rf"\nabla {named(of[0])}"
    whole = f"{left} = {found}"
    return f"```math\n{whole}\n```" if notation == "latex" else f"<div>{_mathml(whole)}</div>"


def formula_of(text: str) -> Formula | None:
    """Return the formula that a text of generated code is; None where it is none of our language."""
    source = Source("<generated>", text)
    try:
        return parse(Text(text, source.whole()))
    except SchemaError:
        return None


def _mathml(text: str) -> str:
    try:
        from latex2mathml.converter import convert
    except ImportError:
        raise UsageError("--math mathml needs latex2mathml, which is not installed: pip install latex2mathml") from None
    found: str = convert(text, display="block")
    for theirs, ours in _BARS.items():
        found = found.replace(theirs, ours)
    return _LETTERS.sub(lambda name: f"<mi>{''.join(_LETTER.findall(name[0]))}</mi>", found)
