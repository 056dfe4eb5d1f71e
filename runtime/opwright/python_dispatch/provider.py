"""Functions that lower packages call in this one (late binding) (`opwright_core.hooks.Handlers`)."""

from opwright.python_dispatch.handlers import call_handlers, data_is_read, lifted
from opwright.python_dispatch.overrides import preserved
from opwright.python_dispatch.subclasses import attributes_of, instance_like, make_subclass, make_wrapper, same_history

__all__ = [
    "attributes_of", "call_handlers", "data_is_read", "instance_like", "lifted", "make_subclass",
    "make_wrapper", "preserved", "same_history",
]  # fmt: skip
