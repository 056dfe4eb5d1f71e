"""Operators with planted faults, and sound ones, to be judged by the gate."""
