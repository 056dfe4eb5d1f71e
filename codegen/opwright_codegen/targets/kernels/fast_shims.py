"""The fast companions of a shim over loops or a C function: Note [Kernel shims] in `backend`."""

from __future__ import annotations

from opwright_codegen.records import dataclass

__all__ = ["FastShim"]


@dataclass(frozen=True, slots=True)
class FastShim:
    """A `_dense` or `_arrays` shim, which leaves to the general one what `elsewhere` holds for or `compute` raises on.

    `general` is that call at the function's end, `general_inner` in an `if`. `result` are the lines behind `compute`.
    """

    comment: str
    signature: str
    arrays: tuple[str, ...]
    elsewhere: str
    general: str
    general_inner: str
    compute: str
    result: tuple[str, ...]
