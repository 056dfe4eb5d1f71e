"""The rules that torchgen has for ATen's own operators. Elsewhere they are advice: PyTorch registers what breaks them,
and so do we."""

from __future__ import annotations

from typing import Final

from opwright_codegen.errors import Errors, SchemaError
from opwright_codegen.read.model import Operator
from opwright_codegen.schema.names import PYTORCHS

__all__ = ["OF_ATEN", "report"]

OF_ATEN: Final = frozenset(
    (
        # names
        *("reserved-suffix", "reserved-overload"),
        # what is written, and what is returned of that
        *("inplace-self", "inplace-returns", "inplace-out", "out-returns", "argument-after-out"),
        *("mutable-returned", "mixed-returns", "unknown-alias"),
        # tags and kernels
        *("missing-seeded-tag", "inplace-view-name", "missing-inplace-view-tag", "implicit-factory"),
        # variants of an operator
        *("duplicate-kind", "no-functional", "functional-name"),
    )
)


def report(operator: Operator, error: SchemaError, errors: Errors) -> None:
    """Record a rule that an operator breaks: as an error, or as advice."""
    is_default = error.code == "reserved-overload" and operator.schema.name.overload == "default"  # nobody may
    if operator.namespace != PYTORCHS and error.code in OF_ATEN and not is_default:
        errors.advise(error)
    else:
        errors.add(error)
