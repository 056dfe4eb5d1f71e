"""What PyTorch does and we do not, each with its reason; the oracle tests pass over these and over nothing else."""

from __future__ import annotations

import numpy as np
from excuses import Known, Table
from known_versions import RESULTS
from sampling import FLOAT32, Sample


def _is_short_of_whole(one: Sample) -> bool:
    """Whether rounding a quotient of short floats makes a whole number of what is less."""
    numerator, divisor = (np.asarray(each) for each in one.args[:2])
    with np.errstate(all="ignore"):
        quotient = numerator.astype(FLOAT32) / divisor.astype(FLOAT32)
        return bool((np.trunc(quotient.astype(numerator.dtype).astype(FLOAT32)) != np.trunc(quotient)).any())


def _has_nan(one: Sample) -> bool:
    return any(np.isnan(each).any() for each in one.args if isinstance(each, np.ndarray))


KNOWN = Table.of("known_differences.KNOWN", short_of_whole=_is_short_of_whole, has_nan=_has_nan)


def is_known(name: str, sample: Sample, problem: str) -> bool:
    """Whether a difference is one of KNOWN, or of the oracle's version."""
    text = f"{sample}: {problem}"
    return KNOWN.covers(name, text, sample) or RESULTS.covers(name, text, sample)


# Names of arguments that we take and PyTorch does not.
KEYWORDS = Table(
    "known_differences.KEYWORDS",
    Known(
        ".*([Ss]calar|self_scalar).*",
        r"^\w+= for (self|condition|sorted_sequence) is taken$",
        "a number that is `self` is `self` in PyTorch's functions, too; ours have other names for it, as for tensors",
    ),
    Known("unflatten.int", "^axis= for dim is taken$", "Tensor.unflatten is written in Python there"),
    Known("to.other", "^(other= for other is|tensor= for other is not) taken$", "`to` is written by hand there"),
    Known(r"split[.]\w+", "^axis= for dim is taken$", "the method is written in Python there"),
)
