"""The command `list --targets`: the targets that exist, and the distribution of each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TextIO

from opwright_codegen.findings.table import write_table
from opwright_codegen.targets.registry import found_targets

__all__ = ["list_targets"]

_HEADINGS = ("target", "from", "function", "made")


def list_targets(chosen: Sequence[str], format: str, out: TextIO) -> int:
    """Print a line for each target, or JSON. `chosen` are the names that the settings have in `targets`."""
    found = found_targets(chosen)
    if format == "json":
        rows = [
            {"name": each.name, "from": each.distribution, "function": each.value, "made": each.made} for each in found
        ]
        json.dump({"format": 1, "targets": rows}, out, indent=1)
        out.write("\n")
        return 0
    write_table(_HEADINGS, [(each.name, each.distribution, each.value, each.made) for each in found], out)
    return 0
