"""The command `list --targets`: the targets that there are, and where each comes from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TextIO

from opwright_codegen.findings.table import write_table
from opwright_codegen.targets.registry import Found, found_targets, is_always_made

__all__ = ["list_targets"]

_HEADINGS = ("target", "from", "function", "made")


def list_targets(chosen: Sequence[str], format: str, out: TextIO) -> int:
    """Print a line for each target, or JSON. `chosen` are the names that the settings have in `targets`."""
    found = found_targets()
    if format == "json":
        rows = [
            {"name": each.name, "from": each.distribution, "function": each.value, "made": _made(each, chosen)}
            for each in found
        ]
        json.dump({"format": 1, "targets": rows}, out, indent=1)
        out.write("\n")
        return 0
    write_table(_HEADINGS, [(each.name, each.distribution, each.value, _made(each, chosen)) for each in found], out)
    return 0


def _made(target: Found, chosen: Sequence[str]) -> str:
    """Return when a target makes its files."""
    if target.is_own:
        return "always" if is_always_made(target.name) else "by bindings"
    return "by targets" if target.name in chosen else "on request"
