"""Functions that lower packages call in this one (late binding, `opwright_core.late_bound.Traces`)."""

from opwright.fx.above_autograd import record

__all__ = ["record"]
