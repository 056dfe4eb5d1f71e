"""The formulas of derivatives.yaml, checked against the operators that they belong to."""
