"""The words of compilers and linkers as findings: one for each error with its place, and one for the whole."""

from __future__ import annotations

import re
from typing import Final

from opwright_codegen.building.compiler import BuildError
from opwright_codegen.findings.finding import Finding

__all__ = ["findings_of_build"]

# gcc and clang; then nvcc.
_ERRORS: Final = (
    r"^(?P<file>[^:\s][^:\n]*):(?P<line>\d{1,9})(?::(?P<column>\d{1,9}))?: (?:fatal )?error: (?P<text>.+)$",
    r"^(?P<file>[^(\n]+)\((?P<line>\d{1,9})\): (?:catastrophic )?error: (?P<text>.+)$",
)
_WITHOUT_PLACE: Final = r"^error: (?P<text>.+)$"


def findings_of_build(error: BuildError) -> list[Finding]:
    """Return what a failed build says: errors with a place, those without, and what could not be made."""
    found: dict[tuple[str, ...], Finding] = {}
    for match in (each for form in _ERRORS for each in re.finditer(form, error.output, re.MULTILINE)):
        parts = match.groupdict()
        column = int(parts.get("column") or 0)
        finding = Finding("compiler-error", parts["text"], "error", parts["file"], int(parts["line"]), column)
        # (our own words of an error, which come first, stand in place of the compiler's)
        found.setdefault((finding.file, str(finding.line)), finding)
    for match in re.finditer(_WITHOUT_PLACE, error.output, re.MULTILINE):
        found.setdefault((match["text"],), Finding("compiler-error", match["text"]))
    return [*found.values(), Finding("build-failed", str(error))]
