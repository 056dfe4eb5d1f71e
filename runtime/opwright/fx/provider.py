"""Answers of this room to lower ones (`opwright_core.hooks.Traces`)."""

from opwright.fx.above_autograd import record

__all__ = ["record"]
