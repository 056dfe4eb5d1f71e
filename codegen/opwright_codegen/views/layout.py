"""Text laid out as ruff lays out code: what is too long for a line has one item a line, each with a comma."""

from __future__ import annotations

from collections.abc import Sequence

from opwright_codegen.formula.ast import (
    Binary,
    Boolean,
    Call,
    Comparison,
    Conditional,
    Formula,
    List,
    Subscript,
    Tuple,
    Verbatim,
)
from opwright_codegen.formula.emit import Spelling, emit, string_text

__all__ = [
    "LINE",
    "bracketed",
    "chained",
    "condition",
    "docstring",
    "fill",
    "fill_comment",
    "fill_string",
    "filled",
    "formula_lines",
    "guarded",
    "hugged",
    "operation",
    "quoted",
    "returned",
    "statement",
    "string_row",
]

LINE = 120


def bracketed(head: str, items: Sequence[str], tail: str, indent: int = 0, after: int = 0) -> str:
    """Return `head item, item tail` on one line if it fits between `indent` and `after` columns, else an item a line.

    `head` ends with the opening bracket, `tail` begins with the closing one.
    """
    text = f"{head}{', '.join(items)}{tail}"
    if len(text) + indent + after <= LINE and "\n" not in text:
        return text
    pad = " " * indent
    inner = "".join(f"{pad}    {_item(item, indent + 4)},\n" for item in items)
    return f"{head}\n{inner}{pad}{tail}"


def hugged(head: str, items: Sequence[str], tail: str, indent: int = 0, after: int = 0) -> str:
    """Return `head item, item tail` on one line if it fits between `indent` and `after` columns.

    The items stand on the next line if they fit there, else each on a line of its own.
    """
    text = ", ".join(items)
    if after + indent + len(head) + len(text) + len(tail) <= LINE and "\n" not in text:
        return f"{head}{text}{tail}"
    return _broken(head, items, tail, indent)


def filled(head: str, items: Sequence[str], tail: str, indent: int = 0) -> str:
    """Return `head item, item tail` on one line if it fits behind `indent` columns, else with as many items on each
    line as fit."""
    first, last = [f"{item}," for item in items[:-1]], items[-1]
    is_short = indent + 4 + len(last) + len(tail) <= LINE  # else the tail has a line of its own
    lines, line, inner, room = [], head, "    " if head else "", LINE - indent
    for item in [*first, f"{last}{tail}" if is_short else last]:
        longer = f"{line} {item}" if line.endswith(",") else f"{line}{item}"
        if len(longer) <= room:
            line = longer
        else:
            lines.append(line)
            line = f"{inner}{item}"
    return f"\n{' ' * indent}".join([*lines, line] if is_short else [*lines, line, tail])


def _broken(head: str, items: Sequence[str], tail: str, indent: int) -> str:
    text = ", ".join(items)
    pad = " " * indent
    if indent + 4 + len(text) <= LINE and "\n" not in text:
        return f"{head}\n{pad}    {text}\n{pad}{tail}"
    inner = "".join(f"{pad}    {_item(item, indent + 4)},\n" for item in items)
    return f"{head}\n{inner}{pad}{tail}"


def _item(text: str, indent: int) -> str:
    """Return an item on a line of its own: a tuple that is too long for it has one item a line."""
    is_tuple = text.startswith("(") and len(text) + indent + 1 > LINE
    return bracketed("(", text[1:-1].split(", "), ")", indent, 1) if is_tuple else text


def chained(head: str, items: Sequence[str], more: Sequence[str], indent: int = 0) -> str:
    """Return `head item, item)(more, more)`, the second call broken over lines before the first."""
    first = f"{head}{', '.join(items)})("
    if len(first) + indent <= LINE:
        return hugged(first, more, ")", indent)
    first = _broken(head, items, ")(", indent)
    if indent + 3 + len(", ".join(more)) <= LINE:
        return f"{first}{', '.join(more)})"
    return _broken(first, more, ")", indent)


def returned(values: Sequence[str], indent: int = 4) -> str:
    """Return the statement that returns several results, an item a line where they are long."""
    text = f"return {', '.join(values)}"
    return text if len(text) + indent <= LINE else bracketed("return (", values, ")", indent)


