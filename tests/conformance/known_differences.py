"""What PyTorch does and we do not, each with its reason; the oracle tests pass over these and over nothing else."""

from __future__ import annotations

import numpy as np
from excuses import Known, Table
from sampling import FLOAT32, Sample

_ROW_MAJOR_OUT = (
    "(add|sub|mul|div|floor_divide|fill)[.]Scalar_out",
    "rsub[.].*_out",
    "div.Scalar_mode_out",
    ".*[.]Scalar_Tensor_out",
    "(relu|isnan|isinf|copy|zero)[.]out",
    "__[lr]shift__[.](Tensor|Scalar)_out",
    "(put|index_put|uniform|random|normal)[.]out",
    "(flip|roll|rot90|channel_shuffle|pixel_shuffle|pixel_unshuffle)[.]out",
    "((slice|select|diagonal)_scatter|constant_pad_nd)[.]out",
    "index_fill.*_out",
    "fill.Tensor_out",
    "_fft_(r2c|c2r|c2c)[.]out",
    "hardswish_backward[.]out",
    "random[.].*_out",
)


def _is_short_of_whole(one: Sample) -> bool:
    """Whether rounding a quotient of short floats makes a whole number of what is less."""
    numerator, divisor = (np.asarray(each) for each in one.args[:2])
    with np.errstate(all="ignore"):
        quotient = numerator.astype(FLOAT32) / divisor.astype(FLOAT32)
        return bool((np.trunc(quotient.astype(numerator.dtype).astype(FLOAT32)) != np.trunc(quotient)).any())


def _has_nan(one: Sample) -> bool:
    return any(np.isnan(each).any() for each in one.args if isinstance(each, np.ndarray))


