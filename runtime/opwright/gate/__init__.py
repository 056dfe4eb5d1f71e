"""The gate: operators judged by their declarations, each in a process of its own."""

from opwright.gate.examples import example
from opwright.gate.references import reference
from opwright.gate.verdicts import Report, Verdict

__all__ = ["Report", "Verdict", "example", "reference"]