def guarded(statements: Sequence[str], operator: str, key: str) -> list[str]:
    """Return the statements, laid out at column 8, in a `try` that has errors say which kernel raised them: that costs
    a call that works nothing."""
    handler = f"name_kernel(error, {quoted(operator)}, {quoted(key)})"
    return [
        "try:",
        *(f"    {line}" for line in statements),
        "except Exception as error:",
        f"    {handler}",
        "    raise",
    ]


def condition(tests: Sequence[str], word: str, indent: int) -> str:
    """Return `if test word test:` on one line if it fits after `indent` columns, else a test a line. The second of two
    keeps its parentheses on the line of the first."""
    text = f"if {f' {word} '.join(tests)}:"
    if len(text) + indent <= LINE:
        return text
    pad = " " * indent
    first, *rest = tests
    if len(rest) == 1 and rest[0].startswith("("):
        inner = rest[0][1:-1]
        if len(inner) + indent + 4 > LINE:
            inner = inner.replace(" or ", f"\n{pad}    or ")
        return f"if {first} {word} (\n{pad}    {inner}\n{pad}):"
    inner = "".join(f"{pad}    {word} {test}\n" for test in rest)
    return f"if (\n{pad}    {first}\n{inner}{pad}):"


def fill_comment(text: str) -> str:
    """Return the text as comment lines, broken at spaces; what would not show, or show elsewhere, is escaped."""
    if not text.isprintable():
        text = "".join([char if char.isprintable() else repr(char)[1:-1] for char in text])
    if len(text) <= LINE - 2:
        return f"# {text}"
    first, *rest = fill(text, LINE - 6)
    return "\n".join((f"# {first.rstrip()}", *(f"#     {line.rstrip()}" for line in rest)))


def fill_string(text: str, indent: int) -> str:
    """Return a string literal, in pieces below each other where it is too long for a line with a comma behind it."""
    literal = quoted(text)
    if len(literal) + indent + 1 <= LINE:
        return literal
    pieces = fill(text, LINE - indent - 4 - text.count("\\") - text.count('"'))
    return f"\n{' ' * indent}".join(quoted(piece) for piece in pieces)


def string_row(name: str, text: str) -> str:
    """Return the row of a table of texts by name, in several lines where it is long."""
    head, literal = f"    {quoted(name)}: ", quoted(text)
    if len(head) + len(literal) + 1 <= LINE:
        return f"{head}{literal},"
    return f"{head}(\n        {literal if len(literal) + 8 <= LINE else fill_string(text, 8)}\n    ),"


def docstring(text: str, indent: int) -> str:
    """Return the text as a docstring behind `indent` columns; '' where there is none. Long lines are broken."""
    if not text:
        return ""
    pad = " " * indent
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    room = LINE - indent - 3
    if "\n" not in escaped and room - 3 < len(escaped) <= room:  # the closing quotes are not alone behind one line
        room -= 3
    lines = [part.rstrip() for line in escaped.split("\n") for part in fill(line, room)]
    body = "\n".join(f"{pad}{line}" if line else "" for line in lines).lstrip()
    before, after = (" " if body.startswith('"') else ""), (" " if body.endswith('"') else "")
    is_short = len(lines) == 1 and indent + len(before) + len(body) + len(after) + 6 <= LINE
    return f'"""{before}{body}{after}"""' if is_short else f'"""{before}{body}\n{pad}"""'


def quoted(text: str) -> str:
    """Return the text as a literal, in double quotes unless others save backslashes."""
    if '"' not in text and "\\" not in text and text.isprintable():
        return f'"{text}"'
    return string_text(text)


def fill(text: str, width: int) -> list[str]:
    """Cut the text into pieces of at most `width`, broken after spaces; a word that is longer stays whole."""
    pieces = []
    while len(text) > width:
        at = text.rfind(" ", 0, width) + 1 or text.find(" ") + 1
        if not at:
            break
        pieces.append(text[:at])
        text = text[at:]
    return [*pieces, text]