KNOWN = Table(
    "known_differences.KNOWN",
    Known(".*", "ComplexHalf", "NumPy has no complex32: half with complex gives complex64"),
    Known(
        "(add|sub|subtract)_?[.]Scalar.*",
        r"complex.*inf\): values",
        "PyTorch multiplies the infinite number by a complex alpha of 1: inf * 0 is NaN",
    ),
    Known(
        "(clamp|clip)_?[.]Tensor.*",
        "bool.*clamp_cpu.*Bool",
        "bool is ordered, so clamping it is served, as with one bound it is in PyTorch",
    ),
    Known(
        "(div|divide)_?[.](Tensor|out)_mode",
        "float16.*'trunc'.*values",
        "PyTorch rounds a quotient of short floats before it is truncated, but not by a divisor of one element",
        only="--explore",
        when=_is_short_of_whole,
    ),
    Known("prod.*", "bfloat16.*values", "PyTorch rounds partial products to bfloat16; ours are float32"),
    Known(
        "_?(log_)?softmax.*|randn_like.*",
        r"int64\[2, 0, 4\].*not " r"implemented for int64",
        "PyTorch refuses dtypes only where there are elements",
    ),
    Known(
        "index_put_?.*",
        "uint8.*masked_fill_ only supports boolean masks",
        "a uint8 mask serves for one value as it does for several",
    ),
    Known("cat.*|concat.*", r"\(\[\]\): raises DispatchError", "an empty list has no tensor to dispatch on"),
    Known("index_add_?", "alpha=1j.*IndexError", "PyTorch converts alpha between its checks of positions"),
    Known("_upsample_.*_aa", "float16.*not implemented for", "short floats are served as by other ways of resizing"),
    Known("take_along_dim.*", r"int64\[1, 1\].*out of bounds", "PyTorch does not check positions that are broadcast"),
    Known(
        "stack", r"\[60, 1, 15, 3\].*strides", "PyTorch's serial stack keeps channels-last strides; ours is contiguous"
    ),
    Known(
        ".*_backward(_jvp)?[.].*",
        "resized out: strides",
        "these are made of others, and what they give is copied into `out`, which is row-major",
    ),
    Known(
        "(elu|hardtanh|hardswish|hardshrink|softshrink|logit)_backward.*",
        "values",
        "PyTorch's vectorised loop makes another thing of NaN and -0.0 than its scalar one; ours is the scalar one's",
        when=_has_nan,
    ),
    Known(
        ".*_backward[.]grad_input|_(log_)?softmax_backward_data[.]out",
        "strided out: (values|strides|no error, but PyTorch raises RuntimeError: grad_input must be contiguous)",
        "PyTorch's kernels write to a contiguous one: of others they write wrong elements, move their memory or refuse",
    ),
    Known(
        "binary_cross_entropy_backward.grad_input",
        "resized out: (shape|no error, but PyTorch raises RuntimeError: The size of tensor)",
        "PyTorch does not resize it",
    ),
    Known("_embedding_bag(_dense)?_backward.*", ", 5, True, .*values", "PyTorch divides by the number of another row"),
    Known("hardsigmoid_backward.*", "float64.*values", "PyTorch's 1/6 has single precision"),
    Known("gelu_backward.*", "tanh.*values", "PyTorch loses digits where tanh is nearly -1"),
    Known("copy", r"\[48, 16, 2\].*strides", "PyTorch's copy keeps gaps between the elements; ours is dense"),
    Known("linspace", "'bool'", "PyTorch refuses bool only from two steps on"),
    Known(
        "linspace",
        "'uint8'.*(values|without overflow)",
        "PyTorch wraps each term around in uint8, and its steps with them",
    ),
    Known(
        "(add|sub|rsub|subtract)_?[.].*",
        r"bfloat16\[3\].*float32\[\].*values",
        "a 0-dim operand is rounded to bfloat16 in long arrays, not in short ones",
    ),
    Known(
        "_?log_softmax.*|cross_entropy_loss",
        "bfloat16.*-1.*values",
        "PyTorch rounds the sum of exponentials to bfloat16 along the last dimension",
    ),
    Known(
        "(baddbmm|addbmm)_?",
        "must have 3 dimensions.*Dimension out of range",
        "an operand of another rank is a RuntimeError whatever the rank",
    ),
    Known("addbmm", "bfloat16.*values", "PyTorch rounds to bfloat16 after each matrix; ours is one product in float32"),
    Known(
        "cholesky_solve[.]out|cholesky_inverse[.]out|triangular_solve[.]X",
        "out: strides",
        "PyTorch resizes `out` to row-major, and makes an empty one column-major; ours has the functional's strides",
    ),
    Known(
        "linalg_pinv.atol_rtol_float",
        "2 or more dimensions.*IndexError",
        "PyTorch looks at the last two sizes before it checks that they are there",
    ),
    Known("logdet", "complex.*nanj", "the logarithm of a complex 0 is -inf, as in C; PyTorch's has a NaN in it"),
    Known("linalg_solve_triangular", "have the same dtype", "PyTorch reads one dtype's memory as the other's"),
    Known("kron", "view size is not compatible", "PyTorch views a product that is not contiguous; ours copies it"),
    Known("(hann|hamming)_window.*", "float16.*values", "PyTorch rounds each step; ours are rounded once"),
    Known(
        "(fill|zero|masked_fill|random|normal|uniform|bernoulli|threshold|rrelu)_.*",
        "more than one element of the written-to tensor",
        "we refuse writes to repeated elements",
    ),
    Known(
        "|".join(_ROW_MAJOR_OUT),
        "resized out: strides",
        "PyTorch makes these from the functional operator and resizes `out` to row-major; ours has the functional's "
        "strides",
    ),
    Known(
        "fft_(ifft|ihfft)[.]out",
        "resized out: strides",
        "PyTorch resizes `out` to the strides of the transform, but to row-major in all other transforms, as ours",
    ),
    Known(
        "fft_fftfreq[.]out",
        "strided out: values",
        "PyTorch writes the negative frequencies to a part of `out`, which it makes contiguous: they are lost",
    ),
    Known(
        "nansum.*|nanmean.*",
        r"bfloat16\[2, 3, 4\]/\[48, 16, 2\], None.*values",
        "PyTorch sums bfloat16 with gaps in bfloat16; ours is float32",
    ),
    Known(
        "(special_)?logsumexp.*", "bfloat16.*values", "PyTorch rounds the sum of exponentials to bfloat16 on the way"
    ),
    Known(
        "(special_)?logsumexp.*",
        r"\[\], False.*output with shape",
        "no dimension means every one, as with keepdim=True; PyTorch then drops none of them",
    ),
    Known(
        "norm[.](ScalarOpt_dtype|ScalarOpt_dim_dtype|dtype_out).*",
        "complex.*Expected out tensor to have dtype",
        "PyTorch wants a complex dtype for complex input, and then fails to make the result",
    ),
    Known(
        "diff.out",
        r", 1, 0\): resized out: strides",
        "a copy along a dimension of size 1, whose strides are nobody's business",
    ),
    Known("normal.out", "strided out: values", "PyTorch draws by the gaps of `self`, ours by those of `out`"),
    Known(
        "(_softmax|_log_softmax|narrow_copy)[.]out",
        "strided out: values|bfloat16.*resized out: values",
        "PyTorch writes wrong values into an `out` with gaps",
    ),
    Known(
        "(reflection|replication)_pad[123]d[.]out",
        "strided out: strides",
        "PyTorch gives an `out` with gaps other strides, though its shape is right",
    ),
    Known("mH|adjoint", "complex.*: strides", "a conjugate is a new dense tensor, there being no lazy one"),
    Known("pixel_unshuffle", r"\[0, 4, 2, 2\]", "PyTorch leaves an empty image in its shape"),
    Known(
        "_?convolution.*", "complex.*no error, but", "PyTorch takes complex numbers apart above it; here it serves them"
    ),
    Known(
        "convolution[.]out", "resized out: strides", "PyTorch resizes `out` to row-major; ours is as the functional's"
    ),
    Known(
        "im2col|avg_pool2d",
        r"\[6, 5\].*not IndexError",
        "a 2-d image is refused like any other with a dimension missing",
    ),
    Known("max_pool1d", "int.*no error, but", "integers are served, as in max_pool1d_with_indices"),
    Known("_?adaptive_avg_pool3d.*", "bfloat16.*values", "PyTorch rounds partial sums to bfloat16; ours are float32"),
    Known(
        "adaptive_avg_pool3d",
        r"\[1, 1, 1\].*: strides",
        "dimensions of size 1 have row-major strides, as those of other sizes have",
    ),
    Known("_adaptive_avg_pool[23]d[.]out", "resized out: strides", "PyTorch makes it from the functional operator"),
    Known("max_pool3d_with_indices[.]out", "strided out: strides", "PyTorch changes the strides of an `out` that fits"),
    Known(
        "(adaptive_max_pool3d|avg_pool3d)[.]out",
        "strided out: values",
        "PyTorch writes wrong values into an `out` with gaps",
    ),
    Known("(im2col|col2im)[.]out", "strided out: values", "PyTorch writes wrong values into an `out` with gaps"),
    Known("upsample_(bilinear|bicubic)2d.*", "uint8.*not implemented", "PyTorch interpolates bytes in fixed point"),
    Known("native_dropout", r"\[2, 0, 4\]", "the mask of nothing is bool, as that of something is"),
    Known(
        "_scaled_dot_product_flash_attention_for_cpu(_backward)?",
        "strides",
        "PyTorch's heads lie beside each other; ours are row-major, and gradients lie as their operands",
    ),
    Known("scaled_dot_product_attention", "bfloat16.*values", "PyTorch's fused kernel rounds weights to bfloat16"),
    Known(
        "scaled_dot_product_attention",
        r"\[2, 3, 4, 4\].*do not fit",
        "PyTorch's fused kernel does not compare the lengths of keys and values",
    ),
    Known(
        "(_fused_)?rms_norm", r"/\[1, 4, 12\].*: strides", "PyTorch's is row-major; ours has the layout of its factors"
    ),
    Known("native_group_norm", "X.is_contiguous", "any layout is served"),
    Known(
        "(group|instance)_norm",
        r"\[2, [34]\].*values",
        "a group of one element is its mean; PyTorch's differ by rounding",
    ),
    Known(
        ".*batch_norm.*|instance_norm",
        "float16.*True.*values",
        "PyTorch rounds mean and deviation to the input's dtype before it uses them",
    ),
    Known(
        "batch_norm", r"\(float32\[3\].*not RuntimeError", "without channels, there is no other error to speak of first"
    ),
    Known("instance_norm", r"\[0, 3, 4, 3\].*select", "an empty batch is served"),
    Known(
        "(_native_batch_norm_legit.no_stats_out|native_dropout.out|native_group_norm.out)",
        "resized out: strides",
        "PyTorch resizes `out` to row-major",
    ),
    Known(
        "random_?[.]to(_out)?",
        "float.*8589934592.*values",
        "PyTorch moves bounds beyond the mantissa to representable numbers",
    ),
    Known("log_sigmoid_forward.output", "strided out: strides", "PyTorch gives `out` new strides; ours keeps its own"),
    Known(
        "nll_loss(2d|_nd)?(_forward([.]output)?|[.]out)?",
        "float16.*[12], -?[0-9]+[)]: .*values",
        "PyTorch rounds partial sums to float16; ours are float32",
    ),
    Known("nll_loss2d(_forward)?", r"float32\[4, 1\].*for all 4 classes", "weights are 1-d for images too"),
    Known(
        "kl_div",
        r"float16\[[0-9, ]*\]/\[[0-9, ]*\](, \d)?\): values",
        "PyTorch rounds the logarithm of a short target to its dtype; ours is rounded with the product",
    ),
    Known(
        "log_softmax",
        r"^[(]b?float16\[.*values",
        "PyTorch rounds the sum of exponentials to the dtype along the last dimension",
    ),
    Known(
        "_?embedding_bag.*",
        r"True(, (-?1|None))?[)]: shape",
        "PyTorch counts the end of the last bag as a bag, in the sizes that a sum leaves at 0",
    ),
    Known(
        "multi_head_attention_forward",
        "bfloat16.*values",
        "PyTorch adds the mask before it rounds products to the dtype",
    ),
    Known(
        "_ctc_loss.*",
        r"float(32|64)\[(6, 2, 4|2)\].*: values",
        "PyTorch leaves what follows a sequence's last step or label as memory held it; ctc_loss compares the losses",
    ),
    Known(
        "grid_sample(r(_[23]d)?(.out)?)?|affine_grid",
        "^[(]b?float16.*values",
        "PyTorch rounds places and weights to the dtype; ours are float32 until the end",
    ),
    Known("instance_norm", r"^[(]float16.*values", "PyTorch rounds steps between to float16"),
    Known(
        "interpolate",
        "float16.*(linear|cubic).*values",
        "PyTorch rounds after each dimension; ours once, at the end",
    ),
    Known("multilabel_margin_loss_forward.output", "must be contiguous", "`is_target` may have any strides"),
    Known(
        "(mse_loss|smooth_l1_loss|huber_loss|soft_margin_loss|binary_cross_entropy).out",
        "strided out: .*not resizable|resized out: (strides|values .* not nan)",
        "PyTorch uses `out` for the losses before they are reduced, and loses it where it has to resize it",
    ),
    Known(
        "rrelu_with_noise.out|binary_cross_entropy.out",
        r"(\[2, 0, 4\].*|None, 0\)): resized out: shape .*, not \(0,\)",
        "PyTorch leaves an empty `out` as it is: of nothing the one, where it reduces nothing the other",
    ),
    Known(
        "(special_)?polygamma_?(.out)?", r"1, float64.*values|float64.*, 1\): values", "PyTorch's is right to 1e-9 only"
    ),
    Known("special_bessel_.*", "float64.*values", "PyTorch's have 7 digits beyond 5: a leading coefficient is missing"),
    Known("special_airy_ai.*", "float(32|64).*values", "PyTorch's has 6 digits below -2, and fewer from 2.09 on"),
    Known(
        "special_bessel_[jy][01].*",
        r"\bint(16|32)\[.*values",
        "PyTorch's lose the phase of large whole numbers in float32: 3 digits at 32767, none at 2**31; ours have 7",
    ),
    Known(
        "special_airy_ai.*",
        r"\bint(8|16|32|64)\[.*values",
        "PyTorch's loses the phase in float32: 6 digits at -128, 1 at -32768, none at -2**31, where ours has 3",
    ),
    Known(
        "linalg_(inv|solve|solve_ex|lu_factor|cholesky).out|linalg_eigh.eigvals|linalg_svd.U|svd.U|qr.Q|inverse.out|"
        "linalg_ldl_factor.out|linalg_lstsq.out|linalg_householder_product.out|orgqr.out|lu_solve.out",
        "out: strides",
        "PyTorch makes matrices in an empty `out` column-major; that of a composite becomes row-major here",
    ),
    Known("linalg_ldl_solve.*", "IndexError", "PyTorch looks at a dimension before it says that there are too few"),
    Known("linalg_lstsq.*", r"\[5, 0\].*gels'.*values", "PyTorch takes no columns to leave no residual"),
    Known("gradient[.]tensor.*", r"float64\[3\].*raises", "PyTorch broadcasts places that are too many, or too few"),
    Known(
        "(nonzero|rrelu_with_noise).out",
        "resized out: strides",
        "PyTorch lays an empty `out` out as its kernel writes; that of a composite becomes row-major here",
    ),
    Known(
        "adaptive_avg_pool[23]d.out|max_unpool[23]d.out|fractional_max_pool[23]d.output",
        "strided out: (values|strides|.*must be contiguous)|resized out: strides",
        "PyTorch gives an `out` of the right shape other strides, and may write it in the wrong order",
    ),
    Known(
        "(_native_batch_norm_legit|native_batch_norm).out",
        r"float32\[2, 3, 4, 3\]/\[36, 1, 9, 3\].*values",
        "PyTorch writes channels-last results into the row-major `out` as if that were channels-last",
    ),
)


def is_known(name: str, sample: Sample, problem: str) -> bool:
    """Whether a difference is one of KNOWN."""
    return KNOWN.covers(name, f"{sample}: {problem}", sample)


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
