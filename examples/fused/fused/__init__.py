"""What the operators of `ops.yaml` have in Python: shapes, and derivatives of their derivatives."""