def formula_lines(formula: Formula, spelling: Spelling, indent: int, before: str = "", after: str = "") -> str:
    """Return `before FORMULA after`, over several lines where one is too long. `before` begins at column `indent`."""
    text = emit(formula, spelling)
    if indent + len(before) + len(text) + len(after) <= LINE:
        return f"{before}{text}{after}"
    pad = " " * indent
    match formula:
        case Call(function, arguments, keywords) if arguments or keywords:
            inner = [formula_lines(item, spelling, indent + 4, "", ",") for item in arguments]
            inner += [formula_lines(item, spelling, indent + 4, f"{name}=", ",") for name, item in keywords]
            lines = [f"{before}{emit(function, spelling)}(", *(f"{pad}    {item}" for item in inner), f"{pad}){after}"]
        case Subscript(Call() as call):
            at = text[len(emit(call, spelling)) :]
            lines = [formula_lines(call, spelling, indent, before, f"{at}{after}")]
        case Tuple(items) | List(items) if items:
            opening, closing = "()" if isinstance(formula, Tuple) else "[]"
            inner = [formula_lines(item, spelling, indent + 4, "", ",") for item in items]
            lines = [f"{before}{opening}", *(f"{pad}    {item}" for item in inner), f"{pad}{closing}{after}"]
        case Binary() | Boolean() | Comparison() | Conditional():
            lines = [operation(text, operators_of(formula), indent, before, after)]
            if isinstance(formula, Binary) and any(len(line) > LINE - indent for line in lines[0].splitlines()):
                lines = _long_operation(formula, spelling, indent, before, after)
        case _:
            lines = [f"{before}{text}{after}"]
    return "\n".join(lines)


def statement(formula: Formula, spelling: Spelling, indent: int) -> str:
    """Return a formula as a statement by itself: an operation that is too long for a line stands in parentheses."""
    text = emit(formula, spelling)
    if isinstance(formula, Conditional) and indent + len(text) > LINE:
        return operation(text, operators_of(formula), indent, is_bare=True)
    return formula_lines(formula, spelling, indent)


def operation(
    text: str, operators: Sequence[str], indent: int, before: str = "", after: str = "", *, is_bare: bool = False
) -> str:
    """Lay out an operation that is too long for a line: in parentheses behind `before`, or where it `is_bare`, maybe an
    operator a line."""
    pad = " " * indent
    if indent + len(before) + len(text) + len(after) <= LINE:
        return f"{before}{text}{after}"
    if not before and not is_bare:  # it stands in a bracket already
        parts = _at_operators(text, operators)
        return f"\n{pad}".join(parts) + after
    parts = [text] if indent + 4 + len(text) <= LINE else _at_operators(text, operators)
    inner = f"\n{pad}    ".join(parts)
    return f"{before}(\n{pad}    {inner}\n{pad}){after}"


def _long_operation(formula: Binary, spelling: Spelling, indent: int, before: str, after: str) -> list[str]:
    """Lay out an operation of which an operand is too long for a line: each operand by itself."""
    pad = " " * indent
    if before:
        inner = _long_operation(formula, spelling, indent + 4, "", "")
        return [f"{before}(", f"{pad}    {inner[0]}", *inner[1:], f"{pad}){after}"]
    lines = []
    operand: Formula = formula
    while isinstance(operand, Binary) and operand.operator in operators_of(formula):
        right = operand.right
        inner_text = emit(right, spelling)
        if not emit(operand, spelling).endswith(f" {operand.operator} {inner_text}"):  # it needs parentheses
            right = Verbatim(f"({inner_text})")
        lines.append(pad + formula_lines(right, spelling, indent, f"{operand.operator} "))
        operand = operand.left
    lines.append(formula_lines(operand, spelling, indent))
    return [*reversed(lines[1:]), lines[0] + after]


_LEVELS = (("|",), ("^",), ("&",), ("<<", ">>"), ("+", "-"), ("*", "/", "//", "%", "@"))


def operators_of(formula: Binary | Boolean | Comparison | Conditional) -> tuple[str, ...]:
    """Return the operators that hold the operands together, at the loosest level."""
    match formula:
        case Conditional():
            return ("if", "else")
        case Boolean(operator):
            return (operator,)
        case Comparison(_, rest):
            return tuple(operator for operator, _ in rest)
        case Binary(operator):
            return next((level for level in _LEVELS if operator in level), (operator,))


def _at_operators(text: str, operators: Sequence[str]) -> list[str]:
    """Cut the text into pieces, each but the first beginning with an operator outside of brackets and literals."""
    words = tuple(f" {operator} " for operator in operators)
    pieces = []
    start = depth = 0
    quote = ""
    for at, char in enumerate(text):
        if quote:
            if char == quote and text[at - 1] != "\\":
                quote = ""
        elif char in "\"'":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif not depth and char == " " and text.startswith(words, at):
            pieces.append(text[start:at])
            start = at + 1
    return [*pieces, text[start:]]
