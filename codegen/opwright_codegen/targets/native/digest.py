"""The digest of what a library is built of: a library of other schemas is not called."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from opwright_codegen.targets.native.c import CKernel
from opwright_codegen.targets.native.loops import LoopKernel, digest_text

__all__ = ["digest"]

SHIM_VERSION: Final = 2  # of how the C shims are called: a library of before is stale


def digest(kernels: Sequence[CKernel], loops: Sequence[LoopKernel]) -> str:
    """Return what tells a library that was built for these kernels and loops from one built for others."""
    described = [(kernel.native, kernel.functions, kernel.like, kernel.shapes) for kernel in kernels]
    return sha256(repr((SHIM_VERSION, described, digest_text(loops))).encode()).hexdigest()[:16]
