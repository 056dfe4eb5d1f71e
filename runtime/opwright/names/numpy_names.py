"""Names of NumPy and PyTorch that mean nothing here: what does the same."""

from __future__ import annotations

from typing import Final

import numpy as np

__all__ = ["HERE", "hint_for"]

# NumPy's name: what to write here, `x` being a tensor.
HERE: Final = {
    "append": "opwright.cat", "argpartition": "opwright.topk", "around": "opwright.round", "array": "opwright.tensor",
    "array_equal": "opwright.equal", "array_split": "opwright.tensor_split", "asanyarray": "opwright.asarray",
    "ascontiguousarray": "x.contiguous()", "astype": "x.astype", "average": "opwright.mean",
    "bartlett": "opwright.bartlett_window", "bitwise_invert": "opwright.bitwise_not",
    "blackman": "opwright.blackman_window", "bool_": "opwright.bool",
    "broadcast_arrays": "opwright.broadcast_tensors", "c_": "opwright.stack", "compress": "opwright.masked_select",
    "conjugate": "opwright.conj", "convolve": "opwright.nn.functional.conv1d", "copyto": "x.copy_",
    "correlate": "opwright.nn.functional.conv1d", "cumulative_prod": "opwright.cumprod",
    "cumulative_sum": "opwright.cumsum", "degrees": "opwright.rad2deg", "digitize": "opwright.bucketize",
    "ediff1d": "opwright.diff", "expand_dims": "opwright.unsqueeze", "extract": "opwright.masked_select",
    "fabs": "opwright.abs", "fill_diagonal": "x.fill_diagonal_", "flatnonzero": "opwright.nonzero",
    "geomspace": "opwright.logspace", "hamming": "opwright.hamming_window", "hanning": "opwright.hann_window",
    "identity": "opwright.eye", "indices": "opwright.meshgrid", "invert": "opwright.bitwise_not",
    "iscomplexobj": "opwright.is_complex", "kaiser": "opwright.kaiser_window",
    "left_shift": "opwright.bitwise_left_shift", "matrix_transpose": "x.mT", "mgrid": "opwright.meshgrid",
    "mod": "opwright.remainder", "nanmax": "opwright.amax", "nanmin": "opwright.amin",
    "nanpercentile": "opwright.nanquantile", "ndarray": "opwright.Tensor", "ndim": "x.ndim",
    "ogrid": "opwright.meshgrid", "partition": "opwright.topk", "percentile": "opwright.quantile",
    "permute_dims": "opwright.permute", "place": "opwright.masked_scatter", "power": "opwright.pow",
    "ptp": "opwright.aminmax", "put_along_axis": "opwright.scatter", "putmask": "opwright.where",
    "r_": "opwright.cat", "radians": "opwright.deg2rad", "right_shift": "opwright.bitwise_right_shift",
    "rint": "opwright.round", "rollaxis": "opwright.movedim", "savez": "opwright.save", "shape": "x.shape",
    "single": "opwright.float32", "take_along_axis": "opwright.take_along_dim", "tri": "opwright.tril",
    "tril_indices_from": "opwright.tril_indices", "triu_indices_from": "opwright.triu_indices",
    "unique_values": "opwright.unique", "unstack": "opwright.unbind", "vecdot": "opwright.linalg.vecdot",
    "vectorize": "opwright.vmap",
}  # fmt: skip

_FLOW: Final = "Python's own {} does that here; a graph keeps the calls that were made"
# PyTorch's name: what to do here.
_OF_PYTORCH: Final = {
    "compile": "functions run as they are here; opwright.fx.make_fx records one",
    "cond": _FLOW.format("`if`"),
    "map": "opwright.vmap does that for all samples at once, a list comprehension for one after the other",
    "scan": _FLOW.format("`for`"),
    "while_loop": _FLOW.format("`while`"),
}


def hint_for(name: str) -> str:
    """Return what stands here for a public name of NumPy's or PyTorch's, to go on with after a message; empty for other
    names."""
    if name in _OF_PYTORCH:
        return f"; {_OF_PYTORCH[name]}"
    if name.startswith("_") or not hasattr(np, name):
        return ""
    if name in HERE:
        return f"; for NumPy's {name} there is {HERE[name]}"
    return f"; NumPy's {name} has no counterpart here: numpy.{name} takes x.numpy(), without gradients"
