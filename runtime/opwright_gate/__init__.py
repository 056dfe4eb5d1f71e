"""The gate: operators judged by their declarations, each in a process of its own."""

from opwright_gate.examples import example
from opwright_gate.references import reference
from opwright_gate.verdicts import Report, Verdict

__all__ = ["Report", "Verdict", "example", "reference"]
