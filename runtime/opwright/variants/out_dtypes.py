"""The dtypes that `out=` of ATen's operators may have, as PyTorch has them.

TensorIterator casts what it computed to the dtype of `out`, if that is no lower kind; other kernels, and elementwise
ones that compute in the dtype of their operand alone, write results of their own dtype only. Operators of other
namespaces cast.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from opwright_core.arrays.dtypes import COMPLEX, SCALAR_TYPE_NAME, DType, bool_, uint8
from opwright_core.dispatch.call.operator import find_operator

__all__ = ["check_of"]

Check = Callable[[DType, DType], None]

# Of these, which are not elementwise by their tags, or by those of what they are other names of, results are cast.
_CAST: Final = frozenset(
    """
    addr arccos arccosh arcsin arcsinh arctan arctan2 arctanh cat cholesky cholesky_inverse cholesky_solve
    column_stack concat concatenate cumprod cumsum diff divide dstack elu_backward fft_fft fft_fft2 fft_fftn
    fft_ifft fft_ifft2 fft_ifftn fft_ihfft2 fft_ihfftn fft_rfft fft_rfft2 fft_rfftn floor_divide gelu_backward geqrf
    ger glu greater greater_equal hardshrink_backward hardsigmoid_backward hardtanh_backward hstack huber_loss kron
    leaky_relu_backward less less_equal linalg_cond linalg_eig linalg_eigvals linalg_householder_product
    linalg_lstsq linalg_matrix_power linalg_matrix_rank linalg_pinv linalg_tensorinv linalg_tensorsolve logsumexp
    matrix_power max.unary_out min.unary_out mse_loss mse_loss_backward multiply not_equal orgqr outer row_stack
    smooth_l1_loss smooth_l1_loss_backward soft_margin_loss_backward softplus_backward softshrink_backward
    special_digamma special_erf special_erfc special_erfinv special_exp2 special_expit special_expm1
    special_gammainc special_gammaincc special_gammaln special_i0 special_log1p special_logit special_logsumexp
    special_multigammaln special_ndtr special_polygamma special_psi special_sinc special_xlogy stack std subtract
    threshold threshold_backward var vstack
    """.split()  # noqa: SIM905
)
# These compute in the dtype of `out`, where they take it, or draw numbers in it.
_IN_THAT_OF_OUT: Final = frozenset(
    """
    _fft_c2c _fft_c2r _fft_r2c _to_copy arange bartlett_window blackman_window empty eye fft_fftfreq fft_rfftfreq
    full full_like hamming_window hann_window kaiser_window linspace logspace mean nansum new_empty
    new_empty_strided new_full new_ones new_zeros ones ones_like prod scalar_tensor sum tril_indices triu_indices
    zeros zeros_like
    """.split()  # noqa: SIM905
)
# Elementwise operators whose results are not cast.
_EXACT: Final = frozenset(
    """
    __lshift__.Tensor_out __rshift__.Tensor_out _conj_physical abs bitwise_not ceil celu clamp.out clamp_max.out
    clamp_min.out clip.out clone conj_physical elu float_power floor frac frexp gelu hardshrink hardsigmoid hardtanh
    heaviside isinf isnan isneginf isposinf leaky_relu lerp.Tensor_out masked_fill mish nan_to_num neg relu round
    sgn sign signbit silu softplus softshrink trunc where
    """.split()  # noqa: SIM905
)
# What functions call where an operand is a number: PyTorch's call the overload of tensors.
_OF_NUMBERS: Final = frozenset(
    """
    add.Scalar_out bitwise_and.Scalar_Tensor_out bitwise_left_shift.Scalar_Tensor_out bitwise_or.Scalar_Tensor_out
    bitwise_right_shift.Scalar_Tensor_out bitwise_xor.Scalar_Tensor_out div.Scalar_mode_out div.Scalar_out
    floor_divide.Scalar_out mul.Scalar_out remainder.Scalar_Tensor_out sub.Scalar_out
    """.split()  # noqa: SIM905
)
_REAL: Final = frozenset("fft_hfft fft_hfft2 fft_hfftn fft_irfft fft_irfft2 fft_irfftn nanmean".split())  # noqa: SIM905
_TRUTH: Final = frozenset(("all", "any"))


def check_of(name: str) -> Check | None:
    """Return what raises RuntimeError for a result's dtype and that of `out`, for an operator by its qualified name;
    None where results are cast."""
    namespace, _, overloaded = name.partition("::")
    base = overloaded.partition(".")[0]
    keys = {base, overloaded}
    if namespace != "aten" or keys & (_CAST | _IN_THAT_OF_OUT | _OF_NUMBERS):
        return None
    if base in _TRUTH:
        return _check_truth
    if base in _REAL:
        return _check_real
    tags = find_operator(name).tags
    is_cast = ("pointwise" in tags and not keys & _EXACT) or "nondeterministic_seeded" in tags
    return None if is_cast else _check_same


def _check_same(dtype: DType, out: DType) -> None:
    if out is not dtype:
        raise _error(dtype, out)


def _check_real(dtype: DType, out: DType) -> None:
    if out in COMPLEX:
        raise _error(dtype, out)


def _check_truth(dtype: DType, out: DType) -> None:
    if out not in (bool_, uint8):
        raise _error(bool_, out)


def _error(dtype: DType, out: DType) -> RuntimeError:
    names = SCALAR_TYPE_NAME[dtype], SCALAR_TYPE_NAME[out]
    return RuntimeError(f"Expected out tensor to have dtype {names[0]}, but got {names[1]} instead")
