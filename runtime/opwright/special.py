"""The operators `special_*` under the names that `torch.special` has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.facade import missing_from
from opwright_aten.ops import special_airy_ai as airy_ai
from opwright_aten.ops import special_bessel_j0 as bessel_j0
from opwright_aten.ops import special_bessel_j1 as bessel_j1
from opwright_aten.ops import special_bessel_y0 as bessel_y0
from opwright_aten.ops import special_bessel_y1 as bessel_y1
from opwright_aten.ops import special_chebyshev_polynomial_t as chebyshev_polynomial_t
from opwright_aten.ops import special_chebyshev_polynomial_u as chebyshev_polynomial_u
from opwright_aten.ops import special_chebyshev_polynomial_v as chebyshev_polynomial_v
from opwright_aten.ops import special_chebyshev_polynomial_w as chebyshev_polynomial_w
from opwright_aten.ops import special_digamma as digamma
from opwright_aten.ops import special_entr as entr
from opwright_aten.ops import special_erf as erf
from opwright_aten.ops import special_erfc as erfc
from opwright_aten.ops import special_erfcx as erfcx
from opwright_aten.ops import special_erfinv as erfinv
from opwright_aten.ops import special_exp2 as exp2
from opwright_aten.ops import special_expit as expit
from opwright_aten.ops import special_expm1 as expm1
from opwright_aten.ops import special_gammainc as gammainc
from opwright_aten.ops import special_gammaincc as gammaincc
from opwright_aten.ops import special_gammaln as gammaln
from opwright_aten.ops import special_hermite_polynomial_h as hermite_polynomial_h
from opwright_aten.ops import special_hermite_polynomial_he as hermite_polynomial_he
from opwright_aten.ops import special_i0 as i0
from opwright_aten.ops import special_i0e as i0e
from opwright_aten.ops import special_i1 as i1
from opwright_aten.ops import special_i1e as i1e
from opwright_aten.ops import special_laguerre_polynomial_l as laguerre_polynomial_l
from opwright_aten.ops import special_legendre_polynomial_p as legendre_polynomial_p
from opwright_aten.ops import special_log1p as log1p
from opwright_aten.ops import special_log_ndtr as log_ndtr
from opwright_aten.ops import special_log_softmax as log_softmax
from opwright_aten.ops import special_logit as logit
from opwright_aten.ops import special_logsumexp as logsumexp
from opwright_aten.ops import special_modified_bessel_i0 as modified_bessel_i0
from opwright_aten.ops import special_modified_bessel_i1 as modified_bessel_i1
from opwright_aten.ops import special_modified_bessel_k0 as modified_bessel_k0
from opwright_aten.ops import special_modified_bessel_k1 as modified_bessel_k1
from opwright_aten.ops import special_multigammaln as multigammaln
from opwright_aten.ops import special_ndtr as ndtr
from opwright_aten.ops import special_ndtri as ndtri
from opwright_aten.ops import special_polygamma as polygamma
from opwright_aten.ops import special_psi as psi
from opwright_aten.ops import special_round as round
from opwright_aten.ops import special_scaled_modified_bessel_k0 as scaled_modified_bessel_k0
from opwright_aten.ops import special_scaled_modified_bessel_k1 as scaled_modified_bessel_k1
from opwright_aten.ops import special_shifted_chebyshev_polynomial_t as shifted_chebyshev_polynomial_t
from opwright_aten.ops import special_shifted_chebyshev_polynomial_u as shifted_chebyshev_polynomial_u
from opwright_aten.ops import special_shifted_chebyshev_polynomial_v as shifted_chebyshev_polynomial_v
from opwright_aten.ops import special_shifted_chebyshev_polynomial_w as shifted_chebyshev_polynomial_w
from opwright_aten.ops import special_sinc as sinc
from opwright_aten.ops import special_softmax as softmax
from opwright_aten.ops import special_spherical_bessel_j0 as spherical_bessel_j0
from opwright_aten.ops import special_xlog1py as xlog1py
from opwright_aten.ops import special_xlogy as xlogy
from opwright_aten.ops import special_zeta as zeta

__all__ = [
    "airy_ai",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammainc",
    "gammaincc",
    "gammaln",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "log1p",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "round",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
    "sinc",
    "softmax",
    "spherical_bessel_j0",
    "xlog1py",
    "xlogy",
    "zeta",
]

if not TYPE_CHECKING:  # who checks types knows the names
    __getattr__ = missing_from(__name__, __all__)
