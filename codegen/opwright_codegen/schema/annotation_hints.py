"""Hints for schemas that are written with Python's annotations: `x: Tensor`, `Optional[int] n`, `Tuple[int, int]`."""

from __future__ import annotations

import ast
import re
from typing import Final

__all__ = ["annotation_hint", "schema_type"]

_TYPES: Final = {
    **dict.fromkeys(("Tensor", "tensor", "ndarray", "Array", "ArrayLike", "NDArray", "array"), "Tensor"),
    **dict.fromkeys(("int", "int64", "int32"), "int"),
    **dict.fromkeys(("float", "float32", "float64", "double"), "float"),
    **{name: name for name in ("bool", "str", "complex", "Scalar", "SymInt", "Generator", "ScalarType", "Device")},
    "dtype": "ScalarType",
    "device": "Device",
    "Number": "Scalar",
}
_LISTS: Final = ("list", "List", "Sequence", "Iterable", "Collection")
_NAMED = re.compile(r"(?<![\w:.])(\*{0,2}\w+)\s*:(?!:)\s*")  # `x: `, the begin of an annotation
_BRACKETS = re.compile(r"(?<![\w.])[A-Za-z_][\w.]*\[\s*(?=[^\W\d]|[\"'(\[])")
_UNION = re.compile(r"(?<![\w.])[\w.]+(?:\[\])?(?:\s*\|\s*[\w.]+)+")
_QUOTES = re.compile("[\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u00ab\u00bb]")
_DEPTH: Final = 8


def annotation_hint(text: str) -> str | None:
    """Return what to write instead of the first annotation of Python in a schema; None if there is none."""
    if _QUOTES.search(text):
        return "write straight quotes, \" or ', in place of the typographic ones"
    inside = text.find("(") + 1
    if named := _NAMED.search(text, inside):
        annotation, end = _annotation(text, named.end())
        before = text[inside : named.start()].rstrip()
        if before and before[-1] not in ",*(":  # a type, which stands there already
            return f"a type comes before its name, once: leave ': {annotation}' out"
        type_ = schema_type(annotation)
        name = named[1].lstrip("*")
        default = re.match(r"\s*=\s*([^,)]+)", text[end:])
        written = f"{type_ or 'TYPE'} {name}{'=' + default[1].strip() if default else ''}"
        return f"a type comes before its name: {written}"
    for found in (_BRACKETS.search(text), _UNION.search(text)):
        if found is not None:
            annotation, _ = _annotation(text, found.start())
            annotation = annotation if found.re is _BRACKETS else found[0]
            type_ = schema_type(annotation)
            if type_ is not None:
                return f"{annotation} is written {type_}"
    if found := re.search(r"(?<=[(,])\s*(/)\s*(?=[,)])", text):
        return "leave '/' out: every argument may be given by name"
    if found := re.search(r"(?<=[(, ])\*{1,2}([A-Za-z_]\w*)", text):
        return f"an operator takes no *{found[1]}: write one list, for example Tensor[] {found[1]}"
    if found := re.search(r"(?<=[\w\]] )(\w+)\?(?=\s*[,)=])", text):
        return f"the ? belongs to the type: TYPE? {found[1]}"
    return None


def _annotation(text: str, start: int) -> tuple[str, int]:
    """Return the annotation at a position, and its end: a comma, `=`, `)` or a name follows."""
    depth, at = 0, start
    while at < len(text):
        sign = text[at]
        depth += (sign in "[(") - (sign in "])")
        if depth < 0 or (not depth and (sign in ",=" or text.startswith("->", at))):
            break
        at += 1
        if not depth and sign == "]" and re.match(r"\s+\w", text[at:]):
            break
    return text[start:at].strip(), at


def schema_type(annotation: str) -> str | None:
    """Return the schema type of a Python annotation, `Tensor?` for `Optional[Tensor]`."""
    try:
        return _type(ast.parse(annotation.strip(), mode="eval").body, 0)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _type(node: ast.expr, depth: int) -> str | None:
    if depth > _DEPTH:
        return None
    match node:
        case ast.Constant(value=str(text)):
            return schema_type(text)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return _TYPES.get(name)
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return _union([left, right], depth)
        case ast.Subscript(value=ast.Name(id=head) | ast.Attribute(attr=head), slice=inner):
            items = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            return _generic(head, items, depth)
    return None


def _generic(head: str, items: list[ast.expr], depth: int) -> str | None:
    if head in ("Optional", "Union"):
        return _union([*items, *([ast.Constant(None)] if head == "Optional" else [])], depth)
    if head in ("NDArray", "ndarray"):
        return "Tensor"
    if head == "Literal":
        kinds = {type(item.value).__name__ if isinstance(item, ast.Constant) else "" for item in items}
        return kinds.pop() if len(kinds) == 1 and kinds <= {"str", "int", "float", "bool"} else None
    if head in ("tuple", "Tuple") and len(items) == 2 and _is(items[1], ...):
        items, head = items[:1], "list"
    found = [_type(item, depth + 1) for item in items]
    texts = [each for each in found if each is not None]
    if len(texts) < len(found):
        return None
    if head in _LISTS and len(texts) == 1:
        return f"{texts[0]}[]"
    if head in ("tuple", "Tuple"):
        return f"({', '.join(texts)})"
    return f"Dict({', '.join(texts)})" if head in ("dict", "Dict", "Mapping") and len(texts) == 2 else None


def _union(items: list[ast.expr], depth: int) -> str | None:
    rest = [item for item in items if not _is(item, None)]
    found = [_type(item, depth + 1) for item in rest]
    if None in found or not found:
        return None
    texts = list(dict.fromkeys(each for each in found if each is not None))
    numbers = {"int", "float", "bool", "complex"}
    single = texts[0] if len(texts) == 1 else "Scalar" if numbers.issuperset(texts) else f"Union({', '.join(texts)})"
    return f"{single}?" if len(rest) < len(items) and not single.endswith("?") else single


def _is(node: ast.expr, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value
