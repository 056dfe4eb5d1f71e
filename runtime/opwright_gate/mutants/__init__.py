"""The measure of the gate: declarations with one change each, and which of them no check notices."""
