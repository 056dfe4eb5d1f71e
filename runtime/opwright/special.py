"""The operators `special_*` under the names that `torch.special` has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.missing import missing_from
from opwright_aten.ops import special_digamma as digamma
from opwright_aten.ops import special_entr as entr
from opwright_aten.ops import special_erf as erf
from opwright_aten.ops import special_erfc as erfc
from opwright_aten.ops import special_erfcx as erfcx
from opwright_aten.ops import special_erfinv as erfinv
from opwright_aten.ops import special_exp2 as exp2
from opwright_aten.ops import special_expit as expit
from opwright_aten.ops import special_expm1 as expm1
from opwright_aten.ops import special_gammaln as gammaln
from opwright_aten.ops import special_i0 as i0
from opwright_aten.ops import special_i0e as i0e
from opwright_aten.ops import special_i1 as i1
from opwright_aten.ops import special_i1e as i1e
from opwright_aten.ops import special_log1p as log1p
from opwright_aten.ops import special_log_ndtr as log_ndtr
from opwright_aten.ops import special_log_softmax as log_softmax
from opwright_aten.ops import special_logit as logit
from opwright_aten.ops import special_logsumexp as logsumexp
from opwright_aten.ops import special_modified_bessel_i0 as modified_bessel_i0
from opwright_aten.ops import special_modified_bessel_i1 as modified_bessel_i1
from opwright_aten.ops import special_multigammaln as multigammaln
from opwright_aten.ops import special_ndtr as ndtr
from opwright_aten.ops import special_ndtri as ndtri
from opwright_aten.ops import special_polygamma as polygamma
from opwright_aten.ops import special_psi as psi
from opwright_aten.ops import special_round as round
from opwright_aten.ops import special_sinc as sinc
from opwright_aten.ops import special_softmax as softmax
from opwright_aten.ops import special_xlog1py as xlog1py
from opwright_aten.ops import special_xlogy as xlogy
from opwright_aten.ops import special_zeta as zeta

__all__ = [
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammaln",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "log1p",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "round",
    "sinc",
    "softmax",
    "xlog1py",
    "xlogy",
    "zeta",
]

if not TYPE_CHECKING:  # who checks types knows the names
    __getattr__ = missing_from(__name__, __all__)
