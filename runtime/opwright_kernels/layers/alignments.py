"""Connectionist temporal classification: how likely labels are under all alignments of them to steps.

The label of each step is one of C; a sequence of S labels is S labels with a blank between, before and after, each of
which a path may stay at, leave for the next, or leave for the one after that, unless it skips a repeated label.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from opwright_core.core import compiled
from opwright_kernels.moving.scattering import accumulate

Array = Any
Lengths = Sequence[int]


@compiled
def alignment_losses(
    xp: ModuleType,
    log_probs: Array,
    targets: Array,
    input_lengths: Lengths,
    target_lengths: Lengths,
    blank: int,
    zero_infinity: bool,
) -> tuple[Array, Array]:
    """Return minus the logarithm of the probability of each sequence, and the sums of paths to each step and label."""
    labels, is_label, may_skip = _labels(xp, targets, target_lengths, blank)
    at_labels = _at_labels(xp, log_probs, labels, is_label)
    steps, batch, width = at_labels.shape
    sums = xp.full((batch, steps, width), -xp.inf, log_probs.dtype)
    if not steps:
        return -_ends(xp, sums, input_lengths, target_lengths), sums
    sums[:, 0, :2] = at_labels[0, :, :2]
    for step in range(1, steps):
        before = sums[:, step - 1]
        reached = xp.logaddexp(before[:, 1:], before[:, :-1])
        reached[:, 1:] = xp.logaddexp(reached[:, 1:], xp.where(may_skip[:, 2:], before[:, :-2], -xp.inf))
        sums[:, step, 0] = before[:, 0]
        sums[:, step, 1:] = reached
        sums[:, step] += at_labels[step]
    return -_ends(xp, sums, input_lengths, target_lengths), sums


def _labels(xp: ModuleType, targets: Array, lengths: Lengths, blank: int) -> tuple[Array, Array, Array]:
    """Return the labels with blanks between, which of them there are, and which may be reached from two before."""
    width = 2 * max(lengths, default=0) + 1
    labels = xp.full((len(lengths), width), blank, "int64")
    start = 0
    for row, length in enumerate(lengths):
        given = targets[row, :length] if targets.ndim == 2 else targets[start : start + length]
        labels[row, 1 : 2 * length : 2] = given
        start += length
    is_label = xp.arange(width) < 2 * xp.asarray(lengths).reshape(-1, 1) + 1
    may_skip = xp.zeros(labels.shape, "bool")
    may_skip[:, 2:] = labels[:, 2:] != labels[:, :-2]
    return labels, is_label, may_skip


def _at_labels(xp: ModuleType, log_probs: Array, labels: Array, is_label: Array) -> Array:
    """Return (T, N, labels): the logarithm of each label's probability at each step, -inf where there is no label."""
    if labels.size and (int(labels.min()) < 0 or int(labels[is_label].max()) >= log_probs.shape[2]):
        raise RuntimeError(f"ctc_loss: index out of range: labels must lie from 0 to {log_probs.shape[2] - 1}")
    found = log_probs[:, xp.arange(labels.shape[0])[:, None], labels]
    return xp.where(is_label, found, -xp.inf).astype(log_probs.dtype)


def _ends(xp: ModuleType, sums: Array, input_lengths: Lengths, target_lengths: Lengths) -> Array:
    """Return the logarithm of the sum of the paths that end at the last label, or the blank after it."""
    found = xp.empty(sums.shape[0], sums.dtype)
    for row, (steps, length) in enumerate(zip(input_lengths, target_lengths, strict=True)):
        if not steps:
            found[row] = -xp.inf if length else 0
            continue
        last = sums[row, steps - 1]
        found[row] = xp.logaddexp(last[2 * length], last[2 * length - 1]) if length else last[0]
    return found


@compiled
def alignment_gradients(
    xp: ModuleType,
    grad: Array,
    log_probs: Array,
    targets: Array,
    input_lengths: Lengths,
    target_lengths: Lengths,
    neg_log_likelihood: Array,
    log_alpha: Array,
    blank: int,
    zero_infinity: bool,
) -> Array:
    """Return the gradient of what `log_softmax` made the probabilities of: each label's probability less what the
    paths make of it."""
    labels, is_label, may_skip = _labels(xp, targets, target_lengths, blank)
    at_labels = _at_labels(xp, log_probs, labels, is_label)
    result = xp.exp(log_probs)
    steps, batch, width = at_labels.shape
    classes = log_probs.shape[2]
    positions = (xp.arange(batch)[:, None] * classes + labels).reshape(-1)
    ends = xp.asarray(input_lengths).reshape(-1)
    last = xp.asarray(target_lengths).reshape(-1) * 2
    rest = xp.full((batch, width), -xp.inf, log_probs.dtype)
    for step in reversed(range(steps)):
        rest = _paths_on(xp, rest, may_skip)
        is_end = ends == step + 1
        at_end = is_end[:, None] & ((xp.arange(width) == last[:, None]) | (xp.arange(width) == last[:, None] - 1))
        rest = xp.where(at_end, 0, xp.where(is_end[:, None], -xp.inf, rest)) + at_labels[step]
        share = log_alpha[:, step] + rest + neg_log_likelihood[:, None]
        share = xp.where(is_label & (rest > -xp.inf), share - at_labels[step], -xp.inf)
        share = xp.where(xp.isposinf(neg_log_likelihood)[:, None], xp.nan, share)
        of_paths = xp.zeros(batch * classes, log_probs.dtype)
        accumulate(xp, "add", of_paths, positions, xp.exp(share).astype(log_probs.dtype).reshape(-1))
        result[step] -= of_paths.reshape(batch, classes)
    is_past = xp.arange(steps)[:, None] >= ends
    is_past |= (neg_log_likelihood == xp.inf) & zero_infinity
    return xp.where(is_past[..., None], 0, result * grad[:, None]).astype(log_probs.dtype)


def _paths_on(xp: ModuleType, rest: Array, may_skip: Array) -> Array:
    """Return the logarithms of the sums of paths onwards, one step earlier."""
    found = rest.copy()
    found[:, :-1] = xp.logaddexp(found[:, :-1], rest[:, 1:])
    found[:, :-2] = xp.logaddexp(found[:, :-2], xp.where(may_skip[:, 2:], rest[:, 2:], -xp.inf))
    return found
