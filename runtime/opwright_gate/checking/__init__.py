"""Contracts of operators, checked: `opcheck` with given arguments, `opcheck_all` with drawn ones; what the gate takes
of these."""

from opwright_gate.checking.calls import Call, Operand, drawing_again, results_of
from opwright_gate.checking.comparison import difference
from opwright_gate.checking.declared import Declared
from opwright_gate.checking.drawn import Failure, draw_samples, opcheck_all
from opwright_gate.checking.dynamic import check_dynamic
from opwright_gate.checking.fakes import may_refuse
from opwright_gate.checking.kernel_answers import shared_answers
from opwright_gate.checking.observing import Contents
from opwright_gate.checking.registration import differentiable
from opwright_gate.checking.running import opcheck, operator_of, tests_of
from opwright_gate.checking.schema_mode import SchemaCheckMode
from opwright_gate.checking.vmap import check_vmap

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
