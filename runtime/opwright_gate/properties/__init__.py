"""The questions that are asked of operators: `PROPERTIES`, in their order."""

from typing import Final

from opwright_gate.properties.bounds import GuardedArguments, Positions, WholeResults
from opwright_gate.properties.edges import Edges, NegativeDims
from opwright_gate.properties.fakes import Fakes, SymbolicFakes
from opwright_gate.properties.gradients import Gradients
from opwright_gate.properties.graphs import Functionalised, Pickled
from opwright_gate.properties.honesty import Finished, NothingHidden, Own, Unpatched
from opwright_gate.properties.layouts import Layouts
from opwright_gate.properties.likeness import Likeness
from opwright_gate.properties.memory_use import Memory
from opwright_gate.properties.precision import Precision
from opwright_gate.properties.property import CaseProperty, Problem, Property
from opwright_gate.properties.reference_derivatives import ReferenceDerivatives
from opwright_gate.properties.schema import Aliases, DeclaredWrites, Defaults, Writes
from opwright_gate.properties.sharded import Sharded, missing_kinds, rule_for
from opwright_gate.properties.sizes import Sizes
from opwright_gate.properties.state import Deterministic, LeavesNothing, Stateless
from opwright_gate.properties.tangents import Derivatives
from opwright_gate.properties.threads import Threads
from opwright_gate.properties.transforms import Autocast, Batches, Traced
from opwright_gate.properties.values import Values, expected

__all__ = [
    "PROPERTIES",
    "CaseProperty",
    "GuardedArguments",
    "Problem",
    "Property",
    "Sharded",
    "expected",
    "missing_kinds",
    "rule_for",
]

PROPERTIES: Final[tuple[Property, ...]] = (
    Stateless(),  # first: it asks what the first call gave
    Writes(),
    DeclaredWrites(),
    Aliases(),
    Defaults(),
    Likeness(),
    Edges(),
    NegativeDims(),
    Fakes(),
    SymbolicFakes(),
    Layouts(),
    GuardedArguments(),
    Positions(),
    WholeResults(),
    Sizes(),
    Sharded(),
    Values(),
    Precision(),
    Deterministic(),
    Threads(),
    LeavesNothing(),
    Finished(),
    Own(),
    NothingHidden(),
    Unpatched(),
    Gradients(),
    Derivatives(),
    ReferenceDerivatives(),
    Batches(),
    Autocast(),
    Traced(),
    Functionalised(),
    Pickled(),
    Memory(),
)
