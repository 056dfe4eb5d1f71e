"""Operators whose dimension rules are wrong, one for each kind of factor, and in what they are said to be linear."""

from __future__ import annotations

from typing import Any

import numpy as np
from planting import plant

import opwright

A = np.ndarray


def fault(kind: str, **options: Any) -> Any:
    return plant("faults", f"sharding-wrong-{kind}", "dimensions", **options)


def row(x: Any) -> Any:
    return opwright.empty(x.shape[:-1], dtype=x.dtype)


def _floating(x: A) -> A:
    if x.ndim == 0 or x.shape[-1] == 0 or x.dtype.kind != "f":
        raise TypeError(f"x must have rows of floating-point numbers, got {x.dtype}, {x.shape}")
    return x


@fault("parallel", dims="... n -> ... n")
def runs_on(x: A) -> A:
    return np.array(np.cumsum(_floating(x), -1, dtype=x.dtype), order="C")


@fault("sum", dims="... n -> ...; n sum", fake=row)
def length_of_rows(x: A) -> A:
    return np.array(np.sqrt((_floating(x) ** 2).sum(-1, dtype=x.dtype)))


@fault("max", dims="... n -> ...; n max", fake=row)
def sum_of_rows(x: A) -> A:
    return np.array(_floating(x).sum(-1, dtype=x.dtype))


@fault("min", dims="... n -> ...; n min", fake=row)
def largest_of_rows(x: A) -> A:
    return np.array(_floating(x).max(-1))


@fault("window", dims="... n -> ... n; n window(0, 1)")
def less_the_one_before(x: A) -> A:
    out = np.array(_floating(x), order="C")
    out[..., 1:] -= x[..., :-1]
    return out


@fault("again", dims="... n -> ...; n again", fake=row)
def mean_of_rows(x: A) -> A:
    return np.array(_floating(x).mean(-1, dtype=x.dtype))


@fault("again", dims="... n -> ...; n again", fake=row)
def spread_of_rows(x: A) -> A:
    """Wrong for parts of one size, too."""
    return np.array(np.ptp(_floating(x), -1))


@fault("linear", dims="linear(x)", meta="pointwise(x)", fake=None)
def size_of(x: A) -> A:
    return np.array(np.abs(_floating(x)))


@plant("sound", "", "sound", dims="... n -> ...; n sum, linear(x)", fake=row)
def total_of_rows(x: A) -> A:
    return np.array(_floating(x).sum(-1, dtype=x.dtype))


@plant("sound", "", "sound", dims="... n -> ... n; n window(1, 0), linear(x)")
def steps_of_rows(x: A) -> A:
    out = np.array(_floating(x), order="C")
    out[..., 1:] -= x[..., :-1]
    return out
