"""The wording of docstrings: functions start with a verb, modules and classes with a noun."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = [
    "runtime/opwright",
    "runtime/opwright_core",
    "runtime/opwright_gate",
    "runtime/opwright_kernels",
    "runtime/opwright_pytest",
    "codegen/opwright_codegen",
]

# The verbs, in the imperative, that a function's docstring may start with. Add yours, in order.
VERBS = [
    "Accept",
    "Adapt",
    "Add",
    "Apply",
    "Ask",
    "Assert",
    "Begin",
    "Bisect",
    "Bring",
    "Call",
    "Cast",
    "Change",
    "Check",
    "Claim",
    "Compare",
    "Complete",
    "Compute",
    "Conjugate",
    "Continue",
    "Convolve",
    "Count",
    "Cut",
    "Decorate",
    "Define",
    "Describe",
    "Dispatch",
    "Divide",
    "Do",
    "Draw",
    "Drop",
    "Enter",
    "Exclude",
    "Expand",
    "Factor",
    "Fail",
    "Find",
    "Fold",
    "Forget",
    "Free",
    "Give",
    "Go",
    "Group",
    "Hand",
    "Handle",
    "Have",
    "Hold",
    "Ignore",
    "Import",
    "Include",
    "Index",
    "Interpolate",
    "Join",
    "Keep",
    "Kill",
    "Lay",
    "Leave",
    "Let",
    "Load",
    "Look",
    "Make",
    "Mark",
    "Move",
    "Multiply",
    "Normalise",
    "Note",
    "Open",
    "Order",
    "Pad",
    "Parse",
    "Plan",
    "Print",
    "Put",
    "Raise",
    "Read",
    "Record",
    "Reduce",
    "Refuse",
    "Regenerate",
    "Register",
    "Remember",
    "Remove",
    "Render",
    "Repeat",
    "Replace",
    "Reshape",
    "Resolve",
    "Return",
    "Reverse",
    "Roll",
    "Run",
    "Save",
    "Say",
    "Scale",
    "Seed",
    "Set",
    "Show",
    "Simplify",
    "Skip",
    "Sort",
    "Split",
    "Start",
    "Store",
    "Subtract",
    "Swap",
    "Switch",
    "Take",
    "Tell",
    "Test",
    "Transpose",
    "Turn",
    "Use",
    "Wait",
    "Warn",
    "Wrap",
    "Write",
    "Yield",
    "You",
    "Zero",
]
# What no noun phrase starts with. Verbs in the third person stand in a list, since "Calls" and "Copies" are nouns too.
PRONOUNS = {
    "He", "It", "Its", "She", "That", "These", "They", "This", "Those", "We", "What", "Which", "Who", "Whose",
    "You",
}  # fmt: skip
PREPOSITIONS = {
    "About", "After", "Along", "Among", "As", "At", "Before", "Behind", "Below", "Beside", "Between", "By",
    "During", "For", "From", "In", "Inside", "Into", "Of", "On", "Over", "Since", "Through", "To", "Under",
    "Until", "Upon", "With", "Within", "Without",
}  # fmt: skip
CLAUSES = {
    "Although", "Because", "How", "If", "Once", "So", "When", "Where", "Whether", "While", "Why",
}  # fmt: skip
THIRD_PERSON = {
    "Adds", "Asks", "Binds", "Builds", "Collects", "Computes", "Does", "Draws", "Fills", "Finds",
    "Gives", "Has", "Holds", "Imports", "Includes", "Is", "Keeps", "Knows", "Lists", "Maps", "Matches",
    "Parses", "Proves", "Puts", "Reads", "Renders", "Resolves", "Returns", "Runs", "Says", "Serves", "Shares",
    "Shows", "Stands", "Starts", "Stores", "Takes", "Tells", "Turns", "Wraps", "Writes", "Yields",
}  # fmt: skip
# What makes sense only beside another docstring, at the start or as what is returned.
NEIGHBOUR = re.compile(
    r"(?:(?:Return|Yield|Compute|Plan) )?"
    r"(?:the same(?:[,.:;]|$| (?:again|but|for|in|of|on|thing|to|where|with)\b)"
    r"|(?:that|those) (?:for|from|in|of|where|with)\b|of\b|also\b"
    r"|as above|ditto|likewise|similarly|see above|see below|rolled back)",
    re.IGNORECASE,
)


class Docstring(NamedTuple):
    """A docstring of the project, and what it belongs to: a module, a class or a function."""

    place: str
    owner: type[ast.AST]
    text: str


def docstrings() -> Iterator[Docstring]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            yield from docstrings_in(name, path.read_text(encoding="utf-8"))


def docstrings_in(name: str, source: str) -> Iterator[Docstring]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text is not None:
                yield Docstring(f"{name}:{node.body[0].lineno}", type(node), text)


def problem(docstring: Docstring) -> str | None:
    """Return what is wrong with a docstring, or None."""
    words = docstring.text.split()
    if not words:
        return "is empty"
    if NEIGHBOUR.match(" ".join(words)):
        return "makes sense only beside its neighbour"
    first = words[0].rstrip(".,:;")
    is_function = issubclass(docstring.owner, ast.FunctionDef | ast.AsyncFunctionDef)
    if is_function and first != "Whether" and first not in VERBS:
        return "starts with no verb that VERBS has, nor with 'Whether'"
    if is_function and re.match(r"(?!Say|Tell|Warn)\w+ of\b|Note \[", docstring.text):
        return "starts with a noun that only looks like a verb"
    if not is_function and first in {*VERBS, *PRONOUNS, *PREPOSITIONS, *CLAUSES, *THIRD_PERSON}:
        return "starts with no noun phrase"
    return None


def test_docstrings_follow_the_rule() -> None:
    found = [(each, problem(each)) for each in docstrings()]
    assert len(found) > 2000
    wrong = [f"{each.place}: {' '.join(each.text.split()[:6])}… {why}" for each, why in found if why is not None]
    assert not wrong, f"{len(wrong)} docstrings break the rule:\n" + "\n".join(wrong)


def test_verbs_are_sorted() -> None:
    assert sorted(set(VERBS)) == VERBS
    assert all(re.fullmatch(r"[A-Z][a-z]+", verb) for verb in VERBS)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f():\n    'Return the bytes of an element.'", None),
        ("def f():\n    'Whether it is.'", None),
        ("def f():\n    'The bytes of an element.'", "no verb"),
        ("def f():\n    'Returns the bytes.'", "no verb"),
        ("def f():\n    ''", "empty"),
        ("def f():\n    'Rolled back.'", "neighbour"),
        ("def f():\n    'The same, for slices.'", "neighbour"),
        ("def f():\n    'Return the same, for slices.'", "neighbour"),
        ("def f():\n    'Return the same tensor, without history.'", None),
        ("def f():\n    'Return that of a tensor.'", "neighbour"),
        ("async def f():\n    'Count of things.'", "looks like a verb"),
        ("class C:\n    @property\n    def p(self):\n        'The size.'", "no verb"),
        ("def f():\n    def g():\n        'Of a tensor.'", "neighbour"),
        ("class C:\n    'A size.'", None),
        ("class C:\n    'Return a size.'", "no noun"),
        ("class C:\n    'Holds a size.'", "no noun"),
        ("class C:\n    'Where a size is.'", "no noun"),
        ("'Sizes of tensors.'", None),
        ("'What sizes are.'", "no noun"),
        ("'With sizes.'", "no noun"),
    ],
)
def test_the_rule_itself(source: str, expected: str | None) -> None:
    (found,) = docstrings_in("a.py", source)
    why = problem(found)
    assert why is None if expected is None else why is not None and expected in why
