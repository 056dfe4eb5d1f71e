"""The operators `linalg_*` under the names that `torch.linalg` has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.errors import LinAlgError
from opwright.facade import missing_from
from opwright_aten.ops import linalg_cholesky as cholesky
from opwright_aten.ops import linalg_cholesky_ex as cholesky_ex
from opwright_aten.ops import linalg_cond as cond
from opwright_aten.ops import linalg_cross as cross
from opwright_aten.ops import linalg_det as det
from opwright_aten.ops import linalg_diagonal as diagonal
from opwright_aten.ops import linalg_eig as eig
from opwright_aten.ops import linalg_eigh as eigh
from opwright_aten.ops import linalg_eigvals as eigvals
from opwright_aten.ops import linalg_eigvalsh as eigvalsh
from opwright_aten.ops import linalg_householder_product as householder_product
from opwright_aten.ops import linalg_inv as inv
from opwright_aten.ops import linalg_inv_ex as inv_ex
from opwright_aten.ops import linalg_ldl_factor as ldl_factor
from opwright_aten.ops import linalg_ldl_factor_ex as ldl_factor_ex
from opwright_aten.ops import linalg_ldl_solve as ldl_solve
from opwright_aten.ops import linalg_lstsq as lstsq
from opwright_aten.ops import linalg_lu as lu
from opwright_aten.ops import linalg_lu_factor as lu_factor
from opwright_aten.ops import linalg_lu_factor_ex as lu_factor_ex
from opwright_aten.ops import linalg_lu_solve as lu_solve
from opwright_aten.ops import linalg_matmul as matmul
from opwright_aten.ops import linalg_matrix_exp as matrix_exp
from opwright_aten.ops import linalg_matrix_norm as matrix_norm
from opwright_aten.ops import linalg_matrix_power as matrix_power
from opwright_aten.ops import linalg_matrix_rank as matrix_rank
from opwright_aten.ops import linalg_matrix_sqrth as matrix_sqrth
from opwright_aten.ops import linalg_multi_dot as multi_dot
from opwright_aten.ops import linalg_norm as norm
from opwright_aten.ops import linalg_pinv as pinv
from opwright_aten.ops import linalg_polar as polar
from opwright_aten.ops import linalg_qr as qr
from opwright_aten.ops import linalg_slogdet as slogdet
from opwright_aten.ops import linalg_solve as solve
from opwright_aten.ops import linalg_solve_ex as solve_ex
from opwright_aten.ops import linalg_solve_triangular as solve_triangular
from opwright_aten.ops import linalg_svd as svd
from opwright_aten.ops import linalg_svdvals as svdvals
from opwright_aten.ops import linalg_tensorinv as tensorinv
from opwright_aten.ops import linalg_tensorsolve as tensorsolve
from opwright_aten.ops import linalg_vander as vander
from opwright_aten.ops import linalg_vecdot as vecdot
from opwright_aten.ops import linalg_vector_norm as vector_norm

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "ldl_factor",
    "ldl_factor_ex",
    "ldl_solve",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_sqrth",
    "multi_dot",
    "norm",
    "pinv",
    "polar",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]

if not TYPE_CHECKING:  # who checks types knows the names
    __getattr__ = missing_from(__name__, __all__)
