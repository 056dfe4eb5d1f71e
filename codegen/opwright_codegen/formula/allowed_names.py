"""The lists of what formulas may name of NumPy and of values: all else is refused.

A schema file is data: whoever generates code from it, and calls that, runs nothing but arithmetic on the arguments. So
these are lists of what is allowed. A function is here if it computes arrays from arrays, NumPy and CuPy both have it,
and no argument of it makes it read, write, load, call or format anything, or reach memory that is not its arguments'
(`empty`, `frombuffer`, `as_strided`, `fromfunction`, `vectorize` are not).
"""

from __future__ import annotations

from typing import Final

from opwright_codegen.formula.ufuncs import UFUNCS

__all__ = [
    "ARRAY_CONSTANTS", "ARRAY_FACTS", "ARRAY_FUNCTIONS", "ARRAY_METHODS", "RESULT_FACTS", "TENSOR_FACTS",
    "TENSOR_METHODS", "UFUNC_METHODS", "VALUES", "may_be_method",
]  # fmt: skip

_CREATION = (
    "arange array asarray ascontiguousarray copy diag diag_indices diagflat eye full full_like identity indices "
    "linspace logspace meshgrid ones ones_like tri tril tril_indices triu triu_indices vander zeros zeros_like "
    "bartlett blackman hamming hanning kaiser"
)
_SHAPES = (
    "append array_split atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_to column_stack concatenate "
    "dsplit dstack expand_dims flip fliplr flipud hsplit hstack moveaxis ndim ravel repeat reshape roll rollaxis rot90 "
    "shape size split squeeze stack swapaxes tile transpose vsplit vstack"
)
_REDUCTIONS = (
    "all allclose amax amin any argmax argmin array_equal average count_nonzero cumprod cumsum max mean median min "
    "nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanprod nanstd nansum nanvar percentile "
    "prod ptp quantile std sum trapezoid var"
)
_SEARCHES = (
    "argpartition argsort argwhere bincount choose clip compress diff digitize extract flatnonzero gradient histogram "
    "isclose isin lexsort nonzero partition ravel_multi_index searchsorted select sort take take_along_axis unique "
    "unravel_index where"
)
_ALGEBRA = (
    "convolve correlate cross diagonal dot einsum inner interp kron outer polyval tensordot trace unwrap vdot "
    "linalg.cholesky linalg.det linalg.eigh linalg.eigvalsh linalg.inv linalg.lstsq linalg.matrix_power "
    "linalg.matrix_rank linalg.norm linalg.pinv linalg.qr linalg.slogdet linalg.solve linalg.svd "
    "fft.fft fft.fft2 fft.fftfreq fft.fftn fft.fftshift fft.hfft fft.ifft fft.ifft2 fft.ifftn fft.ifftshift fft.ihfft "
    "fft.irfft fft.irfft2 fft.irfftn fft.rfft fft.rfft2 fft.rfftfreq fft.rfftn"
)
_VALUES = (
    "angle around can_cast divmod finfo fix frexp i0 iinfo imag isneginf isposinf isreal modf nan_to_num "
    "promote_types real result_type round sinc"
)
_DTYPES = (
    "bool_ complex64 complex128 float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64"
)  # fmt: skip
_DTYPE_NAMES = frozenset(_DTYPES.split())

ARRAY_CONSTANTS: Final = frozenset(("e", "inf", "nan", "newaxis", "pi")) | _DTYPE_NAMES
ARRAY_FUNCTIONS: Final = (
    frozenset(UFUNCS)
    | _DTYPE_NAMES
    | {name for names in (_CREATION, _SHAPES, _REDUCTIONS, _SEARCHES, _ALGEBRA, _VALUES) for name in names.split()}
)
UFUNC_METHODS: Final = frozenset(("accumulate", "outer", "reduce"))

# Of dtypes, of what `finfo` tells and of what functions of `linalg` return: arrays have none of these.
RESULT_FACTS: Final = frozenset(
    (
        "kind", "name", "bits", "eps", "resolution", "smallest_normal", "tiny",
        "Q", "R", "S", "U", "Vh", "eigenvalues", "eigenvectors", "logabsdet", "sign",
    )
)  # fmt: skip
# Of these and of arrays: read, not called.
ARRAY_FACTS: Final = RESULT_FACTS | frozenset(
    (
        "T", "dtype", "imag", "itemsize", "mT", "nbytes", "ndim", "real", "shape", "size", "strides", "max", "min",
    )
)  # fmt: skip
ARRAY_METHODS: Final = frozenset(
    (
        "all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "choose", "clip", "compress",
        "conj", "conjugate", "copy", "cumprod", "cumsum", "diagonal", "dot", "flatten", "item", "max", "mean",
        "min", "nonzero", "prod", "ravel", "repeat", "reshape", "round", "searchsorted", "squeeze", "std",
        "sum", "swapaxes", "take", "tolist", "trace", "transpose", "var", "view",
    )
)  # fmt: skip

# Of tensors and dtypes in composites, in formulas of derivatives and in `meta`, beside the operators that are methods.
TENSOR_FACTS: Final = frozenset(
    (
        "H", "T", "device", "dtype", "imag", "index", "is_cuda", "is_leaf", "is_meta", "itemsize", "kind",
        "layout", "mH", "mT", "name", "nbytes", "ndim", "real", "requires_grad", "shape", "size", "strides", "type",
    )
)  # fmt: skip
TENSOR_METHODS: Final = frozenset(
    (
        "bfloat16", "bool", "byte", "cdouble", "cfloat", "char", "double", "float", "half", "int", "long", "short",
        "clone", "conj", "conjugate", "contiguous", "cpu", "detach", "dim", "element_size", "expand",
        "expand_as", "get_device", "is_complex", "is_conj", "is_contiguous", "is_floating_point",
        "is_same_size", "item", "nelement", "new_empty", "new_full", "new_ones", "new_tensor", "new_zeros",
        "numel", "reshape", "reshape_as", "size", "storage_offset", "stride", "sum_to_size", "sym_numel",
        "sym_size", "sym_sizes", "sym_storage_offset", "sym_strides", "to", "tolist", "type_as", "view",
        "view_as",
    )
)  # fmt: skip

# Builtins that may be passed on: types, which arrays take for dtypes. All others are called where they are named.
VALUES: Final = frozenset(("float", "int"))

# What arrays, texts and tensors have under these names is no operator, whatever a schema file declares.
_NEVER_METHODS: Final = frozenset(
    (
        "backward", "byteswap", "ctypes", "data_ptr", "decode", "dump", "dumps", "encode", "format",
        "format_map", "getfield", "newbyteorder", "numpy", "register_hook", "resize", "set_", "setfield",
        "setflags", "share_memory_", "tobytes", "tofile", "tostring", "translate",
    )
)  # fmt: skip


def may_be_method(operator: str) -> bool:
    """Whether a formula may call an operator of this name as a method of a value."""
    return operator not in _NEVER_METHODS and not operator.startswith("__")
