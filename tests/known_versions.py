"""What PyTorch does since 2.14 or 2.15, and we do, and an older oracle does otherwise: continuous integration has 2.13.

What 2.14 or 2.15 alone does otherwise is here, too. 2.13, 2.14.1 and 2.15.0 were run beside Opwright.

Tests that compare with PyTorch ask this table beside theirs;
those of an operator that it does not have, or has no longer, which `NOT_THERE` names, are not collected.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from itertools import combinations
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


def _numbers(sample: Any) -> list[np.ndarray]:
    given = [*sample.args, *sample.kwargs.values()]
    return [np.asarray(each) for each in given if isinstance(each, np.ndarray | int | float | complex)]


def _has_a_tie(sample: Any) -> bool:
    """Return whether two operands have a number in common."""
    if sample is None:  # of a test that has no samples
        return True
    return any(np.isin(*pair).any() for pair in combinations(_numbers(sample), 2))


def _has_nan(sample: Any) -> bool:
    return sample is None or any((each != each).any() for each in _numbers(sample))


def _has_either(sample: Any) -> bool:
    return _has_a_tie(sample) or _has_nan(sample)


_SLOPES = "^(?!value)"  # not values: problems of these begin so
_SINCE_214 = (
    Known(
        "clamp.*|clip.*",
        _SLOPES,
        "equal to a bound that is a number there is no gradient, to a Tensor half of it",
        when=_has_either,
    ),
    Known("f(max|min).*", _SLOPES, "equal operands share a gradient", when=_has_a_tie),
    Known(
        "register_autograd", "^counts", "backward may not return some of the gradients of arguments at their defaults"
    ),
    Known("(hinge_embedding|margin_ranking)_loss", _SLOPES, "their clamp_min"),
)
_IN_214 = (Known("f(max|min).*", _SLOPES, "NaN takes half of the gradient of a number", when=_has_nan),)
_SINCE_215 = (Known("special_(bessel_[jy]|modified_bessel_[ik])[01]", "^records", "PyTorch has a gradient since 2.15"),)
_IN_215 = (
    Known("_[cp]dist_backward", "^gradient", "PyTorch differentiates them, and leaves NaN out", when=_has_nan),
    Known("special_bessel_[jy][01]", _SLOPES, "PyTorch's have 5 to 7 digits between 5 and 12, as its values"),
)
# Of results: what the calls gave, or raised.
_RESULTS_SINCE_215 = (
    Known("(feature_)?(alpha_)?dropout_?", "complex.*PyTorch raises NotImplementedError", "they take complex numbers"),
    Known("arange[.].*", "int64.*(shape|raises|PyTorch raises)", "int64 has as many elements as int32"),
    Known(
        "(clamp(_min|_max)?|clip)(_|[.]out)?",
        r"uint8.*, -\d",
        "a whole bound beyond the dtype bounds nothing, or is refused",
    ),
)
_RESULTS_IN_215 = (
    Known(
        "(max|min|aminmax|arg(max|min)|(arg|m)?sort|topk|histc|is(pos|neg)inf|f?max(imum)?|f?min(imum)?)([.].*)?",
        "complex.*DispatchError.*(not|PyTorch) TypeError",
        "PyTorch raises TypeError for complex numbers of these, and NotImplementedError of others",
    ),
    Known("imag|view_as_real(_copy)?|istft", "RuntimeError.*(not|PyTorch) TypeError", "PyTorch raises TypeError"),
    Known("linalg_cond.*", "RuntimeError.*not ValueError", "PyTorch raises ValueError"),
    Known("complex|mean", "RuntimeError.*PyTorch raises NotImplementedError", "PyTorch raises NotImplementedError"),
    Known("(add|(true_)?divide|div)[.]Tensor", "BComplex32", "NumPy has no bcomplex32"),
    Known("((native|nn.functional)[_.])?group_norm", "Expected (HxW|number of channels)", "PyTorch refuses empty ones"),
    Known("grid_sampler(_3d)?", "bicubic interpolation only supports 4D", "PyTorch has it in three dimensions"),
    Known("hardtanh_?([.]out)?", r"uint8.*(values|raises)", "bounds beyond the dtype bound nothing"),
    Known("polar", "float16.*expected two operands of one dtype", "PyTorch takes half numbers, where there are none"),
    Known("torch.ops.aten._scaled_dot_product_flash.*", "float16", "PyTorch's sums of exponentials are float32"),
    Known("linalg_polar", "low precision", "PyTorch casts short floats in a region, though it refuses them outside"),
    Known("combinations|_unsafe_masked_index_put.*", "float16.*autocast|neither of the lower", "PyTorch casts no half"),
    Known("_[cp]dist_backward", "^grad= for grad is taken$", "PyTorch calls it grad_output"),
)
_DIFFERENTIABLE_SINCE_215 = tuple(
    f"special_{family}{order}"
    for family in ("bessel_j", "bessel_y", "modified_bessel_i", "modified_bessel_k")
    for order in (0, 1)
)


def _of_older(installed: tuple[int, int] | None) -> tuple[Known, ...]:
    """Return what a version does otherwise."""
    if installed is None:
        return ()
    if installed >= (2, 15):
        return _IN_215
    return (*(_SINCE_214 if installed < (2, 14) else _IN_214), *_SINCE_215)


def _of_results(installed: tuple[int, int] | None) -> tuple[Known, ...]:
    """Return what calls give or raise in a version, and not here."""
    if installed is None:
        return ()
    return _RESULTS_SINCE_215 if installed < (2, 15) else _RESULTS_IN_215


_installed = oracle_version()
_NEW_IN_214, _GONE_SINCE_214 = ("linalg_matrix_sqrth", "linalg_polar"), ("cholesky", "qr")
NOT_THERE = () if _installed is None else _NEW_IN_214 if _installed < (2, 14) else _GONE_SINCE_214
OLDER = Table("known_versions.OLDER", *_of_older(_installed))
# Operators whose arguments have other names.
RENAMED = ("_cdist_backward", "_pdist_backward") if _installed is not None and _installed >= (2, 15) else ()
RESULTS = Table("known_versions.RESULTS", *_of_results(_installed))
# Operators that have a gradient here, and none in the oracle.
WITHOUT_GRADIENT = () if _installed is None or _installed >= (2, 15) else _DIFFERENTIABLE_SINCE_215


def is_not_there(operator: object) -> bool:
    """Whether an operator, or a variant of it, is not in the oracle."""
    return isinstance(operator, str) and operator.partition(".")[0] in NOT_THERE
