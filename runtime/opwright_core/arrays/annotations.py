"""Names for what generated signatures and rules take."""

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

__all__ = [
    "Along", "Batched", "Batches", "Channels", "Columns", "CoreDimensions", "Cores", "Dim", "Dims", "DtypeKinds",
    "Elementwise", "EmptyIsAll", "Images", "Mask", "Matrices", "NewDim", "Reduction", "Scalar", "Shifts", "Size",
    "Spatial", "Target", "Vectors",
]  # fmt: skip

Scalar: TypeAlias = int | float | complex
# The generator checks what `meta` passes for parameters annotated with these: words of `bool integer floating complex`,
# and a signature as NumPy's gufuncs have it, "(m,k),(k,n)->(m,n)".
DtypeKinds: TypeAlias = str
CoreDimensions: TypeAlias = str

# Note [Roles]
# Rules say by these what a parameter is to the operator's dimensions. `opwright_codegen` reads them from the source of
# rules: what an operator does under vmap follows from them.
# Operands:
Elementwise: TypeAlias = Annotated[Any, "broadcasts with the other ones"]
Mask: TypeAlias = Annotated[Any, "broadcasts with Elementwise ones, and is not promoted with them"]
Target: TypeAlias = Annotated[Any, "Elementwise ones broadcast to it, and are not promoted with it"]
Along: TypeAlias = Annotated[Any, "its dimensions are what Dim, Dims and NewDim count; all others are kept"]
Vectors: TypeAlias = Annotated[Any, "the last dimension matters, those before it broadcast"]
Matrices: TypeAlias = Annotated[Any, "the last two dimensions matter, those before them broadcast"]
Channels: TypeAlias = Annotated[Any, "the last three dimensions matter, those before them are a batch"]
Cores: TypeAlias = Annotated[Any, "the dimensions that CoreDimensions name matter, those before them broadcast"]
Images: TypeAlias = Annotated[Any, "channels and spatial dimensions (two, or as many as Spatial says), maybe N before"]
Columns: TypeAlias = Annotated[Any, "two dimensions, maybe N before"]
Batches: TypeAlias = Annotated[Any, "the first dimension is N, what comes after it is for each"]
# Numbers:
Dim: TypeAlias = Annotated[int, "a dimension"]
Dims: TypeAlias = Annotated[Sequence[int], "dimensions"]
NewDim: TypeAlias = Annotated[int, "a dimension of the result, which has one more"]
Size: TypeAlias = Annotated[Sequence[int], "the sizes of the result"]
Shifts: TypeAlias = Annotated[Sequence[int], "how far elements move along Dims"]
Spatial: TypeAlias = Annotated[int, "the number of spatial dimensions of Images"]
Reduction: TypeAlias = Annotated[int, "what is done with an elementwise loss: nothing (0), a mean (1) or a sum (2)"]
Batched: TypeAlias = Annotated[bool, "whether Cores may have dimensions before those that CoreDimensions name"]
EmptyIsAll: TypeAlias = Annotated[bool, "whether no Dims stand for all of them"]
