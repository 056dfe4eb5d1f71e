"""What PyTorch does since 2.14, and we do, and an older oracle does otherwise: that of continuous integration is 2.13.

Where the oracle that runs is new, nothing is passed over. Tests that compare with PyTorch ask this table beside theirs;
those of an operator that it does not have, or has no longer, which `NOT_THERE` names, are not collected.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from excuses import Known, Table


def oracle_version() -> tuple[int, int] | None:
    """Return the version of the PyTorch that is installed, if one is."""
    try:
        major, minor, *_ = version("torch").split(".")
    except PackageNotFoundError:
        return None
    return int(major), int(minor)


def _has_a_tie(sample: Any) -> bool:
    """Whether a number of the first operand is among those of another, or one is NaN."""
    if sample is None:  # of a test that has no samples
        return True
    given = [*sample.args, *sample.kwargs.values()]
    first, *others = (np.asarray(each) for each in given if isinstance(each, np.ndarray | int | float | complex))
    return any(np.isin(first, each).any() for each in others) or any((each != each).any() for each in (first, *others))


_SLOPES = "^(?!value)"  # not values: problems of these begin so
_SINCE_214 = (
    Known(
        "clamp.*|clip.*",
        _SLOPES,
        "equal to a bound that is a number there is no gradient, to a Tensor half of it",
        when=_has_a_tie,
    ),
    Known(
        "f(max|min).*",
        _SLOPES,
        "equal operands share a gradient, and NaN takes none",
        when=_has_a_tie,
    ),
    Known(
        "register_autograd", "^counts", "backward may not return some of the gradients of arguments at their defaults"
    ),
    Known("(hinge_embedding|margin_ranking)_loss", _SLOPES, "their clamp_min"),
)
_installed = oracle_version()
_NEW_IN_214, _GONE_SINCE_214 = ("linalg_matrix_sqrth", "linalg_polar"), ("cholesky", "qr")
NOT_THERE = () if _installed is None else _NEW_IN_214 if _installed < (2, 14) else _GONE_SINCE_214
OLDER = Table("known_versions.OLDER", *(_SINCE_214 if _installed is not None and _installed < (2, 14) else ()))


def is_not_there(operator: object) -> bool:
    """Whether an operator, or a variant of it, is not in the oracle."""
    return isinstance(operator, str) and operator.partition(".")[0] in NOT_THERE
