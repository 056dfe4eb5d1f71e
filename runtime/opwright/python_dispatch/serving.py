"""Answers of this room to lower ones (`opwright.hooks.Handlers`)."""

from opwright.python_dispatch.handlers import call_handlers, lifted
from opwright.python_dispatch.subclasses import attributes_of, instance_like, make_subclass, make_wrapper, same_history

__all__ = ["attributes_of", "call_handlers", "instance_like", "lifted", "make_subclass", "make_wrapper", "same_history"]
