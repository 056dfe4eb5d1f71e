"""Names for what generated signatures and rules take."""

from typing import TypeAlias

__all__ = ["CoreDimensions", "DtypeKinds", "Scalar"]

Scalar: TypeAlias = int | float | complex
# The generator checks what `meta` passes for parameters annotated with these: words of `bool integer floating complex`,
# and a signature as NumPy's gufuncs have it, "(m,k),(k,n)->(m,n)".
DtypeKinds: TypeAlias = str
CoreDimensions: TypeAlias = str
