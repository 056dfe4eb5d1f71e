"""Contracts of operators, checked: `opcheck` with given arguments, `opcheck_all` with drawn ones."""

from opwright.testing.checking.drawn import Failure, draw_samples, opcheck_all
from opwright.testing.checking.running import opcheck, operator_of, tests_of
from opwright.testing.checking.schema_mode import SchemaCheckMode

__all__ = ["Failure", "SchemaCheckMode", "draw_samples", "opcheck", "opcheck_all", "operator_of", "tests_of"]
