"""Calls of operators of ATen that drawing does not find: their arguments follow from each other."""

from __future__ import annotations

import numpy as np

from opwright_gate.examples import example

_RNG = np.random.default_rng(7)


def some(*shape: int) -> np.ndarray:
    return _RNG.uniform(-2, 2, shape)


def shares(*shape: int) -> np.ndarray:
    return _RNG.uniform(0.1, 0.9, shape)


def spectrum(*shape: int) -> np.ndarray:
    return some(*shape) + 1j * some(*shape)


def positive_definite(size: int) -> np.ndarray:
    made = some(size, size)
    return made @ made.T + np.eye(size)


def give(names: str, *args: object, **kwargs: object) -> None:
    for name in names.split():
        example(f"aten::{name}", *args, **kwargs)


CONV = ([1, 1], [1, 0], [1, 1], False, [0, 0], 1)
give("_convolution", some(2, 3, 7, 5), some(4, 3, 3, 2), some(4), *CONV, False, False, True, True)
give(
    "_convolution.out",
    some(2, 3, 7, 5),
    some(4, 3, 3, 2),
    some(4),
    *CONV,
    False,
    False,
    True,
    True,
    out=some(2, 4, 7, 4),
)
give("convolution", some(2, 3, 7, 5), some(4, 3, 3, 2), some(4), *CONV)
give("convolution.out", some(2, 3, 7, 5), some(4, 3, 3, 2), some(4), *CONV, out=some(2, 4, 7, 4))
BACKWARD = (some(2, 4, 7, 4), some(2, 3, 7, 5), some(4, 3, 3, 2), [4], *CONV, [True, True, True])
give("convolution_backward", *BACKWARD)
give("convolution_backward.out", *BACKWARD, out0=some(2, 3, 7, 5), out1=some(4, 3, 3, 2), out2=some(4))

MEANS = (some(4, 3), some(4, 3), [3], some(4, 1), shares(4, 1), some(3), some(3), [True, True, True])
give("native_layer_norm_backward", *MEANS)
give("native_layer_norm_backward.out", *MEANS, out0=some(4, 3), out1=some(3), out2=some(3))

give("addbmm addbmm_", some(2, 4), some(3, 2, 5), some(3, 5, 4))
give("addbmm.out", some(2, 4), some(3, 2, 5), some(3, 5, 4), out=some(2, 4))
give("addmv_", some(2), some(2, 3), some(3))
give("addr_", some(2, 3), some(2), some(3))
give("cholesky linalg_cholesky", positive_definite(3))
give("cholesky.out linalg_cholesky.out", positive_definite(3), out=some(3, 3))
PIVOTS = np.array([1, 3, 3], np.int32)
give("linalg_lu_solve linalg_ldl_solve", some(3, 3), PIVOTS, some(3, 2))
give("linalg_lu_solve.out linalg_ldl_solve.out", some(3, 3), PIVOTS, some(3, 2), out=some(3, 2))
give("lu_solve", some(3, 2), some(3, 3), PIVOTS)
give("lu_solve.out", some(3, 2), some(3, 3), PIVOTS, out=some(3, 2))
give("orgqr.out", some(4, 3), some(3), out=some(4, 3))

give("fft_rfft.out fft_ihfft.out", some(3, 4), out=spectrum(3, 3))
give("fft_rfft2.out fft_rfftn.out fft_ihfft2.out fft_ihfftn.out", some(2, 3, 4), out=spectrum(2, 3, 3))
give("_fft_r2c.out", some(3, 4), [1], 0, True, out=spectrum(3, 3))
give("complex.out", some(2, 3), some(2, 3), out=spectrum(2, 3))
give("polar.out", shares(2, 3), some(2, 3), out=spectrum(2, 3))
give("view_as_complex_copy.out", some(3, 2), out=spectrum(3))

CLASSES = np.array([[0, 2, 1, 1], [1, 0, 2, 2]])
give("binary_cross_entropy", shares(2, 3), shares(2, 3))
give("binary_cross_entropy.out", shares(2, 3), shares(2, 3), out=some(1).reshape(()))
give("binary_cross_entropy_with_logits", some(2, 3), shares(2, 3))
give("binary_cross_entropy_with_logits.out", some(2, 3), shares(2, 3), out=some(1).reshape(()))
give("kl_div", some(2, 3), shares(2, 3))
give("nll_loss2d nll_loss2d_forward", some(2, 3, 1, 4), CLASSES[:, None], None, 1, -100)
OUT = {"output": some(1).reshape(()), "total_weight": some(1).reshape(())}
give("nll_loss2d_forward.output", some(2, 3, 1, 4), CLASSES[:, None], None, 1, -100, **OUT)
give("nll_loss_forward.output", some(4, 3), CLASSES[0], None, 1, -100, **OUT)
OUT = {"output": some(2), "is_target": some(2, 4)}
give("multilabel_margin_loss_forward.output", some(2, 4), np.array([[1, 3, -1, 0], [2, -1, 0, 0]]), 0, **OUT)
LENGTHS = (np.array([5, 4]), np.array([2, 3]))
give("_ctc_loss ctc_loss", np.log(shares(5, 2, 4)), CLASSES[:, 1:] % 3 + 1, *map(list, LENGTHS))
give("_ctc_loss.Tensor ctc_loss.Tensor", np.log(shares(5, 2, 4)), CLASSES[:, 1:] % 3 + 1, *LENGTHS)

give("_assert_async", np.array(True))
give("_assert_async.msg", np.array(True), "as expected")
give("item", some(1))
give("affine_grid_generator", some(2, 2, 3), [2, 3, 4, 5], False)
give("empty_permuted", [2, 3, 4], [2, 0, 1])
give("fractional_max_pool3d", some(2, 6, 7, 8), [2, 2, 2], [3, 3, 4], shares(1, 2, 3))
give("_histogramdd_from_bin_tensors", some(7, 2), [np.array([-2.0, 0.0, 2.0]), np.array([-2.0, 1.0, 2.0])])
