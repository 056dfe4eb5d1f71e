"""New tensors that are like a batched one: these have the batch, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import opwright
from opwright_kernels.batching.operands import Operand, first

__all__ = ["clone", "empty_like", "full_like", "new_empty_strided", "ones_like", "to_copy", "zeros_like"]


def clone(info: Any, in_dims: Any, self: Operand, **options: Any) -> Any:
    """Return copies of samples."""
    return opwright.ops.aten.clone(first(self, in_dims[0]), **_formatted(options)), 0


def to_copy(info: Any, in_dims: Any, self: Operand, **options: Any) -> Any:
    """Return copies of samples, of another dtype or device."""
    return opwright.ops.aten._to_copy(first(self, in_dims[0]), **_formatted(options)), 0


def empty_like(info: Any, in_dims: Any, self: Operand, **options: Any) -> Any:
    """Return samples whose elements are not set."""
    return opwright.ops.aten.empty_like(first(self, in_dims[0]), **_formatted(options)), 0


def zeros_like(info: Any, in_dims: Any, self: Operand, **options: Any) -> Any:
    """Return samples of zeros."""
    return opwright.ops.aten.zeros_like(first(self, in_dims[0]), **_formatted(options)), 0


def ones_like(info: Any, in_dims: Any, self: Operand, **options: Any) -> Any:
    """Return samples of ones."""
    return opwright.ops.aten.ones_like(first(self, in_dims[0]), **_formatted(options)), 0


def full_like(info: Any, in_dims: Any, self: Operand, fill_value: Any, **options: Any) -> Any:
    """Return samples of one value."""
    return opwright.ops.aten.full_like(first(self, in_dims[0]), fill_value, **_formatted(options)), 0


def new_empty_strided(
    info: Any, in_dims: Any, self: Operand, size: Sequence[int], stride: Sequence[int], **options: Any
) -> Any:
    """Return samples of these sizes and strides, each in memory of its own."""
    span = sum((each - 1) * step for each, step in zip(size, stride, strict=True)) + 1
    sizes, strides = [info.batch_size, *size], [0 if 0 in size else span, *stride]
    return opwright.ops.aten.new_empty_strided(self, sizes, strides, **options), 0


def _formatted(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options without a memory format of images: with the batch, samples have a dimension more."""
    wanted = options.get("memory_format")
    if wanted is None or wanted in (opwright.contiguous_format, opwright.preserve_format):
        return options
    return {**options, "memory_format": opwright.contiguous_format}
