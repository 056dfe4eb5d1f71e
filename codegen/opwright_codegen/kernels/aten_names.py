"""The writer of `aten_names.json`: the operators that formulas may call, for machines without the library.

`python -m opwright_codegen.kernels.aten_names` writes it from the generated package: `make generate` does.
"""

from __future__ import annotations

import json
from itertools import groupby

from opwright_codegen.kernels.used_packages import ATEN, ATEN_NAMES, UsedPackage

__all__ = ["written"]


def written(package: UsedPackage) -> str:
    """Return the text of the file: a line for the functions, or methods of Tensor, with one first letter."""
    kinds = {"functions": sorted(package.functions), "methods": sorted(package.methods)}
    lines = {
        kind: [" ".join(part) for _, part in groupby(names, key=lambda name: name[0])] for kind, names in kinds.items()
    }
    return json.dumps(lines, indent=1) + "\n"


if __name__ == "__main__":
    ATEN_NAMES.write_text(written(UsedPackage(ATEN)), encoding="utf-8", newline="\n")
