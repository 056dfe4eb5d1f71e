"""The dimension rule and the cost of an operator as `show` prints them: what follows from what is declared."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final

from opwright_codegen.read.model import Operator

__all__ = ["cost_shown", "rule_shown"]

# By family, what its rule is in words, and what a call costs; {0} is its first operand, {dim} what is named `dim`.
_RULES: Final = {
    "Elementwise": "every dimension is parallel; sizes of 1 broadcast",
    "Along": "{dim} of {0} is whole, all others are parallel",
    "Everything": "all dimensions of {0} are whole",
    "Leading": "dimensions before the last ones are parallel, the last ones whole",
    "Folded": "N is parallel, images are whole",
    "Reducing": "every dimension is parallel without {reduction}, summed by a sum, whole by a mean",
    "Windows": "{dim} of {0} are windows or whole, all others are parallel",
}
_COSTS: Final = {"Elementwise": "numel(result)", "Everything": "numel({0})", "Reducing": "2 * numel({0})"}


def rule_shown(texts: Mapping[str, str], operator: Operator) -> str:
    """Return the dimension rule that follows, given the files of the package; '' where nothing says one, or the
    declaration does itself."""
    family = None if operator.sharding is not None else _family(texts, operator)
    if family is None:
        return ""
    if _name(family) == "Product":
        operands, names, result = _product(family)
        kind = "sum" if len(family.args) < 4 else "whole"  # (something is added)
        summed = ", ".join(f"{name} {kind}" for name in names if name not in result)
        dims = f"{', '.join(map(' '.join, operands))} -> {' '.join(result) or '()'}"
        return f"{dims}; {summed}" if summed else dims
    words = _RULES.get(_name(family), "")
    if way := _way(family):
        words = words.replace("is whole", f"is {way}").replace("are whole", f"are {way}")
    return _filled(words, family, operator)


def cost_shown(texts: Mapping[str, str], operator: Operator) -> str:
    """Return what a call costs: as the table of the package says, or by the family; '' where neither says it."""
    said = _entry(texts.get("costs.py", ""), "COSTS", operator)
    if isinstance(said, ast.Constant):
        return str(said.value).partition(": ")[2]
    if operator.is_composite:
        return "that of what it calls"
    family = _family(texts, operator)
    if family is None:
        return ""
    if _name(family) == "Product":
        return " * ".join(["2", *_product(family)[1]])
    if _name(family) == "Along":
        return _filled("numel({0})", family, operator) if _way(family) else ""
    return _filled(_COSTS.get(_name(family), ""), family, operator)


def _entry(text: str, table: str, operator: Operator) -> ast.expr | None:
    """Return the value of an operator in a table of a generated module."""
    short = operator.name.partition("::")[2]
    for statement in ast.parse(text).body if f'"{short}":' in text else ():
        match statement:
            case (
                ast.AnnAssign(target=ast.Name(name), value=ast.Dict(keys, values))
                | ast.Assign(targets=[ast.Name(name)], value=ast.Dict(keys, values))
            ) if name == table:
                found = [each for key, each in zip(keys, values, strict=True) if ast.literal_eval(key or "") == short]
                return found[0] if found else None
    return None


def _name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _family(texts: Mapping[str, str], operator: Operator) -> ast.Call | None:
    """Return the call of the family by which dimensions are cut."""
    tables = (text for file, text in texts.items() if file.startswith("batching/"))
    row = next(filter(None, (_entry(text, "RULES", operator) for text in tables)), None)
    if isinstance(row, ast.Call) and _name(row) == "Dimensions":
        row = next((each.value for each in row.keywords if each.arg == "blocks"), row.args[0] if row.args else None)
    return row if isinstance(row, ast.Call) else None


def _product(family: ast.Call) -> tuple[list[list[str]], list[str], list[str]]:
    """Return the names of the dimensions of both operands, of all of them, and of the result."""
    signature = family.args[0]
    assert isinstance(signature, ast.Constant)
    inputs, _, output = str(signature.value).partition("->")
    operands = [group.strip("()").split(",") for group in inputs.split("),(")]
    names = [name for name in dict.fromkeys(name for own in operands for name in own) if name != "..."]
    return operands, names, [name for name in output.strip("()").split(",") if name]


def _way(family: ast.Call) -> str:
    """Return how parts of what is reduced are put together: a word, or `again`; '' where they are not."""
    for each in family.keywords:
        if each.arg == "combines" and isinstance(each.value, ast.Constant):
            way = each.value.value
            return way if isinstance(way, str) else "again" if way else ""
    return ""


def _filled(words: str, family: ast.Call, operator: Operator) -> str:
    """Return words with the names of the arguments at positions."""
    names = [each.name for each in operator.schema.arguments]
    values = {each.arg: _argument(each.value, names) for each in family.keywords}
    first = _argument(family.args[0], names) if family.args else ""
    return (
        words.replace("{0}", first)
        .replace("{dim}", values.get("dim", ""))
        .replace("{reduction}", values.get("reduction", ""))
    )


def _argument(value: ast.expr, names: list[str]) -> str:
    match value:
        case ast.Constant(int(place)) if 0 <= place < len(names):
            return names[place]
        case ast.Tuple(items):
            return " and ".join(_argument(each, names) for each in items)
        case ast.Call(_, [ast.Constant(int(place))]):
            return names[place]
    return ast.unparse(value)
