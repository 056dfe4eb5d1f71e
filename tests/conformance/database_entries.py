"""What is known of single entries of PyTorch's operator database: ours of another name, what is random, what differs,
what is left out; each with its reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from excuses import Known, Table

import opwright
from opwright.nn import functional

# The entries that are no operators of ours, by a pattern for their names.
LEFT_OUT: dict[str, str] = {
    r"jiterator_\w+": "compiles CUDA source that the caller writes: jit machinery",
    r"sparse\..+|to_sparse": "a result or an operand is a sparse tensor",
    r"torch\._scaled_mm\w*": "quantised: its operands are of eight bits, with scales",
    r"torch\.ops\.aten\._(flash|efficient)_attention_forward": "internal: CUDA kernels of attention",
}


def why_left_out(name: str) -> str | None:
    """Why an entry is left out; None where it is not."""
    return next((why for pattern, why in LEFT_OUT.items() if re.fullmatch(pattern, name)), None)


def _swapped(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its first two arguments exchanged, as the entry has them."""
    return lambda first, second, *args, **kwargs: function(second, first, *args, **kwargs)


def _attribute(name: str) -> Callable[..., Any]:
    return lambda tensor: getattr(tensor, name)


def _on_a_copy(method: str) -> Callable[..., Any]:
    return lambda tensor, *args, **kwargs: getattr(tensor.clone(), method)(*args, **kwargs)


def _triplet_margin(*args: Any, distance_function: Any = None, **kwargs: Any) -> Any:
    ours = None if distance_function is None else functional.pairwise_distance
    return functional.triplet_margin_with_distance_loss(*args, distance_function=ours, **kwargs)


def _pooled_backward(x: Any, *, stride: Any = None, return_indices: bool = False, **options: Any) -> Any:
    """The gradient of pooling for ones, as the entry calls it."""
    out, places = functional.max_pool2d(x, stride=stride, return_indices=True, **options)
    size, dilation = options["kernel_size"], options["dilation"]
    steps = [
        [each] if isinstance(each, int) else list(each)
        for each in (size, size if stride is None else stride, options["padding"], dilation)
    ]
    backward = opwright.ops.aten.max_pool2d_with_indices_backward
    return backward(opwright.ones_like(out), x, *steps, options["ceil_mode"], places)


def _singular(first: Any, second: Any) -> Any:
    return opwright.linalg.pinv(first @ second.mT)


_MODES = {"use_mm_for_euclid_dist": 1, "donot_use_mm_for_euclid_dist": 2, "use_mm_for_euclid_dist_if_necessary": 0}


def _distances(first: Any, second: Any, p: float = 2.0, mode: str | None = None) -> Any:
    return opwright.cdist(first, second, p, None if mode is None else _MODES[mode])


