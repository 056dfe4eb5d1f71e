"""`opwright.Tag`: what may be said of an operator beyond its schema."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable
from typing import Final

__all__ = ["Tag", "as_tags", "layout_tag"]


class Tag(enum.StrEnum):
    """A tag of `schemas/tags.yaml`, equal to its name. Names and meanings: `torch.Tag`."""

    core = "core"
    cudagraph_unsafe = "cudagraph_unsafe"
    data_dependent_output = "data_dependent_output"
    dynamic_output_shape = "dynamic_output_shape"
    flexible_layout = "flexible_layout"
    generated = "generated"
    inplace = "inplace"
    inplace_view = "inplace_view"
    maybe_aliasing_or_mutating = "maybe_aliasing_or_mutating"
    needs_contiguous_strides = "needs_contiguous_strides"
    needs_exact_strides = "needs_exact_strides"
    needs_fixed_stride_order = "needs_fixed_stride_order"
    nondeterministic_bitwise = "nondeterministic_bitwise"
    nondeterministic_seeded = "nondeterministic_seeded"
    out = "out"
    out_variant = "out_variant"
    pointwise = "pointwise"
    pt2_compliant_tag = "pt2_compliant_tag"
    reduction = "reduction"
    view_copy = "view_copy"


def as_tags(tags: str | Iterable[str] | None) -> tuple[Tag, ...]:
    """Return the tags of one, several or no names, each once, in order. Raises ValueError for an unknown name."""
    names = () if tags is None else (tags,) if isinstance(tags, str) else tags
    try:
        return tuple(dict.fromkeys(map(Tag, names)))
    except ValueError as error:
        raise ValueError(f"{error}; the tags are {', '.join(Tag)}") from None


_LAYOUTS: Final = (  # the strictest first
    Tag.needs_exact_strides,
    Tag.needs_contiguous_strides,
    Tag.needs_fixed_stride_order,
    Tag.flexible_layout,
)


def layout_tag(tags: Collection[str]) -> Tag:
    """Return the tag that says which strides an operator defined by hand must be given by whoever rewrites programs:
    the strictest of its layout tags, or `needs_exact_strides`, those of the eager call, where it has none."""
    return next((tag for tag in _LAYOUTS if tag in tags), Tag.needs_exact_strides)
