"""Kernels of programs: functions that are registered at run time, and looked at when they return."""
