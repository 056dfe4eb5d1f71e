"""The operators that `schemas/` declares, with the variants made of them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from opwright_codegen.commands.config import find_config
from opwright_codegen.commands.job import job_of
from opwright_codegen.declared.declare import declare
from opwright_codegen.declared.model import DeclaredSet
from opwright_codegen.read.model import Operator
from opwright_codegen.schema.model import FunctionSchema, SchemaKind

ROOT = Path(__file__).parents[2]


@cache
def aten() -> DeclaredSet:
    """The declared set of the folder `schemas/`, without its kernels."""
    (found,) = declare(job_of(find_config(ROOT)), binds=False).values()
    return found


@cache
def operators() -> dict[str, Operator]:
    """By the name without the namespace."""
    return {name.removeprefix("aten::"): operator for name, operator in aten().operators.operators.items()}


@cache
def functional_of(name: str) -> str:
    """The operator whose samples serve this one: the functional one of its group; its own name without one."""
    if (found := _functional_ones().get(operators()[name].schema.signature())) is not None:
        return found
    base, _, overload = name.partition(".")
    return f"{base.removesuffix('_')}{'.' + overload if overload else ''}"


@cache
def _functional_ones() -> dict[FunctionSchema, str]:
    """The first functional operator of each group, by the signature of the group."""
    found: dict[FunctionSchema, str] = {}
    for name in of_kind(SchemaKind.FUNCTIONAL):
        found.setdefault(operators()[name].schema.signature(), name)
    return found


def of_kind(*kinds: SchemaKind) -> list[str]:
    """The names of operators of these kinds, in the order of their declarations."""
    return [name for name, operator in operators().items() if operator.schema.kind in kinds]
