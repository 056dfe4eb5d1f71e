"""The operators that `schemas/` declares, with the variants made of them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from opwright_codegen.commands.config import find_config
from opwright_codegen.read.files import read
from opwright_codegen.read.model import Operator
from opwright_codegen.schema.model import SchemaKind

ROOT = Path(__file__).parents[2]


@cache
def operators() -> dict[str, Operator]:
    """By the name without the namespace."""
    config = find_config(ROOT)
    found = read(list(config.schemas), tags=config.tags)
    return {name.removeprefix("aten::"): operator for name, operator in found.operators.items()}


@cache
def functional_of(name: str) -> str:
    """The operator whose samples serve this one: the functional one of its group; its own name without one."""
    signature = operators()[name].schema.signature()
    for other, operator in operators().items():
        if operator.schema.kind is SchemaKind.FUNCTIONAL and operator.schema.signature() == signature:
            return other
    base, _, overload = name.partition(".")
    return f"{base.removesuffix('_')}{'.' + overload if overload else ''}"


def of_kind(*kinds: SchemaKind) -> list[str]:
    """The names of operators of these kinds, in the order of their declarations."""
    return [name for name, operator in operators().items() if operator.schema.kind in kinds]
