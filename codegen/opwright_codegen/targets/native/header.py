"""Target `native/NS_kernels.h`: the prototype of every C function that the schemas ask for."""

from __future__ import annotations

from collections.abc import Sequence

from opwright_codegen.targets.native.c import FOLDER, CKernel
from opwright_codegen.views.c_text import c_block

__all__ = ["TEMPLATE", "context", "file"]

TEMPLATE = "native_header.h.j2"


def file(namespace: str) -> str:
    """Return the name of the file."""
    return f"{FOLDER}/{namespace}_kernels.h"


def context(kernels: Sequence[CKernel], namespace: str) -> dict[str, object] | None:
    """Return what the template shows; None where there is no C kernel."""
    if not kernels:
        return None
    shown = [
        {
            "comment": c_block(
                kernel.declaration,
                f"convention: {'parallel ' * kernel.native.is_parallel}{kernel.native.convention}",
                *([kernel.doc] if kernel.doc else []),
            ),
            "prototypes": [function.prototype for function in kernel.functions],
        }
        for kernel in kernels
    ]
    return {"kernels": shown, "guard": f"OPWRIGHT_{namespace}_KERNELS_H", "fail": f"{namespace}_fail"}
