"""Functions that lower packages call in this one (late binding) (`opwright_core.late_bound.Handlers`)."""

from opwright.python_dispatch.default_device import block_of as block_of_device
from opwright.python_dispatch.handlers import call_handlers, data_is_read, lifted
from opwright.python_dispatch.overrides import ask_modes, preserved
from opwright.python_dispatch.subclasses import attributes_of, instance_like, make_subclass, make_wrapper, same_history

__all__ = [
    "ask_modes", "attributes_of", "block_of_device", "call_handlers", "data_is_read", "instance_like", "lifted",
    "make_subclass", "make_wrapper", "preserved", "same_history",
]  # fmt: skip
