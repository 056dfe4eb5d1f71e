"""Answers of this room to lower ones (`opwright.hooks.Traces`)."""

from opwright.fx.above_autograd import record

__all__ = ["record"]
