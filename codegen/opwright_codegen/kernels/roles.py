"""Roles of rules' parameters, which say by their annotations what they are: `dim: Dim`, `*operands: Elementwise`.

The annotations stand in `opwright_core.arrays.annotations`, where Note [Roles] says what they are for.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["plain", "role_of"]

# By role, the annotation that it stands for.
_OPERANDS: Final = (
    "Elementwise", "Mask", "Target", "Along", "Cores", "Vectors", "Matrices", "Channels", "Images", "Columns",
    "Batches",
)  # fmt: skip
_ROLES: Final = {
    **dict.fromkeys(_OPERANDS, "Any"),
    **dict.fromkeys(("Dim", "NewDim", "Spatial", "Reduction"), "int"),
    **dict.fromkeys(("Dims", "Size", "Shifts"), "Sequence[int]"),
    **dict.fromkeys(("EmptyIsAll", "Batched"), "bool"),
    "CoreDimensions": "CoreDimensions",
}
_WORD: Final = re.compile(r"\b\w+\b")


def plain(annotation: str) -> str:
    """Return an annotation with what the roles stand for instead of them."""
    return _WORD.sub(lambda found: _ROLES.get(found[0], found[0]), annotation)


def role_of(annotation: str) -> str:
    """Return the role that an annotation names, '' where there is none; `Dim` where it names dimensions, too."""
    found = [word for word in _WORD.findall(annotation) if word in _ROLES]
    return found[0] if found else ""
