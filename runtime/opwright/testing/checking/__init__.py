"""Contracts of operators, checked: `opcheck` with given arguments, `opcheck_all` with drawn ones; what the gate takes
of these."""

from opwright.testing.checking.calls import Call, Operand, drawing_again, results_of
from opwright.testing.checking.comparison import difference
from opwright.testing.checking.declared import Declared
from opwright.testing.checking.drawn import Failure, draw_samples, opcheck_all
from opwright.testing.checking.dynamic import check_dynamic
from opwright.testing.checking.fakes import may_refuse
from opwright.testing.checking.kernel_answers import shared_answers
from opwright.testing.checking.observing import Contents
from opwright.testing.checking.registration import differentiable
from opwright.testing.checking.running import opcheck, operator_of, tests_of
from opwright.testing.checking.schema_mode import SchemaCheckMode
from opwright.testing.checking.vmap import check_vmap

__all__ = [
    "Call",
    "Contents",
    "Declared",
    "Failure",
    "Operand",
    "SchemaCheckMode",
    "check_dynamic",
    "check_vmap",
    "difference",
    "differentiable",
    "draw_samples",
    "drawing_again",
    "may_refuse",
    "opcheck",
    "opcheck_all",
    "operator_of",
    "results_of",
    "shared_answers",
    "tests_of",
]
