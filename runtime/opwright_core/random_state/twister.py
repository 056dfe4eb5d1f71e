"""Random numbers of a Mersenne Twister: words, fractions, and normal numbers of these; arrays are flat.

`memory` is a view of the memory of `bits`: its 624 words, then the position of the next among them. Who calls lets no
other thread draw from it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from opwright_core.core import compiled

Values = np.ndarray[Any, Any]

_PART = 1 << 14  # whole blocks of normal numbers
_LONG_ORDER = (2**32 - 1) // 20  # numbers whose order is drawn by words of 64 bits


@compiled
def random_words(bits: np.random.MT19937, memory: Values, count: int) -> Values:
    """Draw `count` words of 32 random bits (uint32)."""
    return bits.random_raw(count).astype(np.uint32)


@compiled
def fill_with_fractions(bits: np.random.MT19937, memory: Values, numbers: Values) -> Values:
    """Draw numbers in [0, 1) into an array: of 53 random bits for float64, of 24 for float32."""
    for part in _parts(numbers):
        if numbers.dtype == np.float64:
            whole = paired(bits.random_raw(2 * part.size)) & np.uint64((1 << 53) - 1)
            np.multiply(whole.astype(np.float64), 2.0**-53, out=part)
        else:
            short = bits.random_raw(part.size).astype(np.uint32) & np.uint32((1 << 24) - 1)
            np.multiply(short.astype(np.float32), np.float32(2.0**-24), out=part)
    return numbers


@compiled
def integers_below(bits: np.random.MT19937, memory: Values, count: int, span: int) -> Values:
    """Draw integers in [0, span) (int64): draws modulo the range, of 64 bits from 2**28 numbers on."""
    words = bits.random_raw(2 * count if span >= 1 << 28 else count).astype(np.uint64)
    return ((paired(words) if span >= 1 << 28 else words) % np.uint64(span)).view(np.int64)


@compiled
def random_order(bits: np.random.MT19937, memory: Values, order: Values) -> Values:
    """Draw a random order of the numbers from 0 on (int64), in place of their given order: Fisher and Yates' shuffle
    from the front, by words of 32 bits, or of 64 for many."""
    remaining = np.arange(order.size, 1, -1, dtype=np.uint64)
    words = bits.random_raw(remaining.size if order.size < _LONG_ORDER else 2 * remaining.size).astype(np.uint64)
    steps = (words if order.size < _LONG_ORDER else paired(words)) % remaining
    shuffled = _listed(order)
    for position, step in enumerate(_listed(steps)):
        if step:
            shuffled[position], shuffled[position + step] = shuffled[position + step], shuffled[position]
    for start in range(0, order.size, _PART):
        order[start : start + _PART] = shuffled[start : start + _PART]
    return order


def _listed(numbers: Values) -> list[Any]:
    """Return `tolist` of numbers, of many part by part: a signal waits for a part."""
    return numbers.tolist() if numbers.size <= _PART else [each for part in _parts(numbers) for each in part.tolist()]


@compiled
def lone_normals(
    bits: np.random.MT19937, memory: Values, count: int, kept: float | None
) -> tuple[Values, float | None]:
    """Draw normal numbers (float64) one by one, by Box and Muller; the first is the one that was kept of the last pair
    before. Return them, and the one that is kept of the last pair."""
    found: list[float] = []
    while len(found) < count:
        if kept is None:
            first, second = fill_with_fractions(bits, memory, np.empty(2)).tolist()
            radius, angle = math.sqrt(-2.0 * math.log1p(-second)), 2.0 * math.pi * first
            kept = radius * math.sin(angle)
            found.append(radius * math.cos(angle))
        else:
            found.append(kept)
            kept = None
    return np.array(found, np.float64), kept


def paired(words: Values) -> Values:
    """Return numbers of 64 bits (uint64) of two words each, the high half first."""
    halves = words.astype(np.uint64, copy=False)
    return (halves[0::2] << np.uint64(32)) | halves[1::2]


@compiled
def box_muller(numbers: Values, mean: float, std: float) -> Values:
    """Make normal numbers of those in [0, 1), in place, by blocks of 16: radii of the first 8, angles of the rest."""
    compute = numbers.dtype.type
    for part in _parts(numbers):
        blocks = part.reshape(-1, 2, 8)
        radius = np.sqrt(compute(-2) * np.log(compute(1) - blocks[:, 0]))
        angle = compute(2 * np.pi) * blocks[:, 1]
        np.multiply(radius, np.cos(angle), out=blocks[:, 0])
        np.multiply(radius, np.sin(angle), out=blocks[:, 1])
        part *= compute(std)
        part += compute(mean)
    return numbers


def _parts(numbers: Values) -> list[Values]:
    """Return views of the numbers, one after another, which fit into the cache."""
    return [numbers[start : start + _PART] for start in range(0, numbers.size, _PART)]
