"""Transforms: calls under vmap, and per-sample gradients; against `torch.func`."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import torch

import opwright

from .measure import Figure, ratio


def figures() -> Iterator[Figure]:
    yield from pointwise()
    yield gradients()


def pointwise() -> Iterator[Figure]:
    def chain(a: Any) -> Any:
        return ((a * 2).sin() + 1).exp()

    x, p = opwright.ones(4, 4), torch.ones(4, 4)
    ours, theirs = opwright.vmap(chain), torch.vmap(chain)
    yield ratio("vmap of four pointwise calls", lambda: ours(x), lambda: theirs(p), 0.5)
    same, as_it_is = opwright.vmap(lambda a: a), torch.vmap(lambda a: a)
    yield ratio("vmap of nothing", lambda: same(x), lambda: as_it_is(p))
    total, sums = opwright.vmap(lambda a: a.sum(0)), torch.vmap(lambda a: a.sum(0))
    yield ratio("vmap of sum(0)", lambda: total(x), lambda: sums(p))
    product, products = opwright.vmap(lambda a: a @ x), torch.vmap(lambda a: a @ p)
    yield ratio("vmap of a product with a matrix", lambda: product(x), lambda: products(p))


def gradients() -> Figure:
    def of(library: ModuleType) -> Any:
        weight, rows = library.ones(8, 8), library.ones(16, 8)
        gradient = library.func.grad(lambda w, row: (w @ row).sin().sum())
        each = library.func.vmap(gradient, (None, 0))
        return lambda: each(weight, rows)

    return ratio("gradients of 16 samples", of(opwright), of(torch), rounds=20, repeats=101)
