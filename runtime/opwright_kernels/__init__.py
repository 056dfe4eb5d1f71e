"""Kernels of ATen's operators: functions on arrays, for whichever array module they are given."""
