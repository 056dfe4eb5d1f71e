"""Backward functions: what the formulas of derivatives.yaml call where an expression would be too long.

They are written over operators, so that they are differentiable themselves and run on every backend, also without data.
A gradient may have the shape and the kind of dtype of the result; whoever calls reduces it to those of the input.
"""
