"""The questions that are asked of operators: `PROPERTIES`, in their order."""

from typing import Final

from opwright.gate.properties.bounds import GuardedArguments, Positions, WholeResults
from opwright.gate.properties.edges import Edges, NegativeDims
from opwright.gate.properties.fakes import Fakes, SymbolicFakes
from opwright.gate.properties.gradients import Gradients
from opwright.gate.properties.graphs import Functionalised, Pickled
from opwright.gate.properties.honesty import Finished, NothingHidden, Own, Unpatched
from opwright.gate.properties.layouts import Layouts
from opwright.gate.properties.likeness import Likeness
from opwright.gate.properties.memory_use import Memory
from opwright.gate.properties.precision import Precision
from opwright.gate.properties.property import CaseProperty, Problem, Property
from opwright.gate.properties.reference_derivatives import ReferenceDerivatives
from opwright.gate.properties.schema import Aliases, DeclaredWrites, Defaults, Writes
from opwright.gate.properties.sharded import Sharded, missing_kinds, rule_for
from opwright.gate.properties.sizes import Sizes
from opwright.gate.properties.state import Deterministic, LeavesNothing, Stateless
from opwright.gate.properties.tangents import Derivatives
from opwright.gate.properties.threads import Threads
from opwright.gate.properties.transforms import Autocast, Batches, Traced
from opwright.gate.properties.values import Values, expected

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
