"""Tensors in a few letters: `f32[4, s0]`."""

from __future__ import annotations

from typing import Final

from opwright_core.arrays.dtypes import dtype_name
from opwright_core.tensors.tensor import Tensor

__all__ = ["short_text"]

_SHORT: Final = {
    "float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int8": "i8", "int16": "i16",
    "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "bool": "b8",
    "complex64": "c64", "complex128": "c128",
}  # fmt: skip


def short_text(tensor: Tensor) -> str:
    """Return a tensor's dtype and shape."""
    name = dtype_name(tensor.dtype).rpartition(".")[2]
    return f"{_SHORT.get(name, name)}[{', '.join(map(str, tensor.shape))}]"
