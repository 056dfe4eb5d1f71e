"""Handlers in Python for every operator: dispatch modes and Tensor subclasses, at the key `Python`, below Autograd.

Loaded when the first mode is defined, the first subclass made, or a rule registered; who uses none pays nothing.
"""

from typing import TYPE_CHECKING

from opwright_core.names.packages import names_of_parts

if TYPE_CHECKING:
    from opwright.python_dispatch.aliasing import return_and_correct_aliasing
    from opwright.python_dispatch.modes import TorchDispatchMode, current_modes, disable_modes
    from opwright.python_dispatch.rules import register_rule

__all__ = ["TorchDispatchMode", "current_modes", "disable_modes", "register_rule", "return_and_correct_aliasing"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of_parts(__name__, __all__, "aliasing", "modes", "rules")
