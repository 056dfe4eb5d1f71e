"""`gradcheck` and `gradgradcheck`: derivatives compared with finite differences.

problem ──▶ numerical, analytical (reverse and forward): whole Jacobians ──▶ report: where they differ, and `causes`
        ──▶ fast: the same in random directions;  conduct: what else holds of a backward

All Jacobians have one form, `problem.Table`, so that whatever computed two of them, one comparison does.
"""

from opwright.autograd.checking.first_order import gradcheck
from opwright.autograd.checking.second_order import gradgradcheck

__all__ = ["gradcheck", "gradgradcheck"]
