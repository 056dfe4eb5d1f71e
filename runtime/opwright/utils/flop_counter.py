"""Costs of calls, `cost(function, *arrays)`, and a counter for blocks: the names of `torch.utils.flop_counter`."""

from opwright.cost.counting import FlopCounterMode
from opwright.cost.formulas import register_flop_formula
from opwright.cost.model import Cost
from opwright.cost.parts import cost, gradient_cost

__all__ = ["Cost", "FlopCounterMode", "cost", "gradient_cost", "register_flop_formula"]
