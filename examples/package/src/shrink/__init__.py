"""Shrinkage operators."""

from shrink.operators.ops import clip_rows, soft

__all__ = ["clip_rows", "soft"]
