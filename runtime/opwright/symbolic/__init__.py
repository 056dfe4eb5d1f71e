"""Symbolic sizes: a ShapeEnv makes symbols for the sizes of inputs, records the guards that branches on them need, and
tells what holds for all sizes.

The numbers themselves are in `numbers` and under `opwright`, and the questions to ask of sizes in
`opwright_core.arrays.sizes`. sympy is imported when the first ShapeEnv is made.
"""

from typing import TYPE_CHECKING

from opwright.errors import GuardOnDataDependentError
from opwright_core.arrays.sizes import (
    check,
    guard_or_false,
    guard_or_true,
    sym_float,
    sym_int,
    sym_ite,
    sym_max,
    sym_min,
)
from opwright_core.names.packages import names_of_parts

if TYPE_CHECKING:
    from opwright.symbolic.locations import Location
    from opwright.symbolic.numbers import SymBool, SymFloat, SymInt
    from opwright.symbolic.questions import check_is_size, statically_known_true, sym_not, sym_sqrt, sym_sum
    from opwright.symbolic.shape_env import DeferredAssertion, Guard, ShapeEnv

__all__ = [
    "DeferredAssertion",
    "Guard",
    "GuardOnDataDependentError",
    "Location",
    "ShapeEnv",
    "SymBool",
    "SymFloat",
    "SymInt",
    "check",
    "check_is_size",
    "guard_or_false",
    "guard_or_true",
    "statically_known_true",
    "sym_float",
    "sym_int",
    "sym_ite",
    "sym_max",
    "sym_min",
    "sym_not",
    "sym_sqrt",
    "sym_sum",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of_parts(__name__, __all__, "numbers", "questions", "locations", "shape_env")
