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

_VECTOR = "PyTorch's vectorised loop makes another thing of NaN than its scalar one; ours is the scalar one's"
_TIE = "the sort that it rests on does not say which of equal elements comes first"
_PADDING = "an infinite weight times the zeros of padding is NaN; some of PyTorch's algorithms skip them"
_TERMS = "each tangent is a term of its own, and PyTorch adds infinities of both signs"
_NEIGHBOURS = "weights of 0 make NaN of infinite neighbours, and each library takes others"
_PYTORCH_TRIGAMMA = "PyTorch's trigamma has 9 digits, and is finite at its poles"


def _is_sorted(array: np.ndarray) -> bool:
    return bool((np.diff(array) >= 0).all())


KNOWN_CORNERS = Table(
    "known_corners.KNOWN_CORNERS",
    # Backward operators
    Known(
        "multilabel_margin_loss_backward",
        "is_target' is out of range",
        "marks other than 0 and 1 are for nobody to give: to look for them would take the values of a tensor",
    ),
    Known("cumprod_backward", "values", "as cumprod, whose result is not this one's"),
    Known("native_group_norm_backward", "value: values", "PyTorch adds infinities of both signs"),
    Known("_?pdist.*", "inf[)].*gradient", "PyTorch multiplies the infinite difference by 0; ours has no share in it"),
    Known(
        "affine_grid_generator_backward",
        "(NAN|INFINITE).*tangent 0: values .* not nan",
        "a product of matrices adds 0 times NaN of other rows",
    ),
    # Values
    Known("gelu_?", "value: values inf not nan", "oneDNN's, on some CPUs; as in test_oracle.py", "some CPUs"),
    Known(
        "(special_)?polygamma_?|special_zeta.*",
        "value: values -?0.0 not nan",
        "zeta(s, inf) is 0; PyTorch's is NaN",
        "--slow",
    ),
    Known(
        "special_.*polynomial_[tuvwlp].*",
        "value: values nan not",
        "of NaN and a degree from 2 on, PyTorch reads memory that it never wrote",
    ),
    Known("special_.*chebyshev.*", "value: values -?inf not nan", "PyTorch subtracts infinities on the way"),
    Known("topk|kthvalue", "(NAN|EQUAL).*value: values", _TIE + "; NaN equals nothing"),
    Known(
        "mode",
        "(NAN|EQUAL).*(value: values|gradient|tangent)",
        "PyTorch's sort leaves NaN, and what surrounds it, anywhere",
        "--slow",
    ),
    Known(
        "searchsorted.*",
        "value: values",
        "the sequence is not sorted, as it must be",
        "--slow",
        when=lambda one: not _is_sorted(one.args[0]),
    ),
    Known(
        "histogram.bins_tensor|bucketize.*|histogramdd.TensorList_bins|_histogramdd_from_bin_tensors",
        "value: values",
        "the boundaries are not sorted, as they must be",
        "--slow",
        when=lambda one: not all(map(_is_sorted, one.args[1] if isinstance(one.args[1], list) else [one.args[1]])),
    ),
    Known(
        "_?cdist.*",
        "inf, .*value: values nan not",
        "the largest of numbers and NaN is NaN; PyTorch's kernel drops it",
        "--slow",
    ),
    Known(
        "_?cdist.*",
        "value: values inf not nan",
        "for many rows PyTorch multiplies matrices, where infinities cancel",
        "--slow",
    ),
    Known(
        "native_(layer|group)_norm",
        "value: values -?inf not nan",
        "the mean of rows whose results are NaN in both",
        "--slow",
    ),
    Known("_?conv.*", "(NAN|INFINITE).*(value|gradient [01]|tangent 0): values", _PADDING),
    Known(
        "max_pool1d",
        r"float32\[2, 3, 5\]/\[15, 1, 3\].*value: strides",
        "PyTorch takes another kernel where gradients are asked for",
    ),
    Known(
        ".*",
        "no error, but PyTorch raises RuntimeError: Autograd not support dtype",
        "integers in the place of self",
        "--slow",
    ),
    Known(
        "(pow|float_power).*",
        r"complex.*: value: values .*\((nan[+]nanj|1[+]0j)\)|complex.*gradient 0: values .* not \(nan",
        "0 to the power of 0 is 1, and NaN to that of it; PyTorch's complex loop takes logarithms",
        "--slow",
    ),
    Known(
        "(var|std)(_mean)?.*", "complex.*value: values", "PyTorch's is that of two parts, of which one is 0/0", "--slow"
    ),
    Known(
        "_native_batch_norm_legit.*",
        "value: values -?inf not nan",
        "the mean of rows whose results are NaN in both",
        "--slow",
    ),
    Known(
        "upsample_.*linear.*",
        "odd, .*value: values|value: values nan not|value: values -?inf not nan",
        _NEIGHBOURS,
        "--slow",
    ),
    Known(
        "index_?(put_?)?.*",
        "raises NotImplementedError.*not IndexError",
        "floats are no indices; both refuse them",
        "--slow",
    ),
    # What records
    Known(
        "(eq|ne|not_equal|lt|less|le|less_equal|gt|greater|ge|greater_equal|index_fill|masked_fill|fill)[.].*",
        r"'?(int|bool|uint).*records: \[False\], not \[True\]",
        "integers that say that they require grad, after a write of what does",
        "--slow",
    ),
    Known(
        "linalg_matrix_norm",
        r", -?2[,)].*: (value|gradient 0|tangent 0)",
        "norms of singular values are decompositions",
        "--slow",
    ),
    Known(
        "linalg_matrix_norm.*",
        r"records: \[True\], not \[False\]",
        "PyTorch returns a new zero for no elements",
        "--slow",
    ),
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
    Known("logical_(not|and|or|xor)", "(gradient|tangent) 0: values -?0(.0|j) not", "in place PyTorch lets it through"),
    Known(
        "addbmm",
        "doesn't match the broadcast shape",
        "PyTorch gives self another shape; baddbmm_ refuses that, as we do",
    ),
    Known(
        "polar",
        "gradient [01]: values",
        "PyTorch gives negative radii the gradient of positive ones, and 0 that of none",
        when=lambda one: bool((one.args[0] <= 0).any()),
    ),
    Known(
        "polar",
        "gradient [01]: values .* not nan",
        "PyTorch divides by the length of the result, which is not finite",
        "--slow",
        when=lambda one: not np.isfinite(one.args[0]).all(),
    ),
    Known(
        "((special_)?(digamma|psi|polygamma)|mvlgamma|special_multigammaln)_?",
        "(value|gradient [01]|tangent [01]): values",
        _PYTORCH_TRIGAMMA,
    ),
    Known("(special_)?logit_?", "gradient 0: values -?inf not -?inf of -0.0", _VECTOR.replace("NaN", "-0.0"), "--slow"),
    Known(
        "special_logit",
        "tangent 0: values -?inf not -?inf",
        _VECTOR.replace("NaN", "-0.0"),
        "--slow",
        when=lambda one: bool((one.args[0] == 0).any()),
    ),
    Known("(special_)?logit_?", "gradient 0: values nan not -?0.0 of nan", _VECTOR, "--slow"),
    Known("special_zeta.*", "gradient 0: values -?0.0 not nan of inf", "as its values: zeta(s, inf) is 0", "--slow"),
    Known(
        "narrow_copy", ", -1, 1\\).*gradient 0", "PyTorch's gradient of a negative start is that of nothing", "--slow"
    ),
    Known("hardsigmoid_?", "float64.*(gradient|tangent) 0", "PyTorch's 1/6 has single precision", "--slow"),
    Known(
        "group_norm", ", 0]/.*gradient 1: values -?0.0 not nan", "of nothing, by whose size PyTorch divides", "--slow"
    ),
    Known(
        "index_reduce|scatter_reduce.two",
        "(NAN|INFINITE).*prod.*gradient 1: values 0.0 not nan",
        "an infinity, or NaN, times an exact 0",
        "--slow",
    ),
    Known(
        "index_reduce|scatter_reduce.two",
        "complex.*prod.*gradient 1",
        "PyTorch refuses it; in place it lets it through",
        "--slow",
    ),
    Known(
        "soft_margin_loss",
        "(gradient|tangent) 0: values .* not nan",
        "the slope of an infinite loss has a limit; PyTorch's is inf/inf",
        "--slow",
        when=lambda one: bool(np.isneginf(one.args[0] * one.args[1]).any()),
    ),
    Known("silu_?", "complex.*(gradient|tangent) 0", "PyTorch refuses it; in place it lets it through", "--slow"),
    Known(
        "(special_)?logit_?",
        "tangent 0: values",
        "PyTorch's tangent of what does not lie in 0 to 1 is 0, its gradient NaN",
        when=lambda one: not ((one.args[0] >= 0) & (one.args[0] <= 1)).all(),
    ),
    Known(
        "(elu|selu|celu|hardtanh|relu6|hardswish|hardshrink|softshrink)_?",
        "(gradient|tangent) 0: values .* not (nan|-?0.0)",
        _VECTOR,
    ),
    Known("(nan)?quantile.*", "(NAN|EQUAL).*(gradient|tangent) 0: values", _TIE),
    Known("cumprod_?", "gradient 0: values nan not", "an infinity before the first zero", "--slow"),
    Known(
        "(scatter_reduce.two|index_reduce)_?",
        "prod.*(gradient|tangent) 0",
        "where nothing was scattered PyTorch divides self by itself: NaN for infinities",
    ),
    Known("as_strided_scatter", "PyTorch raises RuntimeError: !self.requires_grad", "an assertion of PyTorch's own"),
    Known("vander", r", 1\): records", "PyTorch makes a single column of ones anew; here it has no slope"),
    Known(
        "cosine_similarity",
        "INFINITE.*gradient [01]: values 0.0 not nan",
        "an infinite vector has a constant direction, NaN",
    ),
    # Tangents
    Known(
        "(atan2|arctan2)_?", "tangent 0: values -?0.0 not nan", "at 0, 0 PyTorch's gradient is 0 and its tangent NaN"
    ),
    Known("(div|divide|true_divide)_?.Tensor", "tangent 0: values nan not -?inf", "each tangent is a term of its own"),
    Known(
        "prod.dim_int|special_log_ndtr|bilinear|(layer|group)_norm", "tangent 0: values .* not nan", _TERMS, "--slow"
    ),
    Known(
        "(special_)?logsumexp", "tangent 0: values 0.0 not nan", "of nothing, by whose sum PyTorch divides", "--slow"
    ),
    Known(
        "(nan)?median",
        "NaN.*tangent 0|tangent 0: values 1.0 not nan",
        "the element that was chosen has that tangent",
        "--slow",
    ),
    Known(
        "nextafter|linalg_(vector|matrix)_norm.*|norm.*|mse_loss|smooth_l1_loss",
        r"tangent 0: float(32|64)\(.*\), not float(32|64)",
        "PyTorch's tangent has another dtype than its result",
        "--slow",
    ),
    Known(
        "scatter_reduce.two",
        "NAN.*am(in|ax).*(gradient|tangent) 0: values .* not nan",
        "PyTorch counts what equals the result, and NaN equals nothing: 0/0",
        "--slow",
    ),
    Known(
        "scatter_reduce.two",
        "am(in|ax).*include_self': False.*tangent 0|am(in|ax).*include_self=False.*tangent 0",
        "PyTorch's gradient counts self among equal elements, and its tangent does not; here both do",
        "--slow",
    ),
    Known("ldexp_?.*", "(NAN|INFINITE).*tangent 0: values", "PyTorch raises 2 to integers, which overflow", "--slow"),
    Known(
        "smooth_l1_loss", ", 0.0", "at equal elements PyTorch's slope is -1, for both operands; here it is 0", "--slow"
    ),
    Known(
        "linalg_vector_norm",
        "complex.* inf.*(gradient|tangent) 0: values 0(j|.0) not",
        "where all are 0 PyTorch divides 0 by 0",
        "--slow",
    ),
    Known(
        "binary_cross_entropy",
        "tangent 0: values",
        "at 0 and 1 PyTorch's tangent is not bounded as its gradient is",
        "--slow",
        when=lambda one: bool(np.isin(one.args[0], (0, 1)).any()),
    ),
    Known(
        "prod", r"'float16'.*tangent 0: float16\(\), not float32", "PyTorch's tangent has the dtype of self", "--slow"
    ),
    Known("linalg_vander", "(NAN|INFINITE).*(gradient|tangent) 0: values", "as cumprod, of which it is made"),
    Known("gradient[.]tensor.*", "(EQUAL|INFINITE).*tangent [01]: values nan not", _TERMS),
    Known(
        "(cumprod_?|vander)",
        "(NAN|INFINITE).*tangent 0: values",
        "PyTorch divides by elements, and gives NaN for what is not finite",
    ),
    Known(
        "_?logcumsumexp", "(NAN|INFINITE).*tangent 0: values", "PyTorch's weights are 0/0 where an element is infinite"
    ),
    Known(
        "_upsample_bi(linear|cubic)2d_aa.*",
        "(NAN|INFINITE).*(value|(gradient|tangent) 0): values",
        "a weight of 0 leaves out what is not finite in PyTorch",
    ),
    Known(
        "_softmax_backward_data",
        "(gradient|tangent) [01]: values .*(nan not|not nan)",
        "infinite terms of both signs are added in another order",
        "--slow",
    ),
    Known(
        "unique_dim",
        "NAN.*value: values",
        "PyTorch's comparison of rows passes over NaN, which makes no order of them; ours sorts NaN last",
        "--explore",
    ),
    Known(
        "group_norm",
        "value: values (-?inf not nan(; )?)+$",
        "PyTorch multiplies the input and its mean by an infinite weight before it takes one from the other",
        "--explore",
        when=lambda one: bool(np.isinf(one.args[2]).any()),
    ),
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
