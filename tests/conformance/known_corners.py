"""What PyTorch does at corners and we do not, each with its reason; `test_corners.py` passes over these alone."""

from __future__ import annotations

import re

from known_differences import Known
from sampling import Sample

_DECOMPOSITIONS = (
    "_?linalg_(check_errors|cholesky|cond|det|eig|eigh|eigvals|eigvalsh|householder_product|inv|ldl|lstsq|lu|matrix_exp"
    "|matrix_power|matrix_rank|pinv|qr|slogdet|solve|svd|svdvals|tensorinv|tensorsolve).*|cholesky.*|_?det|logdet|slogdet"
    "|(matrix_exp|matrix_power|inverse|pinverse|qr|svd|lu_unpack|triangular_solve|geqrf|orgqr|ormqr|nuclear_norm).*"
)

# Operators whose corners are not drawn, and why.
NOT_TRIED: tuple[Known, ...] = (
    Known(_DECOMPOSITIONS, "", "what a decomposition makes of NaN is LAPACK's, which may not end"),
    Known("(new_)?empty(_like|_strided)?.*", "", "its values are arbitrary"),
    Known("binomial.*|multinomial.*|.*rrelu_with_noise.*", "", "its numbers are drawn"),
)

_VECTOR = "PyTorch's vectorised loop makes another thing of NaN than its scalar one; ours is the scalar one's"
_TIE = "the sort that it rests on does not say which of equal elements comes first"
_PADDING = "an infinite weight times the zeros of padding is NaN; some of PyTorch's algorithms skip them"
_PYTORCH_TRIGAMMA = "PyTorch's trigamma has 9 digits, and is finite at its poles"

KNOWN_CORNERS: tuple[Known, ...] = (
    # Values
    Known("gelu_?", "value: values inf not nan", "oneDNN's, on some CPUs; as in test_oracle.py"),
    Known(
        "(special_)?polygamma_?|special_zeta.*", "value: values -?0.0 not nan", "zeta(s, inf) is 0; PyTorch's is NaN"
    ),
    Known("(topk|_?unique|kthvalue).*", "value: values", _TIE + "; NaN equals nothing"),
    Known("mode", "value: values|(gradient|tangent)", "PyTorch's sort leaves NaN, and what surrounds it, anywhere"),
    Known("searchsorted.*|histogram.*", "value: values", "the sequence is not sorted, as it must be"),
    Known(
        "_?cdist.*", "inf, .*value: values nan not", "the largest of numbers and NaN is NaN; PyTorch's kernel drops it"
    ),
    Known("native_(layer|group)_norm", "value: values -?inf not nan", "the mean of rows whose results are NaN in both"),
    Known("_?conv.*", "value: values|gradient [01]: values", _PADDING),
    Known("max_pool1d", "shape, dtype, strides", "PyTorch takes another kernel where gradients are asked for"),
    Known(
        ".*", "no error, but PyTorch raises RuntimeError: Autograd not support dtype", "integers in the place of self"
    ),
    # What records
    Known(
        "special_modified_bessel_i[01]", r"records: \[True\], not \[False\]", "PyTorch has no gradient; it has one here"
    ),
    Known(
        "detach_copy|binomial", r"records: \[False\], not \[True\]", "PyTorch has no gradient to give when it is asked"
    ),
    Known(
        "randint_like.*",
        r"records: \[False\], not \[True\]",
        "PyTorch's overloads say so, with no gradient to give; its function says False",
    ),
    # Gradients
    Known("logical_(not|and|or|xor)", "(gradient|tangent) 0: values -?0.0 not", "in place PyTorch lets it through"),
    Known(
        "addbmm",
        "doesn't match the broadcast shape",
        "PyTorch gives self another shape; baddbmm_ refuses that, as we do",
    ),
    Known("polar", "gradient [01]", "PyTorch gives negative radii the gradient of positive ones, and 0 that of none"),
    Known("((special_)?(digamma|psi|polygamma)|mvlgamma|special_multigammaln)_?", "", _PYTORCH_TRIGAMMA),
    Known("(special_)?logit_?", "gradient 0: values -?inf not -?inf of -0.0", _VECTOR.replace("NaN", "-0.0")),
    Known("(special_)?logit_?", "tangent 0", "PyTorch's tangent of what lies outside 0 to 1 is 0, its gradient NaN"),
    Known(
        "(elu|celu|hardtanh|relu6|hardshrink|softshrink)_?", "(gradient|tangent) 0: values .* not (nan|-?0.0)", _VECTOR
    ),
    Known("(nan)?quantile.*", "(gradient|tangent) 0", _TIE),
    Known("cumprod_?", "gradient 0: values nan not", "an infinity before the first zero"),
    Known(
        "(scatter_reduce.two|index_reduce)_?",
        "prod.*(gradient|tangent) 0",
        "where nothing was scattered PyTorch divides self by itself: NaN for infinities",
    ),
    Known("as_strided_scatter", "PyTorch raises RuntimeError: !self.requires_grad", "an assertion of PyTorch's own"),
    Known("vander", r", 1\): records", "PyTorch makes a single column of ones anew; here it has no slope"),
    Known("cosine_similarity", "gradient [01]: values 0.0 not nan", "an infinite vector has a constant direction, NaN"),
    # Tangents
    Known(
        "(atan2|arctan2)_?", "tangent 0: values -?0.0 not nan", "at 0, 0 PyTorch's gradient is 0 and its tangent NaN"
    ),
    Known("(div|divide|true_divide)_?.Tensor", "tangent 0: values nan not -?inf", "each tangent is a term of its own"),
    Known("prod", r"'float16'.*tangent 0: float16\(\), not float32", "PyTorch's tangent has the dtype of self"),
    Known("(cumprod_?|vander)", "tangent 0", "PyTorch divides by elements, and gives NaN for what is not finite"),
    Known("_?logcumsumexp", "tangent 0", "PyTorch's weights are 0/0 where an element is infinite"),
)


def is_known_corner(name: str, sample: Sample, problem: str) -> bool:
    """Whether a difference is one of KNOWN_CORNERS."""
    return any(known.covers(name, f"{sample}: {problem}") for known in KNOWN_CORNERS)


def why_not_tried(name: str) -> str | None:
    """The reason that corners of an operator are not drawn."""
    return next((known.reason for known in NOT_TRIED if re.fullmatch(known.operators, name)), None)