def _of_product(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of `first @ second.mT`, which has a low rank."""
    return lambda first, second, **kwargs: function(first @ second.mT, **kwargs)


def _solution(first: Any, second: Any, driver: str) -> Any:
    return opwright.linalg.lstsq(first, second, driver=driver)[:2]


def _operators(*names: str) -> dict[str, Callable[..., Any]]:
    return {name: getattr(opwright.ops.aten, name) for name in names}


# What has another name here, or takes its arguments in another order, by the name of the entry.
OURS: dict[str, Callable[..., Any]] = {
    **_operators("_upsample_bilinear2d_aa", "_batch_norm_with_update", "native_dropout_backward"),
    **{name: _attribute(name) for name in ("T", "H", "mT", "mH")},
    **{f"polygamma.polygamma_n_{order}": _swapped(opwright.polygamma) for order in range(5)},
    "special.polygamma.special_polygamma_n_0": _swapped(opwright.special.polygamma),
    "_segment_reduce": opwright.segment_reduce,
    "cdist": _distances,
    "einsum": _swapped(opwright.einsum),
    "linalg.lstsq.grad_oriented": _solution,
    "linalg.pinv.singular": _singular,
    "max_pool2d_with_indices_backward": _pooled_backward,
    "nn.functional.embedding": _swapped(functional.embedding),
    "nn.functional.embedding_bag": _swapped(functional.embedding_bag),
    "nn.functional.triplet_margin_with_distance_loss": _triplet_margin,
    "normal.in_place": _on_a_copy("normal_"),
    "pca_lowrank": _of_product(opwright.pca_lowrank),
    "svd_lowrank": _of_product(opwright.svd_lowrank),
    "torch.ops.aten._safe_softmax.default": opwright.ops.aten._safe_softmax,
    "where": _swapped(opwright.where),
    "zero_": _on_a_copy("zero_"),
}
# Entries that are methods, where the name in `opwright` is a dtype.
METHODS = frozenset("bfloat16 bool byte char double float half int long short cdouble cfloat chalf".split())  # noqa: SIM905

# What gives random or uninitialised elements, and when.
_ALWAYS = frozenset(
    "normal uniform exponential cauchy log_normal geometric bernoulli multinomial rand_like randn_like randint_like "  # noqa: SIM905
    "randint randn empty empty_like new_empty new_empty_strided empty_strided empty_permuted pca_lowrank svd_lowrank "
    "nn.functional.fractional_max_pool2d nn.functional.fractional_max_pool3d".split()
)
_DROPPED = re.compile(
    r"nn\.functional\.(\w*dropout\w*|rrelu|scaled_dot_product_attention|multi_head_attention_forward)"
)


def is_random(name: str, kwargs: dict[str, Any]) -> bool:
    """Whether a call of an entry draws numbers."""
    if name in _ALWAYS:
        return "_random_samples" not in kwargs
    if _DROPPED.fullmatch(name) is None:
        return False
    dropped = kwargs.get("dropout_p", kwargs.get("p", 0.5)) if "rrelu" not in name else 0.5
    return 0 < dropped < 1 and kwargs.get("training", True) is not False


# Entries that make many samples before they give one.
SLOW = frozenset(f"nn.functional.max_unpool{ndim}d{which}" for ndim in (1, 2, 3) for which in ("", ".grad")) | {
    "grid_sampler_3d",
    "nn.functional.ctc_loss",
    "linalg.pinv.hermitian",
}

# What chooses among equal elements: the position of `dim` behind the input, and whether only places are given.
TIED = {"topk": 1, "sort": 0, "kthvalue": 1, "mode": 0, "median": 0, "nanmedian": 0, "argsort": 0}

KNOWN_SAMPLES = Table(
    "database_entries.KNOWN_SAMPLES",
    Known(
        "addmv", "int.*floating point", "factors of whole numbers are whole; PyTorch cuts their fractions off", "--slow"
    ),
    Known("cholesky_(inverse|solve)", "gradient", "PyTorch gives the triangle that is not read a gradient, too"),
    Known(
        "as_strided_scatter", "gradient 0", "PyTorch gives what is written over a gradient, in place of what is kept"
    ),
    Known("matrix_exp", "float16", "PyTorch rounds each step to short floats, and overflows there"),
    Known("view_as_complex", "float16", "NumPy has no complex half"),
    Known(
        "grid_sampler_[23]d|nn.functional.grid_sample", "float16", "PyTorch rounds places and weights to short floats"
    ),
    Known("logcumsumexp", "float32.*gradient", "PyTorch takes logarithms of gradients, which cancel"),
    Known(
        "logcumsumexp",
        "complex64.*gradient",
        "angles of thousands are rounded to a thousandth in single precision",
        "--slow",
    ),
    Known(
        "topk|sort|kthvalue|mode|median|nanmedian",
        "int|float16.*gradient",
        "the gradient goes to one of equals",
        "--slow",
    ),
    Known("polygamma.*", "int.*value", "infinite at whole numbers below 1, where PyTorch's sums are large"),
    Known(
        "istft", "gradient 1 is there", "to be looked at: PyTorch gives some windows shorter than n_fft none", "--slow"
    ),
    Known("masked.normalize", "float16.*gradient", "rounded at other steps", "--slow"),
)

# Wrong calls that we serve, or refuse by another class of errors than PyTorch.
KNOWN_ERRORS = Table(
    "database_entries.KNOWN_ERRORS",
    Known(".*", r"^-?\d+, .*no error, but PyTorch raises TypeError", "a number may stand for a tensor"),
    Known("signal.windows.*", "layout=torch.sparse_coo", "converted as strided here: there is no sparse layout"),
    Known("narrow_copy", "IndexError.*RuntimeError", "a dimension out of range is an IndexError, as elsewhere"),
    Known("cat", "DispatchError.*ValueError", "an empty list has no tensor to dispatch on"),
)
