"""The CUDA files that a library is made of, as the list says that is generated beside its shims."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from opwright_codegen.building.compiler import BuildError

__all__ = ["CUDA_SHIMS", "cuda_sources"]

CUDA_SHIMS: Final = "_cuda_shims.cu"
_SOURCES: Final = "_cuda_sources.txt"


def cuda_sources(shims: Path, roots: Sequence[Path]) -> list[Path]:
    """Return the CUDA files of a namespace. Raises BuildError for one that is missing."""
    text = shims.with_name(shims.name.removesuffix(CUDA_SHIMS) + _SOURCES).read_text(encoding="utf-8")
    found = []
    for name in (line for line in text.splitlines() if line and not line.startswith("#")):
        place = next((root / name for root in roots if (root / name).is_file()), None)
        if place is None:
            raise BuildError(f"{name}, which a schema names, is missing")
        found.append(place)
    return found
