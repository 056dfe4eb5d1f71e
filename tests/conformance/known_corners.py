"""What PyTorch does at corners and we do not, each with its reason; `test_corners.py` passes over these alone."""

from __future__ import annotations

import numpy as np
from excuses import Known, Table
from sampling import Sample

_DECOMPOSITIONS = (
    "_?linalg_(check_errors|cholesky|cond|det|eig|eigh|eigvals|eigvalsh|householder_product|inv|ldl|lstsq|lu|matrix_exp"
    "|matrix_power|matrix_rank|pinv|qr|slogdet|solve|svd|svdvals|tensorinv|tensorsolve).*|cholesky.*|_?det|logdet|slogdet"
    "|(matrix_exp|matrix_power|inverse|pinverse|qr|svd|lu_unpack|_lu_with_info|lu_solve|triangular_solve|geqrf|orgqr|ormqr|nuclear_norm).*"
)

# Operators whose corners are not drawn, and why.
NOT_TRIED = Table(
    "known_corners.NOT_TRIED",
    Known(_DECOMPOSITIONS, "", "what a decomposition makes of NaN is LAPACK's, which may not end"),
    Known("(new_)?empty(_like|_strided)?.*", "", "its values are arbitrary"),
    Known("linalg_norm.*|linalg_matrix_norm.str_ord", "", "norms of singular values are decompositions"),
    Known(
        "_?(ctc_loss|embedding_bag|grid_sampler|fractional_max_pool).*|max_pool2d_with_indices_backward.*",
        "",
        "PyTorch reads and writes where the numbers say, also beyond the ends",
    ),
    Known("binomial.*|multinomial.*|.*rrelu_with_noise.*", "", "its numbers are drawn"),
)


def _is_sorted(array: np.ndarray) -> bool:
    return bool((np.diff(array) >= 0).all())


KNOWN_CORNERS = Table.of(
    "known_corners.KNOWN_CORNERS",
    unsorted=lambda one: not _is_sorted(one.args[0]),
    unsorted_borders=lambda one: (
        not all(map(_is_sorted, one.args[1] if isinstance(one.args[1], list) else [one.args[1]]))
    ),
    not_positive=lambda one: bool((one.args[0] <= 0).any()),
    not_finite=lambda one: not np.isfinite(one.args[0]).all(),
    at_0=lambda one: bool((one.args[0] == 0).any()),
    infinite_loss=lambda one: bool(np.isneginf(one.args[0] * one.args[1]).any()),
    outside_0_to_1=lambda one: not ((one.args[0] >= 0) & (one.args[0] <= 1)).all(),
    at_0_or_1=lambda one: bool(np.isin(one.args[0], (0, 1)).any()),
    without_freedom=lambda one: one.kwargs.get("correction", 1) > one.args[0].shape[-1],
    infinite_weight=lambda one: bool(np.isinf(one.args[2]).any()),
)


def is_known_corner(name: str, sample: Sample, problem: str) -> bool:
    """Whether a difference is one of KNOWN_CORNERS."""
    return KNOWN_CORNERS.covers(name, f"{contents(sample)} {sample}: {problem}", sample)


def contents(sample: Sample) -> str:
    """What is odd about the numbers of a call: NAN, INFINITE, or EQUAL ones in one tensor."""
    given = [
        part for each in (*sample.args, *sample.kwargs.values()) for part in (each if type(each) is list else [each])
    ]
    arrays = [each for each in given if isinstance(each, np.ndarray)]
    numbers = [each.astype(complex).ravel() for each in arrays if each.dtype.kind not in "biu"]
    odd = {
        "NAN": any(np.isnan(each).any() for each in numbers),
        "INFINITE": any(np.isinf(each).any() for each in numbers),
        "EQUAL": any(len(np.unique(each)) < each.size for each in numbers),
    }
    return " ".join(word for word, is_so in odd.items() if is_so)


def why_not_tried(name: str) -> str | None:
    """The reason that corners of an operator are not drawn."""
    return NOT_TRIED.why(name, "")
