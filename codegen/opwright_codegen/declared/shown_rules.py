"""The dimension rule and the cost of an operator in words, as `show` prints them."""

from __future__ import annotations

from typing import Final

from opwright_codegen.declared.model import DeclaredSet
from opwright_codegen.kernel_choices.family_calls import At, Family, Value
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


def rule_shown(declared: DeclaredSet, operator: Operator) -> str:
    """Return the dimension rule that follows from the declaration. Return "" if there is none, or if the declaration
    says the rule itself."""
    is_ruled = operator.dims is not None and operator.dims.is_ruled
    family = None if is_ruled else _family(declared, operator)
    if family is None:
        return ""
    if family.name == "Product":
        operands, names, result = _product(family)
        kind = "sum" if len(family.arguments) < 4 else "whole"  # (something is added)
        summed = ", ".join(f"{name} {kind}" for name in names if name not in result)
        dims = f"{', '.join(map(' '.join, operands))} -> {' '.join(result) or '()'}"
        return f"{dims}; {summed}" if summed else dims
    words = _RULES.get(family.name, "")
    if way := _way(family):
        words = words.replace("is whole", f"is {way}").replace("are whole", f"are {way}")
    return _filled(words, family, operator)


def cost_shown(declared: DeclaredSet, operator: Operator) -> str:
    """Return the cost of a call: the declared or counted one, else that of the family; "" if none is known."""
    said = declared.costs.get(operator.name.partition("::")[2])
    if said is not None:
        return said.partition(": ")[2]
    if operator.is_composite:
        return "that of what it calls"
    family = _family(declared, operator)
    if family is None:
        return ""
    if family.name == "Product":
        return " * ".join(["2", *_product(family)[1]])
    if family.name == "Along":
        return _filled("numel({0})", family, operator) if _way(family) else ""
    return _filled(_COSTS.get(family.name, ""), family, operator)


def _family(declared: DeclaredSet, operator: Operator) -> Family | None:
    """Return the family by which dimensions are cut."""
    row: Value | None = declared.cuts.rows.get(operator.name)
    if isinstance(row, Family) and row.name == "Dimensions":
        row = dict(row.keywords).get("blocks", row.arguments[0] if row.arguments else None)
    return row if isinstance(row, Family) else None


def _product(family: Family) -> tuple[list[list[str]], list[str], list[str]]:
    """Return the names of the dimensions of both operands, of all of them, and of the result."""
    inputs, _, output = str(family.arguments[0]).partition("->")
    operands = [group.strip("()").split(",") for group in inputs.split("),(")]
    names = [name for name in dict.fromkeys(name for own in operands for name in own) if name != "..."]
    return operands, names, [name for name in output.strip("()").split(",") if name]


def _way(family: Family) -> str:
    """Return how the parts of a reduction are put together: a word, or `again`; "" if they are not."""
    way = dict(family.keywords).get("combines", "")
    return way if isinstance(way, str) else "again" if way else ""


def _filled(words: str, family: Family, operator: Operator) -> str:
    """Return words with the names of the arguments at positions."""
    names = [each.name for each in operator.schema.arguments]
    values = {key: _argument(each, names) for key, each in family.keywords}
    first = _argument(family.arguments[0], names) if family.arguments else ""
    return (
        words.replace("{0}", first)
        .replace("{dim}", values.get("dim", ""))
        .replace("{reduction}", values.get("reduction", ""))
    )


def _argument(value: Value, names: list[str]) -> str:
    match value:
        case int() if 0 <= value < len(names):
            return names[value]
        case tuple():
            return " and ".join(_argument(each, names) for each in value)
        case At():
            return names[value.place]
        case _:
            return str(value)
